"""Ports that pyopbench generates: which were tried for an own op, with what result, and which can be written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyopbench.judge.latencies import label_of
from pyopbench.model import formatting
from pyopbench.model.case import Case, variant_in
from pyopbench.model.variant import PORTABLE, port_words

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement
    from pyopbench.store.types import PortLine


NOTES = {
    "known sizes": "The sizes of {} must be known when it is traced; in a Dataset, use batches of a fixed size.",
    "64 bits": "Its integers have 64 bits: a product that needs more is wrong, without an error.",
    "prints": "It prints, in {}; under XLA and over batches only while it is traced.",
    "callback": "It is still a callback, so neither XLA nor a SavedModel in another process can run it.",
}
"""Kind of a note on a port -> its sentence."""


@dataclass(frozen=True)
class Attempt:
    """A port that was tried automatically."""

    op: str
    variant: str
    works: bool  # whether it was right, and timed, somewhere
    # Saved and saved_low: share of the current time, of inference over the mix; None without a number over all of it
    saved: float | None
    saved_low: float | None
    reason: str  # why it does not work, or does not everywhere; empty where it does

    def text(self, characters: int) -> str:
        """Return in a line of so many characters what a port saves or why there is none."""
        if self.works and not self.reason:
            return "works" if self.saved is None else formatting.saved_at_least(self.saved, self.saved_low)
        why = f"works, but not everywhere: {self.reason}" if self.works else self.reason
        return formatting.shorten(why, characters)


def attempts_of(judgement: Judgement) -> tuple[Attempt, ...]:
    """Return what was tried automatically, for each own op in the order of the variants; nothing for other ops."""
    catalogue, latencies = judgement.run.catalogue, judgement.latencies
    measured = set(zip(latencies["op"], latencies["variant"], strict=True))
    reasons: dict[tuple[str, str], str] = {}
    for failure in judgement.run.failures:
        case = Case.from_id(failure.case)
        if case.direction == "forward":
            reasons.setdefault((case.op, case.variant), failure.reason)
    saved: dict[tuple[str, str], tuple[float, float]] = {}
    for comparison, made in judgement.choices:
        if made is not None and comparison.setting.use == "inference":
            for gain in made[0].gains:
                saved.setdefault((comparison.setting.op, gain.label), (gain.saved, gain.saved_low))
    found = []
    for op, facts in catalogue.ops.items():
        for name, variant in catalogue.variants.items():
            is_tried = variant.body in facts.tried and (variant.automatic or variant.body != "numpy")
            works, reason = (op, name) in measured, reasons.get((op, name))
            if facts.own and is_tried and (works or reason is not None):
                value, low = saved.get((op, label_of(catalogue, name, "none")), (None, None))
                found.append(Attempt(op, name, works, value, low, reason or ""))
    return tuple(found)


def working_ports(judgement: Judgement) -> list[PortLine]:
    """Return the ports that were measured in their dtype; forms of a pipeline, which are no variants, as they are."""
    latencies = judgement.latencies
    measured = set(zip(latencies["op"], latencies["variant"], latencies["dtype"], strict=True))
    tried = {(one.op, one.variant) for one in attempts_of(judgement)}
    return [
        one
        for one in judgement.run.ports
        if (one.op, one.variant) not in tried or (one.op, one.variant, one.dtype) in measured
    ]


def notes_text(notes: Sequence[str], not_run: Sequence[tuple[str, int]], *, is_formatted: bool) -> tuple[str, ...]:
    """Return a sentence for each thing that a reviewer of a port should know."""
    texts = [NOTES[kind].format(what) for kind, _, what in (note.partition(": ") for note in notes)]
    if not_run:
        lines = formatting.listing([f"{Path(file).name}:{line}" for file, line in not_run])
        texts.append(f"No example ran {lines}, so no test covers this code: check it, or add an input that runs it.")
    if not is_formatted:
        texts.append("ruff is not installed, so the source is not formatted.")
    return tuple(texts)


def pays_text(ratios: Mapping[int, float]) -> str:
    """Return whether a port pays, from how many times as fast as the callback it was for a moment, by size."""
    ends = dict.fromkeys(formatting.number(one, 2) for one in (min(ratios.values()), max(ratios.values())))
    sizes = f" (sizes {', '.join(map(str, ratios))})" if len(ratios) > 1 else ""
    keep = ": keep the callback" if max(ratios.values()) < 1 else ""
    return (
        f"{' to '.join(ends)} times as fast as the callback{sizes}{keep}. "
        "This was timed for a moment; `pyopbench run` measures it."
    )


def port_commands(judgement: Judgement) -> tuple[str, ...]:
    """Return how to have each answer as source, for those that can be written, in the order of the decisions."""
    own = judgement.run.own
    chosen = dict.fromkeys(
        (one.op, variant_in(one.choice)) for one in judgement.decisions if one.choice is not None and one.op in own
    )
    return tuple(
        f"Write {op} as {variant}, with a test: {shlex.join(port_words(own[op], variant, f'{op}_{variant}.py'))}"
        for op, variant in chosen
        if variant in PORTABLE
    )


LONGEST_NAME = 150
"""Characters of the name of an op in that of a file, which has 255 bytes at most."""


def port_path(port: PortLine) -> str:
    """Return the path of the source of a port in the folder of the results."""
    return f"ports/{port.op[:LONGEST_NAME]}_{re.sub(r'[ =]', '_', port.variant)}_{port.dtype}.py"
