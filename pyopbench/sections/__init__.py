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

from pyopbench.files import python_files

if TYPE_CHECKING:
    from pyopbench.decide import Judgement

Tone: TypeAlias = Literal["", "good", "bad", "warn", "muted"]


@dataclass(frozen=True)
class Cell:
    """A cell of a table that stands out; `tone` is told by colour in HTML and never by colour alone."""

    text: str
    tone: Tone = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str
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
    """Text to be copied as it stands."""

    text: str
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
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    caption: str
    folded: bool = False
    headings: int = 1
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
    """

    name: str
    title: str
    order: int
    build: Callable[[Judgement], Sequence[Block]]


def discover() -> tuple[Section, ...]:
    """Return the sections in this folder, in the order in which they are shown."""
    names = [path.stem for path in python_files(Path(__file__).parent)]
    found = [import_module(f"{__name__}.{name}").SECTION for name in names]
    return tuple(sorted(found, key=lambda section: (section.order, section.name)))
