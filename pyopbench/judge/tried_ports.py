"""What was tried of an own op that nobody wrote for it: what works, how fast it is, and why the rest does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyopbench.judge.latencies import label_of
from pyopbench.model.case import Case, Change

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement
    from pyopbench.store.content import VariantFacts


@dataclass(frozen=True)
class Attempt:
    """A port that was tried by itself.

    Attributes:
        op: the own op.
        variant: what was tried.
        works: whether it was right, and timed, somewhere.
        saved, saved_low: share of the current time, of inference over the mix; None without a number over all of it.
        reason: why it does not work, or does not everywhere; empty where it does.
        change: what gets it past the line that it failed at; None where that is not known.
        also_on: frameworks beside TensorFlow that it runs on.
    """

    op: str
    variant: str
    works: bool
    saved: float | None
    saved_low: float | None
    reason: str
    change: Change | None = None
    also_on: tuple[str, ...] = ()


def attempts_of(judgement: Judgement) -> tuple[Attempt, ...]:
    """Return what was tried by itself, for each own op in the order of the variants; nothing for other ops."""
    variants = judgement.run.catalogue.variants
    own = [name for name, op in judgement.run.catalogue.ops.items() if op.own]
    return tuple(found for op in own for name in variants for found in _attempt(judgement, op, name, variants[name]))


def _attempt(judgement: Judgement, op: str, name: str, variant: VariantFacts) -> Iterator[Attempt]:
    made_of = variant.body in judgement.run.catalogue.ops[op].tried
    tried = made_of and (variant.automatic or variant.body != "numpy")
    failures = [
        failure
        for failure in judgement.run.failures
        if (case := Case.from_id(failure.case)).op == op and case.variant == name and case.direction == "forward"
    ]
    rows = judgement.latencies
    works = bool(((rows["op"] == op) & (rows["variant"] == name)).any())
    if not tried or not (works or failures):
        return
    gain = next((gain for gain in _gains(judgement, op, name)), None)
    value, low = (None, None) if gain is None else (gain.saved, gain.saved_low)
    reason = failures[0].reason if failures else ""
    change = failures[0].change if failures else None
    yield Attempt(op, name, works, value, low, reason, change, tuple(variant.also_on))


def _gains(judgement: Judgement, op: str, variant: str) -> Iterator[Any]:
    label = label_of(judgement.run.catalogue, variant, "none")
    for comparison, made in judgement.choices:
        if made is not None and (comparison.setting.op, comparison.setting.use) == (op, "inference"):
            yield from (gain for gain in made[0].gains if gain.label == label)
