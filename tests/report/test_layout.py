"""How a report is put together: pages of ops and their anchors."""

from __future__ import annotations

from judgements import HOSTILE
from pyopbench.report.sections import Block, Heading, Paragraph, Section, Table
from pyopbench.report.write import arrange


def section(name: str, *, answers: bool) -> Section:
    return Section(name, name.title(), lambda judgement: (), answers=answers)


TABLE = Table(("a",), (("1",),), "one")


def parts(*blocks: tuple[Block, ...]) -> list[tuple[Section, tuple[Block, ...]]]:
    return [(section(f"part_{place}", answers=place == 0), found) for place, found in enumerate(blocks)]


def test_what_is_under_the_heading_of_an_op_goes_to_its_page():
    first = (Paragraph("answers"), Heading("sinh", note="port"), TABLE)
    second = (Paragraph("intro"), Heading("log"), TABLE, Heading("sinh"), Paragraph("x"))
    layout = arrange(parts(first, second))
    assert [(page.op, page.note) for page in layout.pages] == [("sinh", "port"), ("log", "")]
    assert [[blocks for _, blocks in page.parts] for page in layout.pages] == [
        [(TABLE,), (Paragraph("x"),)], [(TABLE,)],
    ]  # fmt: skip
    assert [blocks for _, blocks in layout.first] == [(Paragraph("answers"),)]


def test_paragraphs_before_pages_are_a_guide_and_tables_stay_a_section():
    answer = (Paragraph("answers"),)
    guide = (Paragraph("how to read"), Heading("sinh"), TABLE)
    kept = (Paragraph("what"), TABLE, Heading("sinh"), TABLE)
    layout = arrange(parts(answer, guide, kept, (Paragraph("method"),)))
    assert [blocks for _, blocks in layout.guide] == [(Paragraph("how to read"),)]
    assert [blocks for _, blocks in layout.rest] == [(Paragraph("what"), TABLE), (Paragraph("method"),)]


def test_every_op_has_an_anchor_of_its_own_whatever_it_is_called():
    ops = [*HOSTILE, "sinh", "SINH", "sinh!", "ä"]
    pages = arrange(parts(tuple(block for op in ops for block in (Heading(op), TABLE)))).pages
    anchors = {page.anchor for page in pages}
    assert len(anchors) == len(ops)
    assert all(set(anchor) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-") for anchor in anchors)
