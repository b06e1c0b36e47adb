"""A run that an earlier version stored is read, judged and compared as it was then, to the last digit.

This keeps results readable from version to version: the numbers in `expected.json` are what the version that stored
the run made of it. They are no expectation of durations. tests/data/stored_run/README.md says where they are from.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from places import DATA
from pyopbench.cli import app
from pyopbench.judge import judge
from pyopbench.judge.decide import Judgement
from pyopbench.judge.judge import Judging

FOLDER = DATA / "stored_run"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def judgement() -> Judgement:
    return judge.judge([FOLDER], Judging(EXPECTED["baseline"], EXPECTED["minimum_effect"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "run"))


def plain(noun: object, keys: list[str]) -> dict[str, Any]:
    """Return some attributes, with null for a number that does not exist, as JSON has it."""
    values = {key: getattr(noun, key) for key in keys}
    return {key: None if isinstance(one, float) and not math.isfinite(one) else one for key, one in values.items()}


@pytest.mark.parametrize("what", ["decisions", "verdicts"])
def test_it_is_judged_as_it_was(judgement: Judgement, what: str) -> None:
    expected = EXPECTED[what]
    assert len(expected) > 1
    found = [plain(one, list(expected[0])) for one in getattr(judgement, what)]
    assert found == expected, "exactly: the same samples give the same numbers"


def test_everything_in_it_is_read(judgement: Judgement) -> None:
    run = judgement.run
    assert len(run.launches) == 2
    assert run.limits
    assert run.checked
    assert not run.noise.empty
    assert not run.costs.frame.empty
    assert not run.costs.crossings.empty
    assert {failure.status for failure in run.failures} == {"unsupported"}
    assert run.probes is not None
    assert run.warnings == ()


def test_it_is_reported_and_the_files_of_the_report_are_made(folder: Path) -> None:
    done = CliRunner().invoke(app.app, ["report", str(folder), "--quiet"])
    assert done.exit_code == 0, done.output
    decisions = json.loads((folder / "decisions.json").read_text(encoding="utf-8"))["decisions"]
    for key in ("op", "use", "action", "choice", "gain", "gain_low", "gain_high"):
        assert [one[key] for one in decisions] == [one[key] for one in EXPECTED["decisions"]], key
    assert "sinh" in (folder / "report.md").read_text(encoding="utf-8")
    assert (folder / "report.html").stat().st_size > 0


def test_it_is_compared_and_is_no_slower_than_itself(folder: Path) -> None:
    done = CliRunner().invoke(app.app, ["compare", str(FOLDER), str(folder), "--json"])
    assert done.exit_code == 0, done.output
    cases = json.loads(done.stdout)["cases"]
    assert {one["case"] for one in cases} >= {verdict["case"] for verdict in EXPECTED["verdicts"]}
    assert {one["ratio"] for one in cases} == {1.0}
