"""The commands that judge stored results. What is heavy is imported when a command is called."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from pyopbench.cli import options
from pyopbench.cli.options import out_option
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import EXIT_NOTHING, EXIT_WRONG, BadInput
from pyopbench.model.parse import parse_fail_on


class Export(Enum):
    """Formats of `report --export`."""

    BMF = "bmf"


class By(Enum):
    """Orders of `history`."""

    COMMIT = "commit"
    DATE = "date"


def report(
    results: options.Results,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The callback to compare with. Default: that of the run.",
            rich_help_panel=options.JUDGING,
        ),
    ] = None,
    mix: options.Mix = None,
    minimum_effect: options.MinimumEffect = None,
    requires: options.Requires = None,
    out_path: Annotated[
        Path | None,
        out_option("DIR", "Folder for the report. Default: the first folder, or results/report-NAME for a file."),
    ] = None,
    fail_on: options.FailOn = None,
    export: Annotated[
        Export | None,
        typer.Option(
            metavar="FORMAT", help="Print latencies with intervals for a dashboard, as Bencher Metric Format: bmf."
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> int:
    """Write the decision report of stored results, or for a run with --rev, the report of changes."""
    from pyopbench.api.results import open_judged, run_on_sides
    from pyopbench.cli.compare import report_sides
    from pyopbench.cli.report import print_export, write_report

    required = options.read_names("--require", requires)
    sources, judging, folder, fail_on = open_judged(results, baseline, minimum_effect, mix, required, fail_on)
    on_sides = run_on_sides(sources)
    if (out_path is not None and (on_sides or export)) or (export and (on_sides or as_json)):
        raise BadInput(
            "a run on several sides is reported in its own folder, and --export prints one side alone",
            received=f"{results[0]} with {'--out' if export is None else '--export'}",
            hint="leave that out, or --out and --json, or measure one side in a separate run",
        )
    if on_sides is not None:
        return report_sides(on_sides, judging, fail_on, as_json=as_json)
    if export is not None:
        return print_export(sources, judging)
    return write_report(sources, out_path or folder, judging, as_json=as_json)


def compare(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="A folder of a run, or a file of asv or pytest-benchmark.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="The other, of the same tool.")],
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            help="Which slowdown gives exit code 1: slower, slower:5% (by 5% or more) or never.",
        ),
    ] = "slower",
    minimum_effect: options.MinimumEffect = None,
    as_json: options.AsJson = False,
    markdown: Annotated[Path | None, out_option("FILE", "Also write Markdown.", "--markdown")] = None,
) -> int:
    """Compare two stored results."""
    from pyopbench.engine.sides import resolve_thresholds

    effect, _ = resolve_thresholds(None, minimum_effect, fail_on)
    slowdown = parse_fail_on(fail_on, effect)
    # pandas and SciPy cost a second, which a mistake in the options need not pay.
    from pyopbench.cli.compare import NOTHING_COMPARED, outcome_text, print_comparison
    from pyopbench.cli.output import out, print_warnings
    from pyopbench.judge.comparison.diff import compare_sides
    from pyopbench.judge.comparison.sides import read_sides
    from pyopbench.model.files import write_atomically
    from pyopbench.report import comparison

    sides = read_sides(first, second)
    print_warnings([warning for side in (sides.first, sides.second) for warning in side.run.warnings])
    compared = compare_sides(sides, effect)
    cases = () if slowdown is None else compared.slower_by(slowdown)
    bodies = () if slowdown is None else compared.bodies_slower_by(slowdown)
    outcome = NOTHING_COMPARED if compared.smallest is None else outcome_text(slowdown, len(cases), len(bodies))
    if markdown is not None:
        write_atomically(markdown, comparison.markdown(compared, outcome).encode())
    if as_json:
        out.print_json(comparison.as_json(compared, slowdown, failed=bool(cases or bodies)))
    else:
        print_comparison(compared, outcome)
    if compared.smallest is None:
        return EXIT_NOTHING
    return EXIT_WRONG if cases or bodies else 0


def history(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS", help="Folders of runs or of asv results, and files of pytest-benchmark."),
    ],
    by: Annotated[
        By | None,
        typer.Option(metavar="NAME", help="commit or date. Default: commit if there are several, else date."),
    ] = None,
    minimum_effect: options.MinimumEffect = None,
    out_path: Annotated[Path, out_option("DIR", "Folder for history.html, .md and .json.")] = Path("results/history"),
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Plot results over commits or dates, and find where they changed.

    A suspected change is confirmed by measuring both sides again, interleaved: the command is printed.
    """
    from pyopbench.cli.compare import print_history, write_history
    from pyopbench.cli.output import err, out, print_warnings
    from pyopbench.judge.comparison.history import read_history

    with err.status("reading"):
        found = read_history(results, by and by.value, minimum_effect or MINIMUM_EFFECT)
    print_warnings(found.warnings)
    write_history(found, out_path)
    if as_json:
        out.print_json((out_path / "history.json").read_text(encoding="utf-8"))
    else:
        print_history(found, out_path)
