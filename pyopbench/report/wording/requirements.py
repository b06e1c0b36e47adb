"""Requirements in words: what the current callback blocks, what was removed by which probe, and what is not known."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyopbench.judge.bars import Bar, Substituted, Unknown
from pyopbench.judge.requirements import GPU, PROBES
from pyopbench.model import formatting

CUBE = "x³ of four numbers"
"""What probes try where no op is named."""


def blocks_text(baseline: str, requirements: Sequence[str]) -> str:
    """Return what the current callback was seen not to do.

    Args:
        baseline: the current callback.
        requirements: what it does not meet, at least one.
    """
    return f"{baseline} does not work with {formatting.listing(requirements)}"


def bar_text(labels: Sequence[str], bar: Bar, ops: Sequence[str] = ()) -> str:
    """Return what some variants were not seen to do, each in the way of `bar`, by which probe and with which ops.

    Args:
        labels: the variants.
        bar: in which way, the same for all.
        ops: what it was seen with; none for the cube.
    """
    probe = f"probe {bar.probe}" if bar.requirement == GPU else f"probe {bar.probe} with {_with(ops)}"
    if not bar.was_seen:
        return (
            f"{formatting.listing(labels)} could not be tried for {bar.requirement} ({probe}: {bar.told}), so "
            f"it is unknown whether it works"
        )
    return (
        f"{formatting.listing(labels)} does not work with {bar.requirement} ({probe}: {_seen(bar)})"
        if len(labels) == 1
        else f"{formatting.listing(labels)} do not work with {bar.requirement} ({probe}: {_seen(bar)})"
    )


def substituted_text(labels: Sequence[str], one: Substituted, ops: Sequence[str]) -> str:
    """Return what could not be tried with some ops, so that what was seen of some variants with the cube counts."""
    return (
        f"{formatting.listing(labels)} worked with {one.requirement} for {CUBE}, but {_with(ops)} could not "
        f"be tried ({one.told}); try your model before you rely on it"
    )


def unknown_text(unknown: Unknown, ops: Sequence[str], own: Collection[str] = ()) -> str:
    """Return what is not known of some variants, what follows from that, and the command that finds out.

    Args:
        unknown: the requirement and the variants.
        ops: what they were not tried with.
        own: which ops are a user's own, that are named by their files.
    """
    is_gpu = unknown.requirement == GPU
    command = _counting_command(ops, own) if is_gpu else _probe_command(unknown, ops)
    with_ops = "" if is_gpu else f" with {_with(ops)}"
    named = [op for op in ops if op in own]
    by_file = f", {formatting.listing(named)} named by its file as in `pyopbench run`" if named else ""
    return (
        f"not recommended, because untested for {unknown.requirement}{with_ops}: {', '.join(unknown.labels)}; run "
        f"`{command}` (with the --tf of the run{by_file}) and report again"
    )


def _probe_command(unknown: Unknown, ops: Sequence[str]) -> str:
    named = "".join(f" --op {op}" for op in ops)
    labels = ",".join(unknown.labels)
    return f"pyopbench probe --probe {PROBES[unknown.requirement]}{named} --variant {labels} --out RUN/probes.json"


def _counting_command(ops: Sequence[str], own: Collection[str]) -> str:
    """Return the command that counts copies: with an own op where there is one, which has variants that others lack."""
    named = "".join(f" {op}" for op in ops if op in own)
    return f"pyopbench placement{named} --out RUN/placement.json"


def _with(ops: Sequence[str]) -> str:
    return formatting.listing(ops) if ops else CUBE


def required_text(remark: str) -> str:
    """Return a remark on a requirement as one of several notes."""
    return f"required: {remark}"


def _seen(bar: Bar) -> str:
    match bar.status:
        case "fails":
            return bar.told
        case "falls back":
            return "pinned to the device, it computes on the host"
        case "silently wrong" | "refused" | "does not apply":
            return f"{bar.status}: {bar.told}"
