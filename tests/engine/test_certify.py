"""What a certificate measures, and the figures that it holds."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats as scipy_stats

import stored
from frames import Bench, run_of
from places import EXTRAS, FAKE_WORKER_COMMAND
from pyopbench.engine import certify as certify_module
from pyopbench.engine import plan as planning
from pyopbench.engine import settings, worker_process
from pyopbench.engine import settings as usual
from pyopbench.engine.certify import (
    BASES,
    CONTROL_SETTINGS,
    DIRECTIONS,
    FULL,
    INJECTED,
    LEAST_SECONDS,
    PLAN_SECONDS,
    QUICK,
    Extent,
    MainJob,
    Stage,
    Trial,
    certify,
    controls,
    upper_bound,
)
from pyopbench.judge.decision import Verdict
from pyopbench.judge.judge import judge_run
from pyopbench.model.case import BASELINE
from pyopbench.model.discover import CONTROLS, PATH_VARIABLE
from pyopbench.model.errors import NothingMeasured
from pyopbench.store.certificate import GivenAnswer, Loss, Overhead, find, read_certificate
from pyopbench.store.promises import MOST_FALSE_BOUND
from pyopbench.store.run_folder import OpenSide
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
    monkeypatch.setattr(certify_module, "ask_once", lambda request: OVERHEAD)
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
    asked: list[tuple[planning.Request, str]] = field(default_factory=list)
    path: str = ""


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    found = Certified(tmp_path_factory.mktemp("certified") / "out")
    begin = planning.begin

    def record(folder: Path, request: planning.Request) -> OpenSide:
        found.asked.append((request, os.environ[PATH_VARIABLE]))
        return begin(folder, request)

    with pytest.MonkeyPatch.context() as monkeypatch:
        fake_worker(found.folder.parent, monkeypatch)
        monkeypatch.setattr(planning, "begin", record)
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
    assert certified.kept == made
    assert read_certificate((certified.folder / "certificate.json").read_bytes(), certified.folder) == made
    assert [what for what in dict.fromkeys(certified.told) if "planning" in what] == [
        "decisions-1: planning", "controls-1: planning", "decisions-2: planning", "controls-2: planning",
        "decisions-3: planning",
    ]  # fmt: skip


def test_runs_of_controls_are_kept_with_their_pairs_and_seeds(certified: Certified) -> None:
    first, second = (stored.read_run(certified.folder / f"controls-{n}")["settings"] for n in (1, 2))
    assert first["pairs"] == controls((0, 5))
    assert second["pairs"] == controls((10,))
    assert (first["seed"], second["seed"]) == (1, 2)
    assert (first["budget_seconds"], second["budget_seconds"]) == (20.0, 40.0)
    decisions = stored.read_run(certified.folder / "decisions-2")["settings"]
    assert "pairs" not in decisions
    assert {**decisions, "seed": 0} == {
        **asdict(usual.QUICK), "quick": True, "baseline": BASELINE, "budget_seconds": SMALL.job.seconds
    }  # fmt: skip


def test_controls_are_measured_as_the_main_job_measures(certified: Certified) -> None:
    _, twins, _, slowed, job = (request.axes for request, _ in certified.asked)
    assert modes_of(job, "cpu") == twins.modes == slowed.modes == ("node",)
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
    settings = stored.read_run(tmp_path / "out" / "controls-1")["settings"]
    assert settings["budget_seconds"] == LEAST_SECONDS
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["certificate.json", "controls-1"]


def planned(extent: Extent) -> dict[int, int]:
    return {
        percent: sum(
            len(trial.ops) * len(trial.sizes) * len(controls((percent,))) * len(DIRECTIONS)
            for trial in extent.trials
            if percent in trial.percents
        )
        for percent in (0, *INJECTED)
    }


@pytest.mark.parametrize(("extent", "pairs", "slowed", "minutes"), [(FULL, 72, 12, 62), (QUICK, 24, 2, 6)])
def test_enough_pairs_are_planned_within_the_time(extent: Extent, pairs: int, slowed: int, minutes: int) -> None:
    found = planned(extent)
    assert found[0] >= pairs
    assert min(found[percent] for percent in INJECTED) >= slowed
    seconds = sum(trial.seconds for trial in extent.trials) + extent.times * extent.job.seconds
    assert seconds + len(list(extent.stages())) * PLAN_SECONDS <= extent.seconds <= minutes * 60


def test_a_full_one_has_enough_pairs_to_show_what_is_promised_of_them() -> None:
    """Of 72 pairs of which none is told apart at most 4.1% are, with 95% confidence."""
    assert upper_bound(0, planned(FULL)[0]) <= MOST_FALSE_BOUND


def test_there_is_time_for_every_launch_of_every_group() -> None:
    settings = FULL.settings
    assert settings.until == "end"
    assert settings.first_rounds == settings.rounds, "all rounds of a launch before the next one is begun"
    for trial in FULL.trials:
        groups = len(trial.ops) * len(trial.sizes) * len(DIRECTIONS)
        seconds = settings.group_seconds if 0 in trial.percents else settings.rounds * 0.005  # four cases, not seven
        assert settings.launches * groups * seconds < trial.seconds


def test_a_full_one_repeats_the_whole_main_job_three_times() -> None:
    assert (FULL.job.ops, FULL.times) == ((), 3)
    assert FULL.job.seconds == usual.QUICK.budget_seconds


def test_the_main_job_is_spread_between_the_controls() -> None:
    names = [f"{stage.name}-{number}" for number, stage in FULL.stages()]
    assert names == [
        "decisions-1", "controls-1", "controls-2", "decisions-2", "controls-3", "decisions-3",
    ]  # fmt: skip
    assert [stage.name for _, stage in replace(FULL, times=0).stages()] == ["controls"] * 3
    assert [stage.name for _, stage in replace(FULL, times=1).stages()] == ["decisions", *["controls"] * 3]


@pytest.mark.parametrize("extent", [FULL, QUICK])
def test_identical_pairs_come_first(extent: Extent) -> None:
    assert extent.trials[0].percents == (0,)


SMALL_EXTENT = Extent(
    settings=settings.QUICK,
    trials=(Trial(("double",), (1,), (0, 5), 20.0), Trial(("double",), (1,), (10,), 40.0)),
    job=MainJob(("double",), 20.0),
    times=3,
    seconds=400.0,
)


def work(monkeypatch: pytest.MonkeyPatch, left: float) -> certify_module.Work:
    monkeypatch.setattr(certify_module.time, "monotonic", lambda: 0.0)
    return certify_module.Work(Path(), SMALL_EXTENT, (), left, lambda stage: None)


def test_controls_share_what_the_main_job_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """They ask for 20 s and 40 s, and 45 are left once planning and two runs of the main job are taken off."""
    first, second = SMALL_EXTENT.trials
    stages = [first, SMALL_EXTENT.job, second, SMALL_EXTENT.job]
    spare = len(stages) * certify_module.PLAN_SECONDS + 2 * SMALL_EXTENT.job.seconds
    assert work(monkeypatch, spare + 45.0).budget(stages) == pytest.approx(15.0)
    assert work(monkeypatch, spare + 45.0).budget(stages[2:]) == pytest.approx(40.0)
    assert work(monkeypatch, certify_module.PLAN_SECONDS + 14.0).budget([second]) is None


def test_a_machine_that_takes_long_to_plan_is_planned_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of the usual time are assumed, and one was seen to take four times as long."""
    plan, slow = certify_module.PLAN_SECONDS, work(monkeypatch, 0.0)
    assert slow.plan_seconds == plan
    slow.planning.append(4 * plan)
    assert slow.plan_seconds == 2 * plan
    later = replace(slow, deadline=2 * plan + 16.0)
    assert later.budget([SMALL_EXTENT.job]) == pytest.approx(16.0)


