"""What the current callback does not support and what was removed as required; several outputs share it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pyopbench.judge import requirements
from pyopbench.judge.requirements import bar_text, blocks_text, required_text, substituted_text, unknown_text

if TYPE_CHECKING:
    from pyopbench.judge.decision import Decision
    from pyopbench.judge.judge import Judgement

Finding = TypeVar("Finding", bound=Hashable)


def blocked(judgement: Judgement) -> str:
    """Return what the current callback does not support, in a sentence; empty where nothing is known of it."""
    found = {name for decision in judgement.decisions for name in decision.blocks}
    if not found:
        return ""
    return blocks_text(judgement.baseline, [name for name in requirements.NAMES if name in found])


def blocked_by(judgement: Judgement, decisions: Iterable[Decision]) -> str:
    """Return in words what at least one of the answers was seen not to do, of all that can be required."""
    answers = dict.fromkeys((one.op, one.choice or one.baseline) for one in decisions)
    found = [requirements.sightings(judgement.run, op, label) for op, label in answers]
    if any(len(one.unknown) == len(requirements.NAMES) for one in found):
        return "not probed"
    bars = {bar.requirement for one in found for bar in one.bars if bar.was_seen}
    return ", ".join(name for name in requirements.NAMES if name in bars) or "nothing seen"


def barred(judgement: Judgement) -> tuple[str, ...]:
    """Return which variants were removed by which probe with which ops, those alike in one sentence.

    What is not known of them follows, and what was seen with the cube because an op gives nothing to try.
    """
    decisions = judgement.decisions
    bars = [(replace(bar, label="", op=None), bar.label, bar.op) for one in decisions for bar in one.barred]
    unknown = [(finding, "", one.op) for one in decisions for finding in one.unknown]
    met = [(replace(two, label=""), two.label, one.op) for one in decisions for two in one.substituted]
    own = {name for name, op in judgement.run.catalogue.ops.items() if op.own}
    return (
        *(bar_text(labels, bar, ops) for bar, labels, ops in _alike(bars)),
        *(unknown_text(one, ops, own) for one, _, ops in _alike(unknown)),
        *(substituted_text(labels, one, ops) for one, labels, ops in _alike(met)),
    )


def _alike(found: Iterable[tuple[Finding, str, str | None]]) -> Iterator[tuple[Finding, list[str], list[str]]]:
    """Yield each finding once for labels that have it with the same ops, with these labels and these ops."""
    ops: dict[Finding, dict[str, dict[str | None, None]]] = {}
    for finding, label, op in found:
        ops.setdefault(finding, {}).setdefault(label, {})[op] = None
    for finding, by_label in ops.items():
        labels: dict[tuple[str | None, ...], list[str]] = {}
        for label, of_label in by_label.items():
            labels.setdefault(tuple(of_label), []).append(label)
        for same, who in labels.items():
            yield finding, who, [op for op in same if op is not None]


def remarks(judgement: Judgement) -> tuple[str, ...]:
    """Return what goes with the decisions: what the current callback does not support, and what was removed."""
    return (*filter(None, [blocked(judgement)]), *map(required_text, barred(judgement)))
