"""What a port has to be able to do (`--require`), and which variants were seen to do it.

A candidate under a requirement is only what was seen to meet it in the run, with the op that is decided about. What was
seen to fail is barred; what was not tried is unknown, and no candidate either.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from pyopbench.judge.decision import Bar, Unknown
from pyopbench.model import formatting
from pyopbench.model.case import GPU as ON_GPU
from pyopbench.model.case import REQUIREMENTS, Case, Label
from pyopbench.model.errors import BadInput

if TYPE_CHECKING:
    from pyopbench.judge.candidates import SettingComparison
    from pyopbench.judge.judge import Judgement
    from pyopbench.store.measured_run import Run

GPU = "gpu"
"""The requirement that is not tried by itself: a run with `--axis device=gpu` shows it."""

OF_THE_GRADIENT = ("second_order",)
"""Requirements that a variant may meet with one gradient mechanism and not with another."""

Found: TypeAlias = Bar | Literal["met"] | None
"""What bars a label, that it meets the requirement, or None where that was not tried."""

Finding = TypeVar("Finding", bound=Hashable)


@dataclass(frozen=True)
class Standing:
    """What is known of one label and an op.

    Attributes:
        bars: what it was seen not to do.
        unknown: the requirements that were not tried.
    """

    bars: tuple[Bar, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """Was the label seen to do all that was asked about?"""
        return not self.bars and not self.unknown


def check(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of requirements, each once, in the order of `REQUIREMENTS`.

    Raises:
        BadInput: one is none.
    """
    given = list(names)
    for name in given:
        if name not in REQUIREMENTS:
            raise BadInput(
                "unknown requirement",
                received=repr(name),
                legal=", ".join(REQUIREMENTS),
                hint="for example --require savedmodel,xla",
            )
    return tuple(name for name in REQUIREMENTS if name in given)


def standing(run: Run, op: str, label: str, requires: Iterable[str]) -> Standing:
    """Return what is known of a label with an op and of some requirements.

    Args:
        run: in which they were tried.
        op: the op that is decided about.
        label: `variant` or `variant+gradient`.
        requires: names of requirements.
    """
    found = {name: _on_gpu(run, op, label) if name == GPU else _tried(run, op, label, name) for name in requires}
    return Standing(
        tuple(one for one in found.values() if isinstance(one, Bar)),
        tuple(name for name, one in found.items() if one is None),
    )


def _tried(run: Run, op: str, label: str, name: str) -> Found:
    wanted = label if name in OF_THE_GRADIENT else Label.parse(label).variant
    line = next((one for one in run.requirements if (one.requirement, one.op, one.label) == (name, op, wanted)), None)
    if line is None:
        return None
    return "met" if line.status == "works" else Bar(label, name, line.status, line.reason)


def _on_gpu(run: Run, op: str, label: str) -> Found:
    """Return whether a variant was measured on a GPU: some run on the host wherever their op is placed."""
    variant = Label.parse(label).variant
    there = [
        one for one in map(Case.from_id, run.cases) if (one.op, one.variant, one.placement) == (op, variant, ON_GPU)
    ]
    if run.catalogue.variant(variant).kind == "callback":
        return Bar(label, GPU, "fails", "its Python runs on the host")
    if variant == "numba_op":
        return Bar(label, GPU, "fails", "Numba compiles it for the host")
    failed = {failure.case: failure.reason for failure in run.failures}
    reasons = [failed[case.id] for case in there if case.id in failed]
    if reasons:
        return Bar(label, GPU, "fails", reasons[0])
    return "met" if there else None


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
        must_change=not found[comparison.baseline].is_met,
    )


def _unknown(found: Mapping[str, Standing]) -> tuple[Unknown, ...]:
    """Return what was not tried, each requirement with its labels."""
    labels: dict[str, list[str]] = {}
    for label, one in found.items():
        for name in one.unknown:
            labels.setdefault(name, []).append(label)
    return tuple(Unknown(name, tuple(who)) for name, who in labels.items())


def remarks(judgement: Judgement) -> tuple[str, ...]:
    """Return which variants were removed for which requirement with which ops, those alike in one sentence.

    And which variants support a requirement under a condition.
    """
    decisions = judgement.decisions
    limited = [
        ((one.requirement, one.reason), one.label, one.op)
        for one in judgement.run.requirements
        if one.status == "works" and one.reason and one.requirement in judgement.requires
    ]
    bars = [(replace(bar, label=""), bar.label, one.op) for one in decisions for bar in one.barred]
    unknown = [(finding, "", one.op) for one in decisions for finding in one.unknown]
    return (
        *(_bar_text(labels, bar, ops) for bar, labels, ops in _alike(bars)),
        *(_unknown_text(one, ops) for one, _, ops in _alike(unknown)),
        *(
            f"{requirement} works with {formatting.listing(labels)} of {formatting.listing(ops)} {condition}"
            for (requirement, condition), labels, ops in _alike(limited)
        ),
    )


def _alike(found: Iterable[tuple[Finding, str, str]]) -> Iterator[tuple[Finding, list[str], list[str]]]:
    """Yield each finding once for labels that have it with the same ops, with these labels and these ops."""
    ops: dict[Finding, dict[str, dict[str, None]]] = {}
    for finding, label, op in found:
        ops.setdefault(finding, {}).setdefault(label, {})[op] = None
    for finding, by_label in ops.items():
        labels: dict[tuple[str, ...], list[str]] = {}
        for label, of_label in by_label.items():
            labels.setdefault(tuple(of_label), []).append(label)
        for same, who in labels.items():
            yield finding, who, list(same)


def _bar_text(labels: Sequence[str], bar: Bar, ops: Sequence[str]) -> str:
    who, of = formatting.listing(labels), formatting.listing(ops)
    match bar.status:
        case "does not apply":
            return f"{who} could not be tried for {bar.requirement} with {of}: {bar.reason}"
        case "fails":
            return f"{bar.requirement} does not work with {who} of {of}: {bar.reason}"
        case "silently wrong":
            return f"{bar.requirement} gives a wrong result with {who} of {of}: {bar.reason}"


def _unknown_text(unknown: Unknown, ops: Sequence[str]) -> str:
    return (
        f"not recommended, because {unknown.requirement} was not tried with {formatting.listing(ops)}: "
        f"{', '.join(unknown.labels)}"
    )
