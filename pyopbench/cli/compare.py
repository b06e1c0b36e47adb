"""`pyopbench compare`: two results, or two parts of one, side by side; fails where something became slower."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.model import formatting
from pyopbench.model.errors import EXIT_NOTHING, EXIT_WRONG, BadInput
from pyopbench.model.parse import parse_fail_on
from pyopbench.model.write_file import write_atomically

if TYPE_CHECKING:
    from pyopbench.judge.comparison.diff import Comparison

NOTHING_TOLD = "No case has an interval, so nothing can be said about slowdowns."
MOST_ROWS = 30
"""So many cases are printed, and all that are slower; the rest is in Markdown and JSON."""
STANDARD_OUTPUT = "-"
RESULTS = (".json", ".jsonl")
"""How the names of files end that hold results."""


def compare(
    *,
    words: Sequence[str],
    axis: str,
    fail_on: str,
    minimum_effect: float,
    run_spread: float,
    as_json: bool,
    markdown: str | None,
) -> int:
    """Compare two results: folders of runs, results of asv, files of pytest-benchmark."""
    _require_free(markdown, as_json=as_json)
    slowdown = parse_fail_on(fail_on, minimum_effect)
    # pandas and SciPy cost a second, which a mistake in the options need not pay.
    from pyopbench.judge.comparison.diff import compare_sides
    from pyopbench.judge.comparison.sides import read_sides
    from pyopbench.report import comparison

    sides = read_sides(list(words), axis)
    for run in (*sides.first.runs, *sides.second.runs):
        for warning in run.warnings:
            say(f"[yellow]warning:[/] {escape(warning.text())}", err)
    found = compare_sides(sides, minimum_effect, run_spread)
    cases, bodies = ((), ()) if slowdown is None else (found.slower_by(slowdown), found.bodies_slower_by(slowdown))
    slower = (*cases, *bodies)
    said = _said(slowdown, len(cases), len(bodies)) if found.smallest is not None else NOTHING_TOLD
    if markdown not in (None, STANDARD_OUTPUT):
        write_atomically(Path(str(markdown)), comparison.markdown(found, said).encode())
    if as_json:
        out.print_json(comparison.as_json(found, slowdown, failed=bool(slower)))
    elif markdown == STANDARD_OUTPUT:
        out.file.write(comparison.markdown(found, said))
    else:
        print_comparison(found, said)
    if found.smallest is None:
        return EXIT_NOTHING
    return EXIT_WRONG if slower else 0


def _require_free(markdown: str | None, *, as_json: bool) -> None:
    """Check that Markdown neither goes where JSON goes nor over a file of results, which cannot be measured again."""
    if markdown == STANDARD_OUTPUT and as_json:
        raise BadInput(
            "JSON and Markdown cannot both be printed",
            received="--json with --markdown -",
            hint="leave one of them out, or give Markdown a file",
        )
    if markdown is not None and Path(markdown).suffix in RESULTS:
        raise BadInput(
            "Markdown would overwrite a file of results",
            received=f"--markdown {markdown}",
            hint="choose a name that ends with .md; for example --markdown compare.md",
        )


def _said(slowdown: float | None, cases: int, bodies: int) -> str:
    if slowdown is None:
        return "Slowdowns do not fail this comparison (--fail-on never)."
    share = f"by {formatting.percent(slowdown)} or more"
    counted = ((bodies, "body", "bodies"), (cases, "case", "cases"))
    parts = [formatting.count(many, one, several) for many, one, several in counted if many]
    if not parts:
        return f"Passed: no case is clearly slower {share}."
    return f"Failed: {formatting.listing(parts)} {'is' if bodies + cases == 1 else 'are'} slower {share}."


def print_comparison(found: Comparison, said: str) -> None:
    """Print a comparison for a terminal, and a last sentence."""
    from pyopbench.judge.comparison.diff import heading_of, notes_of
    from pyopbench.report import comparison

    out.print(f"[bold]{escape(found.title())}[/]\n")
    for note in notes_of(found):
        heading = f"[bold yellow]{escape(heading_of(note))}:[/] " if heading_of(note) else ""
        out.print(f"{heading}{escape(note.text())}")
    out.print()
    if found.differences:
        print_table("What else differs", ("environment", "A", "B"), comparison.differences(found))
    slower = found.counts()["slower"]
    rows = comparison.rows(found)[: max(MOST_ROWS, slower)]
    shared = comparison.shared_parts([case.key for case in found.cases])
    print_table(f"Worst first{shared and f'; all are {shared}'}", comparison.COLUMNS, rows, folds=True)
    if len(rows) < len(found.cases):
        out.print(f"and {len(found.cases) - len(rows):,} more, in --markdown and --json\n")
    for body in found.bodies:
        out.print(escape(body.text()))
    if found.unmatched:
        print_table("Measured on one side only", ("cases", "only in", "why"), comparison.unmatched(found))
    out.print(escape(found.summary()))
    say(escape(said))
