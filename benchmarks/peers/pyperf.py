"""pyperf: one runner script run twice, then `pyperf compare_to`."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from peers.figures import Moments, Pair, Row, missing, ratio_of_means
from peers.processes import SUITES, PeerFailed, Task, call, tail

DEFAULT_PROCESSES = 20
"""What pyperf starts for each benchmark if nothing else is asked for."""

_SHOWN = "Mean +- std dev: ["
_HIDDEN = re.compile(r"Benchmark hidden because not significant \(\d+\): (?P<cases>.+)")


def compare(task: Task, processes: int) -> list[Row]:
    """Measure twice and read what pyperf makes of it.

    Args:
        task: what and where.
        processes: how many processes measure each case.

    Raises:
        PeerFailed: pyperf ended with an error or left a case out.
    """
    suite = str(SUITES / "pyperf_suite.py")
    seconds = []
    for name in ("first", "second"):
        command = [suite, "--copy-env", "--processes", str(processes), "--output", f"{name}.json"]
        seconds.append(call(task, command, f"{name}.log")[0])
    took, said = call(task, ["-m", "pyperf", "compare_to", "first.json", "second.json"], "compare.log")
    first, second = (read(json.loads((task.folder / f"{name}.json").read_text())) for name in ("first", "second"))
    found = pairs(task.cases, first, second, insignificant(said, len(task.cases)))
    return [Row("pyperf", sum(seconds) / 2, sum(seconds) + took, found, note(processes, sum(seconds) / 2))]


def note(processes: int, run_seconds: float) -> str:
    """Return what a reader has to know; what the default would take is in proportion to the processes."""
    # One process more finds out how many calls make a value, and gives none itself.
    full = run_seconds * (DEFAULT_PROCESSES + 1) / (processes + 1)
    cut = (
        f"its default of {DEFAULT_PROCESSES} processes for each case was cut to {processes}; in full a run would take "
        f"about {full / 60:,.0f} minutes instead of {run_seconds / 60:,.1f}"
        if processes < DEFAULT_PROCESSES
        else "default settings"
    )
    return (
        f"pyperf: {cut}; the estimate is the mean, the interval takes the values of all processes for independent, as "
        "its own test does (Welch); the verdict is the t-test of `pyperf compare_to` at 95%."
    )


def read(document: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return the values of each case, in seconds, over all its processes.

    What all benchmarks of a file have in common stands once, at the top; with one benchmark that is its name too.
    """
    common = document.get("metadata", {})
    return {
        {**common, **benchmark.get("metadata", {})}["name"]: tuple(
            value for run in benchmark["runs"] for value in run.get("values", ())
        )
        for benchmark in document["benchmarks"]
    }


def insignificant(said: str, many: int) -> set[str]:
    """Return the cases that `pyperf compare_to` says do not differ significantly.

    Raises:
        PeerFailed: these and the cases that it shows do not add up to as `many` as there are.
    """
    hidden = {case.strip() for found in _HIDDEN.finditer(said) for case in found["cases"].split(",")}
    if len(hidden) + said.count(_SHOWN) != many:
        raise PeerFailed(f"pyperf compare_to answers for other than {many} cases\n{tail(said)}")
    return hidden


def pairs(
    wanted: Sequence[str],
    first: Mapping[str, tuple[float, ...]],
    second: Mapping[str, tuple[float, ...]],
    same: set[str],
) -> tuple[Pair, ...]:
    """Return the pair of each case.

    Raises:
        PeerFailed: a case has no values.
    """
    if lacking := missing(wanted, first, second):
        raise PeerFailed(f"pyperf has no result for {', '.join(lacking)}")
    return tuple(
        Pair(
            case,
            statistics.fmean(first[case]),
            statistics.fmean(second[case]),
            *ratio_of_means(_moments(first[case]), _moments(second[case])),
            different=case not in same,
        )
        for case in wanted
    )


def _moments(values: Sequence[float]) -> Moments:
    return Moments(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else float("nan"), len(values))