def test_the_main_job_keeps_its_budget_or_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = certify_module.PLAN_SECONDS
    assert work(monkeypatch, plan + 100.0).budget([SMALL_EXTENT.job]) == SMALL_EXTENT.job.seconds
    assert work(monkeypatch, plan + 16.0).budget([SMALL_EXTENT.job]) == pytest.approx(16.0)
    assert work(monkeypatch, plan + 14.0).budget([SMALL_EXTENT.job]) is None


VERDICT = Verdict("case", "baseline", 1.0, 0.99, 1.01, 4, 0.5, "unresolved")


def verdicts(**outcomes: int) -> list[Verdict]:
    made: list[Any] = [replace(VERDICT, outcome=outcome) for outcome, n in outcomes.items() for _ in range(n)]
    return [replace(one, ratio=1.0 + place / 100) for place, one in enumerate(made)]


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 1_080), (10, 10), (57, 60)])
def test_bounds_are_those_of_scipy(hits: int, n: int) -> None:
    above = scipy_stats.binomtest(hits, n, alternative="less").proportion_ci(0.95, method="exact")
    below = scipy_stats.binomtest(hits, n, alternative="greater").proportion_ci(0.95, method="exact")
    assert certify_module.upper_bound(hits, n) == pytest.approx(above.high)
    assert certify_module.lower_bound(hits, n) == pytest.approx(below.low)


