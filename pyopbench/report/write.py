"""The report of a judgement as HTML, Markdown and JSON.

`report.html` and `report.md` hold the same sections; the same judgement gives the same bytes. `decisions.json` is for
programs: docs/reading-a-report.md has its keys.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from markupsafe import Markup, escape

from pyopbench.judge.comparison.gate import VersionComparison
from pyopbench.judge.judge import judge
from pyopbench.judge.ports import port_path, working_ports
from pyopbench.model.errors import BadInput
from pyopbench.model.files import write_atomically
from pyopbench.model.formatting import printable
from pyopbench.report import comparison, page
from pyopbench.report.columns import decisions_json
from pyopbench.report.sections import Block, Heading, Paragraph, Section, Table, sections
from pyopbench.report.sections.pipeline import DECISION, as_data
from pyopbench.store.run import report_folder

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement, Judging
    from pyopbench.store.run import OpenRun, Source

Part: TypeAlias = tuple[Section, tuple[Block, ...]]


@dataclass(frozen=True)
class OpPage:
    """All that the report says about one op: where links lead, the answer in a line, and blocks by section."""

    op: str
    anchor: str
    note: str
    parts: list[Part]


@dataclass(frozen=True)
class Layout:
    """The report in the order in which it is read.

    Attributes:
        first: sections that answer.
        pages: one for each op.
        guide: the paragraphs that explain what is on the pages, by section.
        rest: all other sections.
    """

    first: list[Part]
    pages: list[OpPage]
    guide: list[Part]
    rest: list[Part]


def report_results(sources: Sequence[Source], folder: Path, judging: Judging) -> Judgement:
    """Judge results and write the report.

    Args:
        sources: the results.
        folder: where the report goes.
        judging: how to judge.

    Raises:
        BadInput: the results are not what they should be, or the baseline or the mix does not fit them.
    """
    judgement = judge(sources, judging)
    write(judgement, folder)
    return judgement


def write_versions(run: OpenRun, across: VersionComparison) -> None:
    """Write a report of each version with all in it, and each comparison with the first version."""
    several = len(across.judgements) + len(across.unmeasured) > 1
    for label, judgement in across.judgements.items():
        write(judgement, report_folder(run.folder, label), replace(across, shown=label) if several else None)
    for label, found in across.comparisons.items():
        write_atomically(comparison_path(run.folder, across, label), comparison.markdown(found, "").encode())


def comparison_path(folder: Path, across: VersionComparison, label: str) -> Path:
    """Return the file of the comparison of a version with the first."""
    names = [report_folder(folder, name).name for name in (across.labels[0], label)]
    return folder / f"compare-{names[0]}-{names[1]}.md"


def render(judgement: Judgement, across: VersionComparison | None = None) -> dict[str, str]:
    """Return the report as texts by file name: `report.html`, `report.md`, `decisions.json`.

    Args:
        judgement: of the run, or of the side that is shown.
        across: the environments that the run was made on; None for a run on one.
    """
    every = sections(across)
    layout = arrange([(section, tuple(section.build(judgement))) for section in every])
    anchors = {one.op: one.anchor for one in layout.pages}
    return {
        "report.html": page.rendered("report.html.j2", run=judgement.run, layout=layout, anchors=anchors),
        "report.md": _markdown(judgement, every, layout.pages),
        "decisions.json": decisions_json(judgement),
    }


def arrange(parts: Sequence[Part]) -> Layout:
    """Return the layout of sections and their blocks; a section without a block is left out."""
    layout = Layout([], [], [], [])
    pages: dict[str, OpPage] = {}
    for section, blocks in parts:
        starts = [place for place, block in enumerate(blocks) if isinstance(block, Heading)]
        own = blocks[: starts[0]] if starts else blocks
        for start, end in pairwise([*starts, len(blocks)]):
            heading = blocks[start]
            assert isinstance(heading, Heading)
            new = OpPage(heading.text, f"op-{len(pages) + 1}", heading.note, [])
            pages.setdefault(heading.text, new).parts.append((section, blocks[start + 1 : end]))
        if own and section.answers:
            layout.first.append((section, own))
        elif own and starts and all(isinstance(block, Paragraph) for block in own):
            layout.guide.append((section, own))
        elif own:
            layout.rest.append((section, own))
    layout.pages.extend(pages.values())
    return layout


def write(judgement: Judgement, directory: Path, across: VersionComparison | None = None) -> tuple[Path, ...]:
    """Write the report into a directory, and the ports that work; each file whole or not at all.

    Returns:
        The paths of the files of the report.

    Raises:
        BadInput: the folder for ports exists and is not a folder.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for port in working_ports(judgement):  # not the others, so that nobody merges one by mistake
        path = directory / port_path(port)
        _make_folder(path.parent)
        write_atomically(path, port.text.encode())
    contents = render(judgement, across)
    if judgement.pipeline is not None:
        found = as_data(judgement.pipeline)
        contents[DECISION] = json.dumps(found, indent=1) + "\n"
    for name, content in contents.items():
        write_atomically(directory / name, content.encode())
    return tuple(directory / name for name in contents)


def _markdown(judgement: Judgement, every: Sequence[Section], pages: Sequence[OpPage]) -> str:
    """Return the Markdown for a ticket: what is brief of each section, and the reasons for each op."""
    briefs = [(section, tuple(section.brief(judgement))) for section in every]
    template = page.environment(autoescape=False, folded=folded).get_template("report.md.j2")
    shown = [(section, blocks) for section, blocks in briefs if blocks]
    return printable(template.render(run=judgement.run, parts=shown, pages=pages))


def folded(op_page: OpPage) -> Markup:
    """Return the reasons for the answers on an op as one line of HTML, which tickets show on demand."""
    tables = [block for _, blocks in op_page.parts for block in blocks if isinstance(block, Table)]
    reasons = [
        f"{', '.join(map(str, row[: table.headings]))}: {row[-1]}"
        for table in tables
        if table.columns[-1] == "why"
        for row in table.rows
    ]
    head = Markup("<summary>{}</summary>").format(_line(f"{op_page.op}{op_page.note and f' · {op_page.note}'}"))
    why = (Markup("<p>{}</p>").format(_line(reason)) for reason in reasons)
    return Markup("<details>{}</details>").format(Markup("").join((head, *why)))


def _line(words: str) -> Markup:
    """Return the text in one line: a blank line would end the HTML, and what follows would be Markdown again."""
    return escape(" ".join(words.split()))


def _make_folder(path: Path) -> None:
    """Make a folder if there is none; a link is not followed, because it may lead out of the results."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise BadInput("ports cannot be written: this is not a folder", received=path, hint="move or remove it")
    path.mkdir(exist_ok=True)
