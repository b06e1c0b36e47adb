"""What a reader should know about the files of a run, in sentences."""

from __future__ import annotations

from pyopbench.model import formatting
from pyopbench.store.warnings import (
    Changed,
    Counted,
    LeftRunning,
    MissingShards,
    NoTimes,
    RunWarning,
    SlowedGpu,
    UnfinishedLine,
    UnknownClocks,
    UnknownGradients,
    UnreadableFile,
)

MOST_UNITS = 5
"""Units without a result that a sentence names."""


def warning_text(warning: RunWarning) -> str:
    """Return a warning in a sentence, without a full stop."""
    match warning:
        case UnfinishedLine(path, line):
            return f"{path}:{line}: the unfinished last line is ignored"
        case Changed(path, lines):
            where = f": {formatting.count(len(lines), 'line')}, the first is {lines[0]:,}" if lines else ""
            return f"{path} was changed after it was written{where}; its numbers may not be what was measured"
        case UnreadableFile(problem, received):
            return f"{problem}: {received}; ignored"
        case MissingShards(shards, of, units):
            without = formatting.listing([unit.replace("/", " ") for unit in units[:MOST_UNITS]])
            rest = f" and {len(units) - MOST_UNITS:,} more" if len(units) > MOST_UNITS else ""
            lost = f"; without them there is no result for {without}{rest}" if units else ""
            return f"of {of:,} shards {formatting.listing([f'{one:,}' for one in shards])} are missing{lost}"
        case NoTimes(path, benchmarks):
            return f"{path}: ignored, because they do not measure time: {formatting.listing(benchmarks)}"
        case UnknownGradients(path, variants):
            return f"{path}: ignored, because these variants or gradients are unknown: {_each(variants)}"
        case LeftRunning():
            return _left_running(warning)
        case SlowedGpu(groups, of, reasons):
            share = f"{groups:,} of {formatting.count(of, 'group')}"
            return f"the GPU was throttled in {share}: {_each(reasons)}; its times there are too long"
        case UnknownClocks(groups, of):
            return f"the clocks of the GPU are unknown in {groups:,} of {formatting.count(of, 'group')}"


def _left_running(warning: LeftRunning) -> str:
    most = (
        f"{formatting.count(warning.threads, 'thread')}, {formatting.count(warning.processes, 'process', 'processes')}"
    )
    return (
        f"{warning.op}: after {formatting.count(warning.groups, 'group')} its code was still running (at most {most}, "
        f"{formatting.number(warning.cores)} cores busy), which disturbs what was measured with it"
    )


def _each(names: tuple[Counted, ...]) -> str:
    return formatting.listing([f"{one.name} ({one.count:,})" for one in names])
