"""What a port has to be able to do: which variants were seen to do it, and what the current callback blocks.

A candidate under a requirement is only what was seen to meet it, on the TensorFlow of the run and with the op that is
decided about. What a probe saw fail is barred; what no probe has tried there is unknown, and no candidate either. Where
there is nothing to try with the op, what was seen with the cube counts, and the finding says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyopbench.judge.decision import Bar, BarStatus, Substituted, Unknown
from pyopbench.model import formatting
from pyopbench.model.case import SIMULATED
from pyopbench.model.errors import BadInput
from pyopbench.model.label import Label
from pyopbench.model.places import DEVICE
from pyopbench.store import counted_copies, probes
from pyopbench.store.probes import ProbeRow

if TYPE_CHECKING:
    from pyopbench.judge.candidates import SettingComparison
    from pyopbench.store.measured_run import Run


PROBES = {
    "savedmodel": "savedmodel",
    "xla": "xla",
    "second_order": "second_order",
    "distributed": "server_other_process",
    "tflite": "tflite",
}
"""Requirement -> the probe that settles it."""

GPU = "gpu"
"""The requirement that no probe settles, but the copies that `pyopbench placement` counts."""

NAMES = (*PROBES, GPU)

OF_THE_GRADIENT = ("second_order",)
"""Requirements that a variant may meet with one gradient mechanism and not with another."""

NOT_MET: Mapping[str, BarStatus] = {
    "fails": "fails",
    "silently wrong": "silently wrong",
    "does not apply": "does not apply",
}
"""Every status of `probes.STATUSES` but `works`: what a probe found of a variant that was not seen to do it."""

Found: TypeAlias = Bar | Substituted | Literal["met"] | None
"""What is known of a label and one requirement: what bars it, that the cube stood in for the op, that it is met, or
nothing."""

CUBE = "x³ of four numbers"
"""What probes try where no op is named."""


@dataclass(frozen=True)
class Standing:
    """What is known of one label and an op.

    Attributes:
        bars: what it was seen not to do.
        unknown: the requirements of which nothing is known.
        substituted: the requirements that it was seen to meet with the cube, because the op gives nothing to try.
    """

    bars: tuple[Bar, ...] = ()
    unknown: tuple[str, ...] = ()
    substituted: tuple[Substituted, ...] = ()

    @property
    def is_met(self) -> bool:
        """Was the label seen to do all that was asked about?"""
        return not self.bars and not self.unknown


def check(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of requirements, each once, in the order of `NAMES`.

    Raises:
        BadInput: one is none.
    """
    given = list(names)
    for name in given:
        if name not in NAMES:
            raise BadInput(
                "unknown requirement",
                received=repr(name),
                legal=", ".join(NAMES),
                hint="for example --require savedmodel,xla",
            )
    return tuple(name for name in NAMES if name in given)


def probes_for(requires: Iterable[str]) -> list[str]:
    """Return the probes that settle some requirements."""
    return [PROBES[name] for name in requires if name in PROBES]


def standing(run: Run, op: str, label: str, requires: Iterable[str]) -> Standing:
    """Return what is known of a label with an op and of some requirements.

    Args:
        run: for what was probed and counted beside it.
        op: the op that is decided about.
        label: `variant` or `variant+gradient`.
        requires: names of requirements.
    """
    return _standing({name: _gpu(run, label) if name == GPU else _probed(run, op, label, name) for name in requires})


def sightings(run: Run, op: str, label: str) -> Standing:
    """Return what is known of a label and all requirements: with the op, or with the cube where nobody tried that."""
    found = {name: _gpu(run, label) if name == GPU else _probed(run, op, label, name) for name in NAMES}
    return _standing(
        {name: one or (None if name == GPU else _by_cube(run, label, name)) for name, one in found.items()}
    )


def _standing(found: Mapping[str, Found]) -> Standing:
    return Standing(
        tuple(one for one in found.values() if isinstance(one, Bar)),
        tuple(name for name, one in found.items() if one is None),
        tuple(one for one in found.values() if isinstance(one, Substituted)),
    )


