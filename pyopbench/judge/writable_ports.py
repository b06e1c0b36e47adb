"""Which answers `pyopbench port` can write as source: ports of an own op's body, by the command that does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyopbench.model.label import Label
from pyopbench.model.portable import PORTABLE, port_words

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement


@dataclass(frozen=True)
class WritablePort:
    """An answer that can be written as source.

    Attributes:
        op: the own op.
        variant: what to go to.
        words: the command line that writes it.
    """

    op: str
    variant: str
    words: tuple[str, ...]


def writable_ports(judgement: Judgement) -> tuple[WritablePort, ...]:
    """Return the answers that can be written as source, each once, in the order of the decisions."""
    chosen = [
        (made.op, Label.parse(made.choice).variant)
        for made in judgement.decisions
        if made.choice is not None and made.op in judgement.run.own
    ]
    return tuple(
        WritablePort(op, variant, tuple(port_words(judgement.run.own[op], variant, f"{op}_{variant}.py")))
        for op, variant in dict.fromkeys(chosen)
        if variant in PORTABLE
    )
