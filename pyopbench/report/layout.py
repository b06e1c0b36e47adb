"""How the report is put together: what concerns one op on the page of that op, and everything else by section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyopbench.report.sections import Block, Heading, Paragraph, Section

Part: TypeAlias = tuple[Section, tuple[Block, ...]]

NOT_IN_ANCHORS = re.compile(r"[^a-z0-9_]+")
BEFORE_PAGES = 15
"""Sections up to this order, the answer among them, stand before the pages of the ops."""


@dataclass(frozen=True)
class OpPage:
    """All that the report says about one op.

    Attributes:
        op: the op.
        anchor: where links to it lead, of letters, digits, `_` and `-`, different for every op.
        note: the answer, in a line.
        parts: blocks by section.
    """

    op: str
    anchor: str
    note: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Layout:
    """The report in the order in which it is read.

    Attributes:
        first: sections that answer.
        pages: one for each op.
        guide: the paragraphs that explain what is on the pages, by section.
        rest: all other sections.
    """

    first: tuple[Part, ...]
    pages: tuple[OpPage, ...]
    guide: tuple[Part, ...]
    rest: tuple[Part, ...]


def arrange(parts: Sequence[Part]) -> Layout:
    """Return the layout of sections and their blocks, which are in the order of the sections."""
    general, by_op = [], dict[str, list[tuple[Section, Heading, tuple[Block, ...]]]]()
    for section, blocks in parts:
        own, pages = _apart(blocks)
        general.append((section, own, bool(pages)))
        for heading, found in pages:
            by_op.setdefault(heading.text, []).append((section, heading, found))
    first, guide, rest = list[Part](), list[Part](), list[Part]()
    for section, own, has_pages in general:
        if section.order <= BEFORE_PAGES:
            first.append((section, own))
        elif has_pages and all(isinstance(block, Paragraph) for block in own):
            guide.append((section, own))
        else:
            rest.append((section, own))
    anchors = anchors_of(list(by_op))
    made = tuple(_page(op, anchors[op], found) for op, found in by_op.items())
    return Layout(tuple(first), made, tuple((one, blocks) for one, blocks in guide if blocks), tuple(rest))


def anchors_of(ops: Sequence[str]) -> dict[str, str]:
    """Return an anchor for each op, which is made of its name as far as an anchor can be."""
    found: dict[str, str] = {}
    for op in ops:
        stem = f"op-{NOT_IN_ANCHORS.sub('-', op.lower()).strip('-')}"
        anchor, number = stem, 2
        while anchor in found.values():
            anchor, number = f"{stem}-{number}", number + 1
        found[op] = anchor
    return found


def _apart(blocks: Sequence[Block]) -> tuple[tuple[Block, ...], list[tuple[Heading, tuple[Block, ...]]]]:
    """Return the blocks of no op, and those of each op with the heading before them."""
    own: list[Block] = []
    pages: list[tuple[Heading, list[Block]]] = []
    for block in blocks:
        if isinstance(block, Heading) and block.of_op:
            pages.append((block, []))
        elif pages:
            pages[-1][1].append(block)
        else:
            own.append(block)
    return tuple(own), [(heading, tuple(found)) for heading, found in pages]


def _page(op: str, anchor: str, found: Sequence[tuple[Section, Heading, tuple[Block, ...]]]) -> OpPage:
    note = next((heading.note for _, heading, _ in found if heading.note), "")
    return OpPage(op, anchor, note, tuple((section, blocks) for section, _, blocks in found if blocks))
