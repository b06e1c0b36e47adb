"""What a port has to be able to do (`--require`), and which variants were seen to do it.

A candidate under a requirement is only what was seen to meet it in the run, with the op that is decided about. What was
seen to fail is barred; what was not tried is unknown, and no candidate either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyopbench.judge.decision import Bar, Unknown
from pyopbench.model import formatting
from pyopbench.model.case import GPU as ON_GPU
from pyopbench.model.case import REQUIREMENTS, Case, variant_in
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


def findings_on(run: Run, op: str, label: str, requires: Iterable[str]) -> dict[str, Found]:
    """Return what is known of a label with an op, by requirement."""
    return {name: _on_gpu(run, op, label) if name == GPU else _tried(run, op, label, name) for name in requires}


def _tried(run: Run, op: str, label: str, name: str) -> Found:
    wanted = label if name in OF_THE_GRADIENT else variant_in(label)
    line = next((one for one in run.requirements if (one.requirement, one.op, one.label) == (name, op, wanted)), None)
    if line is None:
        return None
    return "met" if line.status == "works" else Bar(label, name, line.status, line.reason)


def _on_gpu(run: Run, op: str, label: str) -> Found:
    """Return whether a variant was measured on a GPU: some run on the host wherever their op is placed."""
    variant = variant_in(label)

    def is_there(key: str) -> bool:
        case = Case.from_id(key)
        return (case.op, case.variant, case.placement) == (op, variant, ON_GPU)

    if run.catalogue.variant(variant).kind == "callback":
        return Bar(label, GPU, "fails", "its Python runs on the host")
    if variant == "numba_op":
        return Bar(label, GPU, "fails", "Numba compiles it for the host")
    reasons = [failure.reason for failure in run.failures if is_there(failure.case)]
    if reasons:
        return Bar(label, GPU, "fails", reasons[0])
    return "met" if any(map(is_there, run.frame["case"].unique())) else None


def narrow(comparison: SettingComparison, run: Run, requires: Sequence[str]) -> SettingComparison:
    """Return a comparison with no candidates but those that were seen to do all that is required.

    The current callback may stay only if it was seen to do it as well.
    """
    if not requires:
        return comparison
    labels = [comparison.baseline, *(candidate.label for candidate in comparison.candidates)]
    found = {label: findings_on(run, comparison.setting.op, label, requires) for label in labels}
    meets = {label: all(one == "met" for one in by_name.values()) for label, by_name in found.items()}
    untried = {name: tuple(label for label in labels if found[label][name] is None) for name in requires}
    return replace(
        comparison,
        candidates=tuple(candidate for candidate in comparison.candidates if meets[candidate.label]),
        barred=tuple(one for by_name in found.values() for one in by_name.values() if isinstance(one, Bar)),
        unknown=tuple(Unknown(name, who) for name, who in untried.items() if who),
        must_change=not meets[comparison.baseline],
    )


def remarks(judgement: Judgement) -> tuple[str, ...]:
    """Return which variants were removed for which requirement with which ops, those alike in one sentence.

    And which variants support a requirement under a condition.
    """
    decisions = judgement.decisions
    # The words before, between and after labels and ops, with one of each.
    findings = [(_bar_words(bar), bar.label, one.op) for one in decisions for bar in one.barred]
    findings += [
        ((f"not recommended, because {unknown.requirement} was not tried: ", " of ", ""), label, one.op)
        for one in decisions
        for unknown in one.unknown
        for label in unknown.labels
    ]
    findings += [
        ((f"{one.requirement} works with ", " of ", f" {one.reason}"), one.label, one.op)
        for one in judgement.run.requirements
        if one.status == "works" and one.reason and one.requirement in judgement.requires
    ]
    ops_of: dict[tuple[Words, str], list[str]] = {}
    for words, label, op in findings:
        ops = ops_of.setdefault((words, label), [])
        ops += [op] if op not in ops else []
    labels_of: dict[tuple[Words, tuple[str, ...]], list[str]] = {}
    for (words, label), ops in ops_of.items():
        labels_of.setdefault((words, tuple(ops)), []).append(label)
    return tuple(
        f"{before}{formatting.listing(labels)}{between}{formatting.listing(list(ops))}{after}"
        for ((before, between, after), ops), labels in labels_of.items()
    )


Words: TypeAlias = tuple[str, str, str]


def _bar_words(bar: Bar) -> Words:
    match bar.status:
        case "does not apply":
            return "", f" could not be tried for {bar.requirement} with ", f": {bar.reason}"
        case "fails":
            return f"{bar.requirement} does not work with ", " of ", f": {bar.reason}"
        case "silently wrong":
            return f"{bar.requirement} gives a wrong result with ", " of ", f": {bar.reason}"
