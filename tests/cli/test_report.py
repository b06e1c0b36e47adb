"""What a run and a report show in a terminal: 80 columns, no colour where none is wanted, and little when quiet."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from msgspec import structs
from typer.testing import CliRunner

from commands import noisy_results
from judgements import decision, plain
from pyopbench.cli import app
from pyopbench.cli import report as printing
from pyopbench.judge.decision import Reason, Unknown
from pyopbench.model.case import BASELINE as TODAY
from pyopbench.model.errors import BadInput
from pyopbench.store.run import OpenRun, open_run
from pyopbench.store.types import UNKNOWN_OP, Catalogue, Settings

COLUMNS = 80
MINE = ("mine.py:f", "--input", "np.ones((2, 3))")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return noisy_results(tmp_path / "run")


def invoke(*arguments: object, **environment: str):
    return CliRunner().invoke(app.app, [str(one) for one in arguments], env={"COLUMNS": str(COLUMNS), **environment})


@pytest.mark.parametrize("command", [one.name or one.callback.__name__ for one in app.app.registered_commands])
def test_help_names_every_option_in_full(command):
    shown = invoke(command, "--help")
    assert shown.exit_code == 0
    assert "…" not in shown.output
    assert max(map(len, shown.output.splitlines())) <= COLUMNS


def test_no_colour_where_none_is_wanted(results, monkeypatch):
    for environment in ({"NO_COLOR": "1"}, {}):
        assert "\x1b[" not in invoke("report", results, **environment).output


def test_quiet_leaves_results_and_errors(results, tmp_path):
    ended = invoke("report", results, "--quiet")
    assert ended.stderr == ""
    lines = ended.stdout.splitlines()
    assert (lines[1], lines[-1]) == ("Answers", f"report: {results / 'report.html'}")


def test_what_is_required_and_was_not_tried_comes_with_the_command_that_tries_it(results):
    shown = invoke("report", results, "--require", "savedmodel,xla", COLUMNS="200").stdout
    (trying,) = [shlex.split(line) for line in shown.splitlines() if line.startswith("  pyopbench ")]
    assert trying[:2] == ["pyopbench", "run"]
    assert trying[trying.index("--require") + 1] == "savedmodel,xla"


def test_an_own_op_is_tried_with_its_inputs(results):
    own = {"f": ("a.py:f", "--input", "np.ones(3)", "--seed-with", "random.seed({seed})")}
    decisions = [SimpleNamespace(op=op, unknown=[Unknown("xla", ("traced",))]) for op in ("sinh", "f")]
    judgement = SimpleNamespace(decisions=decisions, run=SimpleNamespace(own=own), requires=("savedmodel", "xla"))
    assert [shlex.split(one) for one in printing.retry_commands(judgement, [open_run(results)])] == [
        ["pyopbench", "run", "sinh", "--require", "savedmodel,xla"],
        ["pyopbench", "run", *own["f"], "--require", "savedmodel,xla"],
    ]


CALLS = ["run", *MINE, "--axis", "mode=call"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason("still_open", "", launches=1, enough=2), [*CALLS, "--launches", "2"]),
        (Reason("still_open", "", launches=4, enough=9), [*CALLS, "--launches", "9", "--budget", "6m"]),
        (
            Reason("still_open", "", launches=4, enough=printing.MOST_LAUNCHES_ASKED + 1, most_saved=0.12),
            ["report", "RUN", "--min-effect", "13%"],
        ),
        (Reason("still_open", "", launches=4, most_saved=0.9), [*CALLS, "--launches", "8", "--budget", "5m"]),
        (Reason("none_meets_requirements", ""), ["report", "RUN"]),
        (Reason("no_candidate", ""), ["verify", *MINE]),
        (Reason("baseline_failed", ""), ["verify", *MINE]),
        (Reason("baseline_not_measured", ""), ["run", *MINE, "--variant", TODAY, "--baseline", TODAY]),
        (Reason("baseline_too_noisy", "", launches=3), [*CALLS, "--launches", "6"]),
        (Reason("dtype_not_called", ""), ["report", "RUN"]),
        (Reason("beyond_measured", "", sizes=(5000,)), ["report", "RUN"]),
        (Reason("failed_beyond", "", sizes=(5000,)), ["verify", *MINE]),
    ],
)
def test_every_undecided_answer_comes_with_one_command(results, reason, words):
    """It names the user's own op with its inputs, and has numbers that were measured."""
    command = command_after(reason, results)
    assert command == ["pyopbench", *words]
    if words[0] in ("run", "report"):
        parsed = typer.main.get_command(app.app)
        parsed.commands[words[0]].make_context(words[0], command[2:])


