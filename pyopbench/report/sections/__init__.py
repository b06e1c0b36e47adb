"""Sections of the report. One file per section, ending `SECTION = Section(...)`; a new section is one new file.

A section turns a judgement into blocks, which say what is shown and nothing of how. The templates turn blocks into HTML
and Markdown, so a section is written once and every output holds the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pyopbench.model.discover import python_files

if TYPE_CHECKING:
    from pyopbench.judge.comparison.versions import VersionComparison
    from pyopbench.judge.judge import Judgement

Tone: TypeAlias = Literal["", "good", "bad", "warn", "muted"]


@dataclass(frozen=True)
class Cell:
    """A cell of a table that stands out or leads somewhere.

    Attributes:
        text: what it says.
        tone: told by colour in HTML and never by colour alone.
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
    """A heading within a section.

    Attributes:
        text: the heading.
        of_op: True if `text` is an op, and the blocks up to the next such heading belong to the page of that op.
        note: one line that says the most important, shown while the page is folded.
    """

    text: str
    of_op: bool = False
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
    """Text to be copied as it stands; one with a caption is shown on demand in HTML."""

    text: str
    caption: str = ""
    kind: str = "code"


@dataclass(frozen=True)
class Table:
    """A table; a `folded` one is shown on demand in HTML, and is the first to go where Markdown gets too long.

    Attributes:
        columns: the headings.
        rows: one cell for each heading in every row.
        caption: one line that says what the table holds.
        folded: True for long tables behind a chart.
        headings: how many of the first columns name the row.
        says_why: True if the last column says why, which a ticket has as text.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    caption: str
    folded: bool = False
    headings: int = 1
    says_why: bool = False
    kind: str = "table"


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite chart, and in words what it shows."""

    spec: dict[str, Any]
    alt: str
    kind: str = "chart"


Block: TypeAlias = Heading | Paragraph | Bullets | Code | Table | Chart


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes:
        name: the name of the file that holds the section, and its anchor.
        title: for people.
        order: its place; sections are sorted by it.
        build: `judgement -> blocks`.
        brief: the same for a ticket, which is short; without it, nothing of the section goes into a ticket.
    """

    name: str
    title: str
    order: int
    build: Callable[[Judgement], Sequence[Block]]
    brief: Callable[[Judgement], Sequence[Block]] | None = None


@dataclass(frozen=True)
class VersionsSection:
    """A part of the report of a run on several versions of TensorFlow; no other report has it.

    Attributes:
        name, title, order: as of a `Section`.
        build: `(judgement, across) -> blocks`.
        brief: the same for a ticket; without it, nothing of the section goes into a ticket.
    """

    name: str
    title: str
    order: int
    build: Callable[[Judgement, VersionComparison], Sequence[Block]]
    brief: Callable[[Judgement, VersionComparison], Sequence[Block]] | None = None

    def of(self, across: VersionComparison) -> Section:
        """Return the section of a report that knows of these versions."""
        build, brief = self.build, self.brief
        return Section(
            self.name,
            self.title,
            self.order,
            lambda judgement: build(judgement, across),
            None if brief is None else lambda judgement: brief(judgement, across),
        )


def discover(across: VersionComparison | None = None) -> tuple[Section, ...]:
    """Return the sections in this folder, in the order in which they are shown.

    Args:
        across: the versions of TensorFlow that a run was made on; None for a run on one, whose report goes without the
            sections on versions.
    """
    names = [path.stem for path in python_files(Path(__file__).parent)]
    found = [import_module(f"{__name__}.{name}").SECTION for name in names]
    bound = [one.of(across) if isinstance(one, VersionsSection) and across is not None else one for one in found]
    shown = [one for one in bound if isinstance(one, Section)]
    return tuple(sorted(shown, key=lambda section: (section.order, section.name)))
