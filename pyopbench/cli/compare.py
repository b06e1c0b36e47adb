"""What the command line prints of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.output import out, print_table, say
from pyopbench.model import formatting
from pyopbench.model.errors import BadInput

if TYPE_CHECKING:
    from pyopbench.judge.comparison.diff import Comparison

NOTHING_TOLD = "No case has an interval, so nothing can be said about slowdowns."
MOST_ROWS = 30
"""So many cases are printed, and all that are slower; the rest is in Markdown and JSON."""
RESULTS = (".json", ".jsonl")
"""How the names of files end that hold results."""


def require_free(markdown: str | None, *, as_json: bool) -> None:
    """Check that Markdown neither goes where JSON goes nor over a file of results, which cannot be measured again."""
    if markdown == "-" and as_json:
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


def outcome_text(slowdown: float | None, cases: int, bodies: int) -> str:
    """Return whether a comparison fails, by how many cases and bodies that are slower."""
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
    from pyopbench.judge.comparison.diff import notes_of
    from pyopbench.report import comparison

    out.print(f"[bold]{escape(found.title())}[/]\n")
    for note in notes_of(found):
        heading = f"[bold yellow]{escape(note.heading)}:[/] " if note.heading else ""
        out.print(f"{heading}{escape(note.sentence)}")
    out.print()
    if found.differences:
        print_table("What else differs", ("environment", "A", "B"), comparison.differences(found))
    slower = found.counts()["slower"]
    rows = comparison.rows(found)[: max(MOST_ROWS, slower)]
    shared = comparison.shared_parts([case.case for case in found.cases])
    print_table(f"Worst first{shared and f'; all are {shared}'}", comparison.COLUMNS, rows, folds=True)
    if len(rows) < len(found.cases):
        out.print(f"and {len(found.cases) - len(rows):,} more, in --markdown and --json\n")
    for body in found.bodies:
        out.print(escape(body.text()))
    if found.unmatched:
        print_table("Measured on one side only", ("cases", "only in", "why"), comparison.unmatched(found))
    out.print(escape(found.summary()))
    say(escape(said))
