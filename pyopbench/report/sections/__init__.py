"""Sections of the report. A section turns a judgement into blocks, which have the content but no layout.

HTML, Markdown and the terminal show the same blocks: HTML those of `build`, the others those of `brief`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from pyopbench.judge.comparison.gate import VersionComparison
    from pyopbench.judge.judge import Judgement

Tone: TypeAlias = Literal["", "good", "bad", "warn", "muted"]


@dataclass(frozen=True)
class Cell:
    """A cell of a table that stands out or leads somewhere.

    Attributes:
        text: what it says.
        tone: shown by colour in HTML, and never by colour alone.
        note: the small print of `text`.
        op: an op whose page the cell leads to; "" for none.
    """

    text: str
    tone: Tone = ""
    note: str = ""
    op: str = ""

    def __str__(self) -> str:
        return f"{self.text}: {self.note}" if self.note else self.text


@dataclass(frozen=True)
class Heading:
    """An op, to whose page the blocks up to the next heading belong; `note` says the most important in one line."""

    text: str
    note: str = ""
    kind: str = "heading"


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str
    tone: Tone = ""
    kind: str = "paragraph"


@dataclass(frozen=True)
class Bullets:
    """A list of short texts."""

    items: tuple[str, ...]
    kind: str = "bullets"


@dataclass(frozen=True)
class Code:
    """Text to be copied as it is; one with a caption is shown on demand in HTML."""

    text: str
    caption: str = ""
    kind: str = "code"


@dataclass(frozen=True)
class Table:
    """A table; a `folded` one is shown on demand in HTML.

    Attributes:
        columns: the headings.
        rows: one cell for each heading in every row.
        caption: one line that says what the table contains.
        folded: True for long tables behind a chart.
        headings: how many of the first columns name the row.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    caption: str
    folded: bool = False
    headings: int = 1
    kind: str = "table"


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite chart, and its description in words."""

    spec: dict[str, Any]
    alt: str
    kind: str = "chart"


Block: TypeAlias = Heading | Paragraph | Bullets | Code | Table | Chart


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes:
        name: its anchor.
        title: for people.
        build: `judgement -> blocks`; none if it has nothing to say.
        brief: the same for a ticket and for a terminal of 80 columns.
        answers: does it belong before the pages of the ops?
        in_terminal: is `brief` shown in a terminal? Failures are printed there once, and the command was just typed.
    """

    name: str
    title: str
    build: Callable[[Judgement], Sequence[Block]]
    brief: Callable[[Judgement], Sequence[Block]] = lambda judgement: ()
    answers: bool = False
    in_terminal: bool = True


def sections(across: VersionComparison | None = None) -> tuple[Section, ...]:
    """Return the sections in the order in which they are shown; `across` is of a run on several environments."""
    from pyopbench.report.sections import about, answer, holes, pipeline, support, threads, times, versions

    return (
        Section("answer", "What to do", answer.build, answer.brief, answers=True),
        Section("pipeline", "In an input pipeline", pipeline.build, pipeline.brief, answers=True),
        *((_by_side(across, versions),) if across is not None else ()),
        Section("support", "Ports and what they support", support.build, support.brief, answers=True),
        Section("times", "Time per call", times.build),
        Section("threads", "Calls from several threads", threads.build, threads.brief),
        Section("holes", "What was not measured, and why", holes.build, holes.brief, in_terminal=False),
        Section("about", "How it was measured", about.build, about.brief, in_terminal=False),
    )


def _by_side(across: VersionComparison, versions: Any) -> Section:
    build, brief = (lambda judgement: versions.build(across)), (lambda judgement: versions.brief(across))
    return Section("versions", "Answers by side", build, brief, answers=True)
