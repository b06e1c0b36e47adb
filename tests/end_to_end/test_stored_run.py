"""A run that an earlier version stored is still read, judged, reported and compared.

`expected.json` has what the version that stored the run made of it: ratios of logarithms, geometric means over rounds
and launches. Within a run shares of the current time are judged now, which have plain means, so that the numbers are
not the same to the last digit; both are computed here from the stored samples themselves. They are no expectation of
durations. tests/data/stored_run/README.md says where they are from.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from places import DATA
from pyopbench.cli import app
from pyopbench.judge import judge
from pyopbench.judge.decision import Verdict
from pyopbench.judge.judge import Judgement, Judging

FOLDER = DATA / "stored_run"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def judgement() -> Judgement:
    return judge.judge([FOLDER], Judging(EXPECTED["baseline"], EXPECTED["minimum_effect"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "run"))


@pytest.fixture(scope="module")
def samples() -> dict[str, dict[int, dict[int, float]]]:
    """Seconds per call of each case, by launch and round, out of the file."""
    found: dict[str, dict[int, dict[int, float]]] = {}
    for text in (FOLDER / "samples.jsonl").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        for case, blocks in line.get("samples", {}).items():
            rounds = {int(place): seconds / calls for place, _, calls, seconds in blocks}
            found.setdefault(case, {})[line["launch"]] = rounds
    return found


def ratios(samples: dict[str, dict[int, dict[int, float]]], verdict: Verdict) -> list[np.ndarray]:
    """Return the ratios to the baseline by round, one array for each launch."""
    case, baseline = samples[verdict.case], samples[verdict.baseline]
    return [
        np.array([seconds / baseline[launch][place] for place, seconds in rounds.items()])
        for launch, rounds in case.items()
    ]


def test_every_verdict_is_on_the_ratio_that_it_was_on(
    judgement: Judgement, samples: dict[str, dict[int, dict[int, float]]]
) -> None:
    """Then e to the mean of medians of logs, now a weighted mean of medians: those of two launches differ by 4%."""
    assert [one.case for one in judgement.verdicts] == [one["case"] for one in EXPECTED["verdicts"]]
    for old, new in zip(EXPECTED["verdicts"], judgement.verdicts, strict=True):
        by_launch = ratios(samples, new)
        assert len(by_launch) == new.launches == 2
        assert old["ratio"] == pytest.approx(np.exp(np.mean([np.median(np.log(one)) for one in by_launch])), rel=1e-9)
        assert new.ratio == pytest.approx(old["ratio"], rel=0.04)


def test_no_verdict_contradicts_what_was_found(judgement: Judgement) -> None:
    """What was resolved is as it was; some more are, because each spread is moved towards its own prediction."""
    pairs = [(old["outcome"], new.outcome) for old, new in zip(EXPECTED["verdicts"], judgement.verdicts, strict=True)]
    assert {"faster", "slower", "unresolved"} == {old for old, _ in pairs}
    assert all(old in (new, "unresolved") for old, new in pairs)
    for old, new in zip(EXPECTED["verdicts"], judgement.verdicts, strict=True):
        assert new.low < old["high"]
        assert old["low"] < new.high


def test_every_decision_saves_what_it_gained(judgement: Judgement) -> None:
    """A gain of g saves 1 - 1 / g. Where another answer is given now, it saves clearly more than the old one."""
    changed = {}
    for old, new, (_, made) in zip(EXPECTED["decisions"], judgement.decisions, judgement.choices, strict=True):
        assert (new.op, new.use) == (old["op"], old["use"])
        assert made is not None
        saved = {gain.label: gain.saved for gain in made[0].gains}
        label = old["choice"] or max(saved, key=lambda one: saved[one])
        assert saved[label] == pytest.approx(1 - 1 / old["gain"], abs=0.01)
        if (new.action, new.choice) != (old["action"], old["choice"]):
            changed[new.op, new.use] = (old["choice"], new.choice)
            assert new.choice is not None
            assert old["choice"] is None or saved[new.choice] > saved[label] + 2 * EXPECTED["minimum_effect"]
    # Undecided then: its interval was many times as wide as the launches scatter. And least effort was taken, because
    # two launches could not prove that 16 points more are saved; what the data cannot prove is no reason now.
    assert changed == {("log_huber", "training"): (None, "xla"), ("sinh", "training"): ("numpy_function", "xla")}


def test_everything_in_it_is_read(judgement: Judgement) -> None:
    run = judgement.run
    assert len(run.launches) == 2
    assert run.checked
    assert not run.noise.empty
    assert not run.costs.frame.empty
    assert run.failures == ()
    assert run.warnings == ()


def test_it_is_reported_and_the_files_of_the_report_are_made(folder: Path) -> None:
    done = CliRunner().invoke(app.app, ["report", str(folder), "--quiet"])
    assert done.exit_code == 0, done.output
    decisions = json.loads((folder / "decisions.json").read_text(encoding="utf-8"))["decisions"]
    assert [(one["op"], one["use"]) for one in decisions] == [(one["op"], one["use"]) for one in EXPECTED["decisions"]]
    assert "sinh" in (folder / "report.md").read_text(encoding="utf-8")
    assert (folder / "report.html").stat().st_size > 0


def test_it_is_compared_and_is_no_slower_than_itself(folder: Path) -> None:
    done = CliRunner().invoke(app.app, ["compare", str(FOLDER), str(folder), "--json"])
    assert done.exit_code == 0, done.output
    cases = json.loads(done.stdout)["cases"]
    assert {one["case"] for one in cases} >= {verdict["case"] for verdict in EXPECTED["verdicts"]}
    assert {one["ratio"] for one in cases} == {1.0}
