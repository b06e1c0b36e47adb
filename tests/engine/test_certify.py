"""Certifying from end to end with a worker that measures nothing: all cases take alike, so no slowdown is found."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import stored
from places import EXTRAS, FAKE_WORKER_COMMAND
from pyopbench.engine import certify as module
from pyopbench.engine import start, worker_process
from pyopbench.engine.certificate_extent import BASES, INJECTED, Extent, MainJob, Trial
from pyopbench.engine.certificate_extent import CONTROLS as CONTROL_SETTINGS
from pyopbench.engine.certificate_runs import LEAST_SECONDS, Stage, controls
from pyopbench.engine.certify import certify
from pyopbench.model.case import BASELINE
from pyopbench.model.discover import CONTROLS, PATH_VARIABLE
from pyopbench.model.errors import NothingMeasured
from pyopbench.store import run_folder
from pyopbench.store.certificate import Overhead, find, from_dict
from pyopbench.worker.plan import directions_of, modes_of

SMALL = Extent(
    settings=replace(CONTROL_SETTINGS, launches=3, rounds=4, first_rounds=4),
    trials=(Trial(("double",), (1,), (0, 5), 20.0), Trial(("double",), (1,), (10,), 40.0)),
    job=MainJob(("double",), 20.0),
    times=3,
    seconds=400.0,
)
OVERHEAD = {"overheads": [[2e-5, 2.001e-5]], "timer_seconds": 4e-8, "timer_error_seconds": 1e-9}


def fake_worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers measure nothing, certificates be kept in a folder, and the search path be somebody's own."""
    cases = [stored.case(name) for name in (*BASES, *controls((0, *INJECTED)))]
    environment = {key: value for key, value in stored.ENVIRONMENT.items() if key not in {"commit", "dirty"}}
    plan = {"cases": list(dict.fromkeys(cases)), "skips": [], "environment": environment}
    plan["catalogue"] = stored.run(cases)["catalogue"]
    (folder / "plan").write_text(json.dumps(plan), encoding="utf-8")
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(folder / "plan"))
    monkeypatch.setenv(PATH_VARIABLE, str(EXTRAS))
    monkeypatch.setattr(module, "ask_once", lambda request: OVERHEAD)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(folder / "data"))


@pytest.fixture
def _fake_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_worker(tmp_path, monkeypatch)


def run(folder: Path, tell: Callable[[Stage], None] = lambda stage: None) -> Any:
    return certify(folder, SMALL, quick=True, command=("pyopbench", "certify"), tell=tell)


@dataclass
class Certified:
    """What came of certifying once.

    Attributes:
        folder: what was asked for.
        made, kept: the certificate, and what was kept of it for this machine.
        told: of every step.
        asked: the runs, and the search path of their workers.
        path: the search path afterwards.
    """

    folder: Path
    made: Any = None
    kept: Any = None
    told: list[str] = field(default_factory=list)
    asked: list[tuple[start.Request, str]] = field(default_factory=list)
    path: str = ""


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    found = Certified(tmp_path_factory.mktemp("certified") / "out")
    begin = start.begin

    def record(folder: Path, request: start.Request) -> start.PlannedRun:
        found.asked.append((request, os.environ[PATH_VARIABLE]))
        return begin(folder, request)

    with pytest.MonkeyPatch.context() as monkeypatch:
        fake_worker(found.folder.parent, monkeypatch)
        monkeypatch.setattr(start, "begin", record)
        found.made = run(found.folder, lambda stage: found.told.append(stage.what))
        found.kept, found.path = find(stored.ENVIRONMENT), os.environ[PATH_VARIABLE]
    return found


def test_a_certificate_counts_every_pair_of_every_run_and_is_kept_twice(certified: Certified) -> None:
    made = certified.made
    assert (made.identical.pairs, made.identical.equivalent, made.identical.ratio) == (3, 3, 1.0)
    assert {pairs.percent: pairs.equivalent for pairs in made.injected} == {5: 1, 10: 1}
    assert made.effect == made.effect_90 == 0.0
    assert made.overheads == (Overhead(2e-5, 2.001e-5),)
    assert [(one.launches, one.most) for one in made.controls] == [(3, 3), (3, 3)]
    assert (made.mode, made.undone) == ("node", ())
    assert (made.decisions.runs, made.decisions.decisions, made.decisions.renamed) == (3, 1, ())
    assert certified.kept is not None
    assert from_dict(certified.kept) == made
    assert from_dict(json.loads((certified.folder / "certificate.json").read_text())) == made
    assert [what for what in dict.fromkeys(certified.told) if "planning" in what] == [
        "decisions-1: planning", "controls-1: planning", "decisions-2: planning", "controls-2: planning",
        "decisions-3: planning",
    ]  # fmt: skip


def test_runs_of_controls_are_kept_with_their_pairs_and_seeds(certified: Certified) -> None:
    first, second = (run_folder.read_run(certified.folder / f"controls-{n}")["settings"] for n in (1, 2))
    assert first["pairs"] == controls((0, 5))
    assert second["pairs"] == controls((10,))
    assert (first["seed"], second["seed"]) == (1, 2)
    assert (first["budget_seconds"], second["budget_seconds"]) == (20.0, 40.0)
    decisions = run_folder.read_run(certified.folder / "decisions-2")["settings"]
    assert "pairs" not in decisions
    assert {**decisions, "seed": 0} == {
        **asdict(start.QUICK), "quick": True, "baseline": BASELINE, "budget_seconds": SMALL.job.seconds
    }  # fmt: skip


def test_controls_are_measured_as_the_main_job_measures(certified: Certified) -> None:
    _, twins, _, slowed, job = (request.axes for request, _ in certified.asked)
    assert modes_of(job) == twins.modes == slowed.modes == ("node",)
    assert directions_of(job, "node") == twins.directions == slowed.directions
    assert job.quick
    assert "native_twin" in twins.variants
    assert not [name for name in slowed.variants if name.startswith("native")]
    assert certified.asked[1][0].baseline in twins.variants


def test_workers_find_controls_only_while_controls_are_measured(certified: Certified) -> None:
    own = str(EXTRAS)
    assert [path for _, path in certified.asked] == [own, str(CONTROLS), own, str(CONTROLS), own]
    assert certified.path == own


@pytest.mark.usefixtures("_fake_worker")
def test_nothing_is_kept_without_identical_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slowed = replace(SMALL, trials=SMALL.trials[1:], times=0)
    monkeypatch.setattr(sys.modules[__name__], "SMALL", slowed)
    with pytest.raises(NothingMeasured) as refused:
        run(tmp_path / "out")
    assert refused.value.received == f"{tmp_path / 'out'}: 1 run of controls"
    assert find(stored.ENVIRONMENT) is None
    assert not (tmp_path / "out" / "certificate.json").exists()


@pytest.mark.usefixtures("_fake_worker")
def test_a_slow_machine_still_gets_identical_pairs_and_the_rest_is_said_to_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SMALL", replace(SMALL, seconds=0.0))
    made = run(tmp_path / "out")
    assert made.identical.pairs == 3
    assert made.undone == ("decisions-1", "decisions-2", "controls-2", "decisions-3")
    assert (made.decisions, made.run_effect) == (None, None)
    settings = run_folder.read_run(tmp_path / "out" / "controls-1")["settings"]
    assert settings["budget_seconds"] == LEAST_SECONDS
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["certificate.json", "controls-1"]