def command_after(reason, results, own=MINE, sizes=(), mode="call"):
    """Return the next command for an op `f`, with RUN for the folder of results."""
    settings = Settings(baseline=TODAY, launches=3, budget_seconds=150.0)
    catalogue = Catalogue(ops={"f": structs.replace(UNKNOWN_OP, sizes=list(sizes))}, variants={})
    run = SimpleNamespace(own={"f": own}, catalogue=catalogue, cases=(), settings=settings)
    made = decision("f", action="undecided", choice=None, baseline=TODAY, reason=reason, mode=mode)
    command = shlex.split(printing.next_command(made, SimpleNamespace(run=run), [open_run(results)]))
    return ["RUN" if word == str(results) else word for word in command]


@pytest.mark.parametrize("sizes", [[1000, 10000], [1000]])
def test_sizes_beyond_the_measured_ones_are_measured_where_the_op_has_them(results, sizes):
    measuring = ["run", "f", "--baseline", TODAY, "--axis", "size=1000,5000,10000,100000"]
    command = command_after(Reason("beyond_measured", "", sizes=(5000,)), results, ("f",), sizes)
    assert command[1:] == (measuring if len(sizes) > 1 else ["report", "RUN"])


def test_undecided_answers_that_are_not_printed_are_counted(capsys):
    undecided = decision("f", action="undecided", choice=None)
    printing.print_undecided(replace(plain(), decisions=(undecided,) * 12), [])
    *printed, last = capsys.readouterr().out.splitlines()
    assert f" {12 - len(printed)} more" in last


def test_the_next_command_keeps_dtype_environment_and_quick(results):
    run = open_run(results)
    side = structs.replace(run.plan.sides[0], tf="2.16.2", packages=("numpy==1.26.4",))
    settings = structs.replace(run.plan.settings, quick=True)
    run = OpenRun(results, structs.replace(run.plan, sides=[side], settings=settings))
    why = Reason("still_open", "", launches=1, enough=2)
    made = decision("sinh", action="undecided", choice=None, baseline=TODAY, dtype="float64", reason=why)
    judgement = SimpleNamespace(run=SimpleNamespace(own={}, cases=(), settings=settings))
    command = shlex.split(printing.next_command(made, judgement, [run]))
    where = ["--quick", "--tf", "2.16.2", "--with", "numpy==1.26.4"]
    assert command[:10] == ["pyopbench", "run", "sinh", *where, "--axis", "dtype=float64"]


def test_a_callback_that_noise_swallows_in_a_graph_is_measured_by_calls(results):
    command = command_after(Reason("baseline_too_noisy", "", launches=3), results, mode="node")
    assert command == ["pyopbench", "run", *MINE, "--axis", "mode=call", "--baseline", TODAY]


def test_the_terminal_has_the_reason_of_an_undecided_answer_and_the_command(results):
    """The command with a larger minimum effect, if that is what it is, decides."""
    shown = invoke("report", results, COLUMNS="200").stdout
    (command,) = [shlex.split(line)[1:] for line in shown.splitlines() if line.startswith("  next: ")]
    assert command[:3] == ["pyopbench", "run", "double"]
    assert int(command[command.index("--launches") + 1]) > 1


def test_latencies_are_printed_for_a_dashboard_and_no_report_is_written(tmp_path: Path) -> None:
    folder = noisy_results(tmp_path / "exported")
    before = sorted(folder.iterdir())
    found = invoke("report", folder, "--export", "bmf")
    assert (found.exit_code, len(json.loads(found.stdout))) == (0, 2)
    assert sorted(folder.iterdir()) == before


def test_two_kinds_of_json_are_refused(results: Path) -> None:
    assert isinstance(invoke("report", results, "--export", "bmf", "--json").exception, BadInput)


def test_one_side_alone_cannot_fail(results: Path) -> None:
    refused = invoke("report", results, "--fail-on", "slower:5%").exception
    assert isinstance(refused, BadInput)
    assert refused.received == "--fail-on slower:5%"