def narrow(comparison: SettingComparison, run: Run, requires: Sequence[str]) -> SettingComparison:
    """Return a comparison with no candidates but those that were seen to do all that is required.

    The current callback may stay only if it was seen to do it as well.
    """
    if not requires:
        return comparison
    labels = [comparison.baseline, *(candidate.label for candidate in comparison.candidates)]
    found = {label: standing(run, comparison.setting.op, label, requires) for label in labels}
    return replace(
        comparison,
        candidates=tuple(candidate for candidate in comparison.candidates if found[candidate.label].is_met),
        barred=tuple(bar for one in found.values() for bar in one.bars),
        unknown=_unknown(found),
        substituted=tuple(one for standing in found.values() for one in standing.substituted),
        must_change=not found[comparison.baseline].is_met,
    )


def blocked(run: Run, op: str, label: str) -> tuple[str, ...]:
    """Return the requirements that a label is known not to meet, as `sightings` tells."""
    return tuple(bar.requirement for bar in sightings(run, op, label).bars if bar.was_seen)


def _probed(run: Run, op: str, label: str, name: str) -> Found:
    """Return what a probe saw of a label with an op, with the cube where it tried that in vain; None if it did not."""
    tried = _row_of(run, label, name, op)
    if tried is None:
        return None
    if not tried.could_not_be_tried:
        return _bar(tried, label, name) or "met"
    found = _by_cube(run, label, name)
    return Substituted(label, name, tried.told) if found == "met" else found


def _by_cube(run: Run, label: str, name: str) -> Bar | Literal["met"] | None:
    row = _row_of(run, label, name, None)
    return None if row is None else _bar(row, label, name) or "met"


def _row_of(run: Run, label: str, name: str, op: str | None) -> ProbeRow | None:
    if run.probes is None or run.probes["tensorflow"] != run.environment.get("tensorflow"):
        return None  # another version of TensorFlow says nothing about this one
    row = probes.find(run.probes, PROBES[name], label, op)
    if row is None and name not in OF_THE_GRADIENT:
        row = probes.find(run.probes, PROBES[name], Label.parse(label).variant, op)
    return row


def _bar(row: ProbeRow, label: str, name: str) -> Bar | None:
    status = NOT_MET.get(row.status)
    return None if status is None else Bar(label, name, row.probe, status, row.told, row.op)


def _gpu(run: Run, label: str) -> Bar | Literal["met"] | None:
    if run.counted_copies is None:
        return None
    variant = Label.parse(label).variant
    pinned = [
        row
        for row in counted_copies.rows_of(run.counted_copies)
        if row.case.variant == variant and row.pinned == DEVICE and row.case.direction == "forward"
    ]
    if not pinned:
        return None
    if any(not row.refused and row.computes == DEVICE for row in pinned):
        return "met"
    refused = next((row.refused for row in pinned if row.refused), "")
    # What a simulated device lacks, a compiler for XLA and the kernels of most ops, a real one may have.
    if any(row.case.placement == SIMULATED and not row.python for row in pinned):
        return None
    return Bar(label, GPU, "placement", "refused" if refused else "falls back", refused)


def _unknown(found: Mapping[str, Standing]) -> tuple[Unknown, ...]:
    """Return what is not known, each requirement with the labels of which it is not."""
    labels: dict[str, list[str]] = {}
    for label, one in found.items():
        for name in one.unknown:
            labels.setdefault(name, []).append(label)
    return tuple(Unknown(name, tuple(who)) for name, who in labels.items())


def blocks_text(baseline: str, requirements: Sequence[str]) -> str:
    """Return what the current callback was seen not to do.

    Args:
        baseline: the current callback.
        requirements: what it does not meet, at least one.
    """
    others = [name for name in requirements if name != GPU]
    told = [f"does not work with {formatting.listing(others)}"] if others else []
    return f"{baseline} {' and '.join([*told, *(['does not compute on a GPU'] if GPU in requirements else [])])}"


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
