"""The report of a judgement as HTML, Markdown and JSON.

`report.html` and `report.md` hold the same sections; the same judgement gives the same bytes. `decisions.json` is for
programs: docs/decisions-json.md has its keys.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from pyopbench.judge.comparison.versions import VersionComparison, judge_versions
from pyopbench.judge.judge import judge
from pyopbench.judge.ports import attempts_of, port_path
from pyopbench.model.errors import BadInput
from pyopbench.model.printable import printable
from pyopbench.model.write_file import write_atomically
from pyopbench.report import comparison, page
from pyopbench.report.columns import decisions_json
from pyopbench.report.layout import OpPage, Part, arrange
from pyopbench.report.pipeline import DECISION, as_data
from pyopbench.report.sections import Cell, Table, discover
from pyopbench.store.run import axis_of, report_folder

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement, Judging
    from pyopbench.store.run import OpenRun, Source
    from pyopbench.store.types import Side

ANSWER_SECTION = "decisions"
TIMES_SECTION = "latency"
"""A ticket shows only these sections of an op: the reasons of the first, the table of the second."""
TICKET_CHARACTERS = 65_536
"""The longest text that a GitHub issue takes; a longer Markdown report goes without the tables of the ops."""


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


def report_versions(
    run: OpenRun, versions: Sequence[Side], judging: Judging, unmeasured: Mapping[str, str]
) -> tuple[list[Judgement], VersionComparison]:
    """Judge every version of a run, compare the others with the first, and write a report of each with all in it.

    Args:
        run: on several versions.
        versions: those that have a sample, at least one.
        judging: how to judge.
        unmeasured: label -> why a version has no sample.

    Returns:
        A judgement for each version; and what they come to side by side, with the first one shown.
    """
    found, together = judge_versions(run, versions, judging, unmeasured)
    write_versions(run, found, together)
    return list(found.values()), together


def write_versions(run: OpenRun, judgements: Mapping[str, Judgement], across: VersionComparison) -> None:
    """Write a report of each version with all in it, and each comparison with the first version."""
    several = len(judgements) + len(across.unmeasured) > 1
    for label, judgement in judgements.items():
        write(judgement, report_folder(run.folder, label), replace(across, shown=label) if several else None)
    axis = axis_of([measured.side for measured in run.measured])
    for label, found in across.comparisons.items():
        again = shlex.join(["pyopbench", "compare", str(run.folder), across.labels[0], label, "--axis", axis])
        text = comparison.markdown(found, f"Again: {again}")
        write_atomically(comparison_path(run.folder, across, label), text.encode())


def comparison_path(folder: Path, across: VersionComparison, label: str) -> Path:
    """Return the file of the comparison of a version with the first."""
    names = [re.sub("[^A-Za-z0-9.=-]+", "-", name).strip("-") for name in (across.labels[0], label)]
    return folder / f"compare-{names[0]}-{names[1]}.md"


def render(judgement: Judgement, across: VersionComparison | None = None) -> dict[str, str]:
    """Return the report as texts by file name: `report.html`, `report.md`, `decisions.json`.

    Args:
        judgement: of the run, or of the version of TensorFlow that is shown.
        across: the versions of TensorFlow that the run was made on; None for a run on one.
    """
    built = ((section, tuple(section.build(judgement))) for section in discover(across))
    parts = [(section, blocks) for section, blocks in built if blocks]  # one that has nothing to say is left out
    return {
        "report.html": _html(judgement, parts),
        "report.md": _markdown(judgement, parts),
        "decisions.json": decisions_json(judgement),
    }


def write(judgement: Judgement, directory: Path, across: VersionComparison | None = None) -> tuple[Path, ...]:
    """Write the report into a directory, and the ports that work; each file whole or not at all.

    Returns:
        The paths of the files of the report.

    Raises:
        BadInput: the folder for ports exists and is not a folder.
    """
    directory.mkdir(parents=True, exist_ok=True)
    failed = {(one.op, one.variant) for one in attempts_of(judgement) if not one.works}
    for port in judgement.run.ports:
        if (port.op, port.variant) in failed:  # so that nobody merges it by mistake
            continue
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


def _html(judgement: Judgement, parts: Sequence[Part]) -> str:
    layout = arrange(parts)
    anchors = {one.op: one.anchor for one in layout.pages}
    return page.rendered("report.html.j2", run=judgement.run, layout=layout, anchors=anchors)


def _markdown(judgement: Judgement, parts: Sequence[Part]) -> str:
    """Return the Markdown for a ticket, without the tables of the ops if it is too long for one with them."""
    environment = page.environment(autoescape=False, folded=folded)
    template = environment.get_template("report.md.j2")
    briefs = ((section, tuple(section.brief(judgement))) for section, _ in parts if section.brief is not None)
    shown = {
        "run": judgement.run,
        "parts": [(section, blocks) for section, blocks in briefs if blocks],
        "pages": arrange(parts).pages,
    }
    whole = printable(template.render(**shown, whole=True))
    return whole if len(whole) <= TICKET_CHARACTERS else printable(template.render(**shown, whole=False))


def folded(op_page: OpPage, whole: bool) -> Markup:  # noqa: FBT001 - a filter of a template
    """Return the page of an op as one line of HTML, which tickets show on demand.

    Args:
        op_page: the page of the op.
        whole: False leaves the table out, where the text would be too long for a ticket.
    """
    reasons = [reason for table in _tables(op_page, ANSWER_SECTION) if table.says_why for reason in _reasons(table)]
    times = list(_tables(op_page, TIMES_SECTION))
    shown = [_table(times[0])] if times and whole else []
    note = f" · {op_page.note}" if op_page.note else ""
    head = Markup("<summary>{}</summary>").format(_line(f"{op_page.op}{note}"))
    why = (Markup("<p>{}</p>").format(_line(reason)) for reason in reasons)
    return Markup("<details>{}</details>").format(Markup("").join((head, *why, *shown)))


def _tables(op_page: OpPage, name: str) -> Iterator[Table]:
    for section, blocks in op_page.parts:
        if section.name == name:
            yield from (block for block in blocks if isinstance(block, Table))


def _reasons(table: Table) -> Iterator[str]:
    for row in table.rows:
        yield f"{', '.join(str(cell) for cell in row[: table.headings])}: {row[-1]}"


def _table(table: Table) -> Markup:
    cells = (_row(table.columns, "th"), *(_row(row, "td") for row in table.rows))
    caption = Markup("<p>{}</p>").format(_line(table.caption))
    return caption + Markup("<table>{}</table>").format(Markup("").join(cells))


def _row(cells: Sequence[Cell | str], tag: str) -> Markup:
    shown = Markup("").join(Markup(f"<{tag}>{{}}</{tag}>").format(_line(str(cell))) for cell in cells)
    return Markup("<tr>{}</tr>").format(shown)


def _line(words: str) -> Markup:
    """Return the text in one line: a blank line would end the HTML, and what follows would be Markdown again."""
    return escape(" ".join(words.split()))


def _make_folder(path: Path) -> None:
    """Make a folder if there is none; a link is not followed, because it may lead out of the results."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise BadInput("ports cannot be written: this is not a folder", received=path, hint="move or remove it")
    path.mkdir(exist_ok=True)
