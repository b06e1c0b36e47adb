"""What a run and a report show in a terminal: 80 columns, no colour where none is wanted, and little when quiet."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from typer.testing import CliRunner

from commands import noisy_results
from pyopbench.cli import app
from pyopbench.cli.report import retry_commands
from pyopbench.judge.bars import Unknown
from pyopbench.report import decisions_json

COLUMNS = 80


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return noisy_results(tmp_path / "run")


def invoke(*arguments: object, **environment: str):
    return CliRunner().invoke(app.app, [str(one) for one in arguments], env={"COLUMNS": str(COLUMNS), **environment})


def test_help_groups_commands_and_tells_exit_codes():
    shown = invoke("--help").output
    for words in ("Measure", "Judge results", "Exit codes", "--install-completion", "NO_COLOR"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= COLUMNS


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
    assert (lines[0], lines[-1]) == ("What to do", f"report: {results / 'report.html'}")


def test_json_is_the_document_and_fits_the_published_schema(results):
    printed = json.loads(invoke("report", results, "--json").stdout)
    assert printed == json.loads((results / "decisions.json").read_text(encoding="utf-8"))
    jsonschema.validate(printed, json.loads(invoke("schema").stdout))
    assert json.loads(invoke("schema").stdout) == decisions_json.schema()


@pytest.mark.parametrize(("of", "name"), [("run", "run.json"), ("samples", "samples.jsonl")])
def test_stored_results_have_a_schema_that_is_printed(results, of, name):
    printed = json.loads(invoke("schema", "--of", of).stdout)
    content = (results / name).read_text(encoding="utf-8")
    for document in content.splitlines() if of == "samples" else [content]:
        jsonschema.validate(json.loads(document), printed)


def test_what_is_required_and_was_not_tried_comes_with_the_commands_that_try_it(results):
    shown = invoke("report", results, "--require", "savedmodel,xla", COLUMNS="200").stdout
    probing, reporting = [shlex.split(line) for line in shown.splitlines() if line.startswith("  pyopbench ")]
    assert probing[:3] == ["pyopbench", "probe", "--op"]
    assert probing[probing.index("--probe") + 1] == "savedmodel,xla"
    assert probing[-2:] == ["--out", str(results / "probes.json")]
    assert reporting == ["pyopbench", "report", str(results), "--require", "savedmodel,xla"]


def test_an_own_op_is_tried_with_its_inputs_by_a_command_of_its_own(results):
    """Options that name inputs are for one op, so that ops that have some cannot share a command."""
    own = {"mine": ("mine.py",), "f": ("a.py:f", "--input", "np.ones(3)", "--seed-with", "random.seed({seed})")}
    unknown = [Unknown("xla", ("traced", "njit")), Unknown("savedmodel", ("traced",)), Unknown("gpu", ("traced",))]
    decisions = [SimpleNamespace(op=op, unknown=unknown) for op in ("sinh", "mine", "f")]
    run = SimpleNamespace(own=own, counted_copies=None)
    judgement = SimpleNamespace(decisions=decisions, run=run, requires=("savedmodel", "xla", "gpu"))
    tried = ["--probe", "xla,savedmodel", "--variant", "traced,njit", "--out", str(results / "probes.json")]
    commands = [shlex.split(one) for one in retry_commands(judgement, [results])]
    assert commands == [
        ["pyopbench", "probe", "--op", "sinh", "--op", "mine.py", *tried],
        ["pyopbench", "probe", "--op", *own["f"], *tried],
        ["pyopbench", "placement", "mine.py", "--variant", "traced", "--out", str(results / "placement.json")],
        ["pyopbench", "report", str(results), "--require", "savedmodel,xla,gpu"],
    ]
    judgement.run.counted_copies = {}  # which a command would write over
    assert [one[1] for one in map(shlex.split, retry_commands(judgement, [results]))] == ["probe", "probe", "report"]