def test_nothing_is_known_from_no_pairs() -> None:
    assert (certify_module.lower_bound(0, 0), certify_module.upper_bound(0, 0)) == (0.0, 1.0)
    empty = certify_module.count([], 0)
    assert (empty.pairs, empty.ratio, empty.bound) == (0, None, 1.0)


def test_false_verdicts_among_identical_pairs_are_those_that_say_any_difference() -> None:
    found = certify_module.count(verdicts(faster=1, slower=2, equivalent=30, unresolved=7), 0)
    assert (found.pairs, found.faster, found.slower, found.equivalent, found.unresolved) == (40, 1, 2, 30, 7)
    assert (found.hits, found.share, found.equivalent_share) == (3, 3 / 40, 30 / 40)
    assert found.equivalent_bound == certify_module.lower_bound(30, 40)
    assert found.bound == certify_module.upper_bound(3, 40)
    assert found.ratio == pytest.approx(1.195)


def test_slowdowns_are_found_where_they_are_called_slower() -> None:
    found = certify_module.count(verdicts(faster=1, slower=8, equivalent=1), 5)
    assert (found.hits, found.share) == (8, 0.8)
    assert found.bound == certify_module.lower_bound(8, 10)


def test_a_pair_that_one_launch_measured_has_no_verdict_to_count() -> None:
    assert certify_module.count([VERDICT, replace(VERDICT, launches=1)], 0).pairs == 1


def test_the_smallest_effect_is_half_the_corrected_interval() -> None:
    """Two pairs have no usual spread: each has the t interval of its own five launches, whatever runs share besides."""
    curves = {"py_function_numpy": 1e-5, "native": 1e-5, "xla": 2e-5}
    judged = judge_run(run_of(Bench(curves, sizes=(10,), launches=5)))
    assert len(judged.verdicts) == 2
    expected = []
    for verdict, estimate in zip(judged.verdicts, judged.estimates, strict=True):
        standard_error = (verdict.high - verdict.low) / 2 / scipy_stats.t.ppf(0.975, estimate.degrees)
        expected.append(scipy_stats.t.ppf(1 - 0.05 / 2 / 2, estimate.degrees) * standard_error)
    assert certify_module.smallest_effects(judged) == pytest.approx(expected)


def test_pairs_without_an_interval_have_no_smallest_effect() -> None:
    curves = {"py_function_numpy": 1e-5, "native": 1e-5}
    assert certify_module.smallest_effects(judge_run(run_of(Bench(curves, launches=1)))) == []
    assert certify_module.smallest_effects(judge_run(run_of())) == []


def test_a_quantile_is_a_value_that_was_seen() -> None:
    values = [float(value) for value in range(10, 0, -1)]
    assert (certify_module.quantile(values, 0.5), certify_module.quantile(values, 0.9)) == (5.0, 9.0)
    assert certify_module.quantile([7.0], 0.9) == 7.0
    assert certify_module.quantile([], 0.5) is None


def test_decisions_are_valued_by_the_other_runs_and_named_with_every_answer() -> None:
    """In the first run native leaves a tenth of the current time, in the second it takes ten times as long as today."""
    curves = {"py_function_numpy": 1e-4, "native": 1e-5}
    fast = judge_run(run_of(Bench(curves, op="sinh"), Bench(curves, op="log")))
    slow = judge_run(run_of(Bench({**curves, "native": 1e-3}, op="sinh"), Bench(curves, op="log")))
    same = certify_module.decisions_of([fast, fast])
    assert same is not None
    assert (same.runs, same.decisions, same.renamed, same.unbounded, same.covered) == (2, 2, (), 0, 1.0)
    found = certify_module.decisions_of([fast, slow])
    assert found is not None
    (renamed,) = found.renamed
    assert (renamed.op, renamed.use) == ("sinh", "inference")
    assert renamed.answers == (GivenAnswer("port", "native"), GivenAnswer("keep", None))
    assert found.worst == Loss("sinh", "inference", pytest.approx(9.0, rel=0.1))
    assert found.mean_loss == pytest.approx((9.0 + 0.9) / 4, rel=0.1)
    assert found.unbounded == 2


def test_one_run_says_nothing_of_how_answers_repeat() -> None:
    assert certify_module.decisions_of([]) is None
    assert certify_module.decisions_of([judge_run(run_of(Bench({"py_function_numpy": 1e-4, "native": 1e-5})))]) is None
