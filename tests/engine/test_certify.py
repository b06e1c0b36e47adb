"""What certifying measures, the figures that it finds, and where it stores them."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from scipy import stats as scipy_stats

import commands
import stored
from commands import Call
from places import EXTRAS, FAKE_WORKER_COMMAND
from pyopbench.engine import certify as certify_module
from pyopbench.engine import worker_process
from pyopbench.engine.certify import BASES, CONTROL_SETTINGS, INJECTED, Figure, Trial, certify, controls, figures_of
from pyopbench.judge.decision import Verdict
from pyopbench.model.discover import PATH_VARIABLE
from pyopbench.model.errors import NothingMeasured

call = commands.call
SETTINGS = structs.replace(CONTROL_SETTINGS, launches=12, rounds=4, first_rounds=4, budget_seconds=20.0)
SMALL = (Trial(("double",), (1,), (0, 5), SETTINGS), Trial(("double",), (1,), (10,), SETTINGS))


@pytest.fixture(autouse=True)
def _fake_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers measure nothing, and the search path be somebody's own."""
    cases = [stored.case(name) for name in (*BASES, *controls((0, *INJECTED)))]
    environment = {key: value for key, value in stored.ENVIRONMENT.items() if key not in {"commit", "dirty"}}
    planned = {"cases": list(dict.fromkeys(cases)), "skips": [], "environment": environment}
    planned["catalogue"] = stored.run(cases)["catalogue"]
    (tmp_path / "plan").write_text(json.dumps(planned), encoding="utf-8")
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))
    monkeypatch.setenv(PATH_VARIABLE, str(EXTRAS))


def test_every_pair_of_every_run_is_counted_and_stored_in_its_own_folder(tmp_path: Path) -> None:
    *_, made = certify(tmp_path / "out", SMALL, ("pyopbench", "certify"))
    assert isinstance(made, tuple)
    assert [(one.hits, one.pairs, one.is_kept) for one in made] == [
        (3, 3, True),
        (0, 3, True),
        (0, 1, False),
        (0, 1, False),
    ]
    content = json.loads((tmp_path / "out" / "certificate.json").read_bytes())
    assert [figure["hits"] for figure in content["figures"]] == [3, 0, 0, 0]
    first, second = (stored.read_run(tmp_path / "out" / f"controls-{n}")["settings"] for n in (1, 2))
    assert (first["pairs"], second["pairs"]) == (controls((0, 5)), controls((10,)))
    assert (first["seed"], second["seed"]) == (1, 2)


def test_without_a_control_nothing_is_certified(tmp_path: Path) -> None:
    with pytest.raises(NothingMeasured):
        deque(certify(tmp_path / "out", SMALL[1:], ()))
    assert not (tmp_path / "out" / "certificate.json").exists()


def test_the_command_prints_the_figures_and_fails_where_a_slowdown_was_missed(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certify_module, "QUICK", SMALL)
    done = call("certify", "--quick", "--out", tmp_path / "out")
    assert done.code == 1
    assert "A/A controls, found equivalent  3 of 3 (at least 36.8%)" in done.out
    assert "missed: slowed by 10%, found: 0 of 1" in done.err


VERDICT = Verdict(1.0, 0.99, 1.01, 4, 0.5, "unresolved", case="case", baseline="baseline")


def figures(percent: int, **outcomes: int) -> list[Figure]:
    case = stored.case(next(iter(controls((percent,)))))
    made: list[Any] = [
        replace(VERDICT, outcome=outcome, case=case) for outcome, n in outcomes.items() for _ in range(n)
    ]
    return [figure for figure in figures_of(made) if figure.pairs]


def test_controls_are_told_apart_by_any_difference_and_slowdowns_found_where_they_are_slower() -> None:
    assert not any(one.is_kept for one in figures_of(()))
    same, different = figures(0, faster=1, slower=2, equivalent=30, unresolved=7)
    assert [(one.hits, one.pairs, one.is_kept) for one in (same, different)] == [(30, 40, False), (3, 40, False)]
    # Beta quantiles: https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Clopper-Pearson_interval
    assert same.bound == pytest.approx(scipy_stats.beta.ppf(0.05, 30, 11))
    assert different.bound == pytest.approx(scipy_stats.beta.ppf(0.95, 4, 37))
    (slowed,) = figures(5, faster=1, slower=8, equivalent=1)
    assert (slowed.hits, slowed.bound) == (8, pytest.approx(scipy_stats.beta.ppf(0.05, 8, 3)))
