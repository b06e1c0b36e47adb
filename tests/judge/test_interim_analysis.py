"""What is measured further, and how far a run has come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from scipy import special

from frames import Bench, run_of
from pyopbench.judge.choice import Rules, choose
from pyopbench.judge.decision import Verdict
from pyopbench.judge.interim_analysis import interim_analysis_of, open_labels
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.judge.program import even_mix
from pyopbench.model.case import Case, Failure
from shares import candidate, contrasts_by_hand, spread

BASELINE = "py_function_numpy"
SIZES = (1_000, 10_000)
QUIET = {"between": 0.002, "within": 0.002}
NOISY = {"between": 0.05, "within": 0.01}


def judged(curves: dict[str, Any], launches: int = 4, sizes: tuple[int, ...] = SIZES, **noise: float) -> Judgement:
    return judge_run(run_of(Bench({BASELINE: 1e-4, **curves}, launches=launches, sizes=sizes, **noise)))


def case(variant: str, size: int, op: str = "sinh") -> str:
    return Case(op, variant, "none", "forward", "call", "float32", size).id


def unresolved(judgement: Judgement, *needed: int | None) -> Judgement:
    """Return the judgement without comparisons, with its first verdicts unresolved until so many launches."""
    verdicts: list[Verdict] = list(judgement.verdicts)
    for place, launches in enumerate(needed):
        verdicts[place] = replace(verdicts[place], outcome="unresolved", fewest=launches)
    return replace(judgement, verdicts=tuple(verdicts), choices=())


def test_nothing_goes_on_when_everything_is_resolved() -> None:
    seen = interim_analysis_of(judged({"native": 5e-5, "numpy_function": 2e-4}, **QUIET), 4, 24)
    assert (seen.open, seen.text) == (frozenset(), "after 4 launches: 4 of 4 verdicts resolved; done")


@pytest.mark.parametrize(("needed", "goes_on"), [(9, False), (8, True), (5, True), (3, True), (None, False)])
def test_a_verdict_goes_on_with_its_baseline_while_it_is_within_reach(needed: int | None, goes_on: bool) -> None:
    judgement = unresolved(judged({"native": 5e-5, "numpy_function": 2e-4}, **QUIET), needed)
    first = judgement.verdicts[0]
    seen = interim_analysis_of(judgement, 4, 8)
    assert seen.open == (frozenset({first.case, first.baseline}) if goes_on else frozenset())


def with_settings(judgement: Judgement, **settings: Any) -> Judgement:
    run = judgement.run
    return replace(judgement, run=type(run)(**{**vars(run), "settings": structs.replace(run.settings, **settings)}))


def with_open_verdicts(judgement: Judgement, *fewest: int | None) -> Judgement:
    """Return the judgement with its decisions, and with its first verdicts unresolved until so many launches."""
    return replace(judgement, verdicts=unresolved(judgement, *fewest).verdicts)


def test_until_answers_are_decided_a_run_goes_on_for_answers_alone() -> None:
    judgement = with_open_verdicts(judged({"native": 5e-5, "numpy_function": 2e-4}, **QUIET), 8, None)
    seen = interim_analysis_of(with_settings(judgement, until="resolved"), 4, 8)
    assert seen.open == {judgement.verdicts[0].case, judgement.verdicts[0].baseline}
    seen = interim_analysis_of(with_settings(judgement, until="decided"), 4, 8)
    assert seen.open == frozenset()


def test_where_there_is_nothing_to_decide_the_comparisons_are_what_is_asked_for() -> None:
    judgement = unresolved(judged({"native": 5e-5, "numpy_function": 2e-4}, **QUIET), 8, None)
    assert not judgement.choices
    seen = interim_analysis_of(with_settings(judgement, until="decided"), 4, 8)
    assert seen.open == {judgement.verdicts[0].case, judgement.verdicts[0].baseline}


def test_of_backward_passes_alone_nothing_is_decided_so_that_they_go_on_until_resolved() -> None:
    """An answer is about inference or training; a backward pass is a part of training."""
    bench = Bench({BASELINE: 1e-4, "native": 0.97e-4}, launches=4, rounds=6, within=0.05, directions=("backward",))
    judgement = with_settings(judge_run(run_of(bench)), until="decided", rounds=450)
    assert [verdict.outcome for verdict in judgement.verdicts] == ["unresolved"] * len(judgement.verdicts)
    assert {verdict.case for verdict in judgement.verdicts} <= interim_analysis_of(judgement, 4, 8).open


def test_until_comparisons_are_resolved_open_answers_take_nothing_from_them() -> None:
    """Of two ports one may be the answer, so that both are open; that of the other op's callback is resolved alone."""
    curves = {"numpy_function": 5e-4, "native": 0.097e-3}
    judgement = judged(curves, launches=3, between=0.02, within=0.001)
    resolved = [verdict for verdict in judgement.verdicts if Case.from_id(verdict.case).variant == "numpy_function"]
    place = judgement.verdicts.index(resolved[0])
    verdicts = [*judgement.verdicts]
    verdicts[place] = replace(verdicts[place], outcome="unresolved", fewest=4)
    judgement = replace(judgement, verdicts=tuple(verdicts))
    decided = interim_analysis_of(with_settings(judgement, until="decided"), 3, 24).open
    both = interim_analysis_of(with_settings(judgement, until="resolved"), 3, 24).open
    assert case("native", 1_000) in decided
    assert verdicts[place].case in both - decided


@pytest.mark.parametrize(("rounds", "goes_on"), [(5, False), (10, False), (11, True), (40, True)])
def test_a_verdict_goes_on_while_further_rounds_could_do_what_launches_cannot(rounds: int, goes_on: bool) -> None:
    """Four launches of five rounds; of at most eight, seventeen launches of as many rounds would do: 85 rounds."""
    judgement = unresolved(judged({"native": 5e-5, "numpy_function": 2e-4}, launches=4, **QUIET), 17)
    assert set(judgement.run.frame.groupby(["case", "launch"]).size()) == {5}
    seen = interim_analysis_of(with_settings(judgement, rounds=rounds), 4, 8)
    assert bool(seen.open) == goes_on


@pytest.mark.parametrize(("rounds", "is_shown"), [(6, False), (450, True)])
def test_identical_code_goes_on_after_few_noisy_rounds_and_is_shown_equal_after_many(
    rounds: int, is_shown: bool
) -> None:
    """Blocks that differ by 5%: four launches of six rounds cannot show that copies differ by less than 3%."""
    copies = {BASELINE: 1e-4, "py_function": 1e-4, "numpy_function": 1e-4, "py_func": 1e-4}
    judgement = judge_run(run_of(Bench(copies, launches=4, rounds=rounds, sizes=SIZES, within=0.05, between=0.0005)))
    seen = interim_analysis_of(with_settings(judgement, until="resolved", rounds=450), 4, 8)
    open_ = {verdict.case for verdict in judgement.verdicts if verdict.outcome == "unresolved"}
    assert len(open_) == (0 if is_shown else 6)
    assert open_ <= seen.open


def test_rounds_may_go_on_after_the_last_launch() -> None:
    judgement = unresolved(judged({"native": 5e-5}, launches=8, **QUIET), 5, 4)
    assert interim_analysis_of(with_settings(judgement, rounds=5), 8, 8).open == frozenset()
    assert interim_analysis_of(with_settings(judgement, rounds=6), 8, 8).open


def test_what_is_missing_counts_from_the_launches_of_the_case_itself() -> None:
    """A case that was left out of some launches, because it seemed resolved, has fewer behind it."""
    judgement = unresolved(judged({"native": 5e-5}, launches=4, **QUIET), 7)
    assert not interim_analysis_of(judgement, 6, 8).open
    assert interim_analysis_of(judgement, 6, 9).open


def test_one_launch_asks_for_a_second() -> None:
    judgement = judged({"native": 5e-5}, launches=1)
    assert case("native", 1_000) in interim_analysis_of(judgement, 1, 2).open


def test_a_verdict_whose_case_or_baseline_has_failed_does_not_go_on() -> None:
    judgement = unresolved(judged({"native": 5e-5, "numpy_function": 2e-4}, **QUIET), 6, 6, 6, 6)
    for variant in ("native", BASELINE):
        run = judgement.run
        failure = Failure(case(variant, 1_000), "crashed", "signal 11", 3)
        changed = replace(judgement, run=type(run)(**{**vars(run), "failures": (failure,)}))
        going = interim_analysis_of(changed, 4, 8).open
        assert case(variant, 1_000) not in going
        assert case("numpy_function", 10_000) in going


def decisions_only(judgement: Judgement) -> Judgement:
    return replace(judgement, verdicts=())


def test_a_candidate_that_is_open_goes_on_at_all_sizes_of_the_mix_with_its_baseline() -> None:
    """It is faster at one size and slower at the other: each verdict is clear, and what is saved over both is not."""
    curve = {1_000: 0.5e-4, 10_000: 1.438e-4}
    judgement = decisions_only(judged({"native": curve}, launches=4, between=0.006, within=0.001))
    ((_, made),) = judgement.choices
    assert made is not None
    assert [gain.label for gain in made[0].open] == ["native"]
    assert interim_analysis_of(judgement, 4, 60).open == {
        case(name, size) for name in ("native", BASELINE) for size in SIZES
    }


def test_what_may_be_the_best_goes_on_and_what_cannot_be_the_answer_does_not() -> None:
    """Two leave about a tenth of the time, give or take a fifth of that; which leaves less is open. One leaves half."""
    curves = {"numpy_function": 0.10e-4, "native": 0.09e-4, "autograph": 5e-5}
    judgement = decisions_only(judged(curves, launches=3, between=0.2, within=0.001, seed=1))
    assert judgement.decisions[0].action in ("switch", "port")
    going = {Case.from_id(key).variant for key in interim_analysis_of(judgement, 3, 60).open}
    assert going == {"numpy_function", "native", BASELINE}


def test_a_decision_over_a_mix_takes_only_the_sizes_that_the_mix_draws_on() -> None:
    bench = Bench({BASELINE: 1e-4, "native": 0.96e-4}, sizes=(10, 1_000, 10_000), launches=4, between=0.006)
    judgement = decisions_only(judge_run(run_of(bench), mix={1_000: 1.0}))
    assert {Case.from_id(key).size for key in interim_analysis_of(judgement, 4, 24).open} == {1_000}


def test_a_candidate_that_failed_at_a_size_of_the_mix_does_not_keep_a_run_going() -> None:
    judgement = decisions_only(judged({"native": 0.97e-4}, launches=4, between=0.01))
    assert interim_analysis_of(judgement, 4, 900).open
    run = judgement.run
    failure = Failure(case("native", 1_000), "timeout", "no answer", 2)
    changed = replace(judgement, run=type(run)(**{**vars(run), "failures": (failure,)}))
    assert interim_analysis_of(changed, 4, 900).open == frozenset()


def test_cases_without_a_baseline_have_no_verdict_and_keep_nothing_going() -> None:
    judgement = judge_run(run_of(Bench({"native": 1e-4, "numpy_function": 1e-4}, launches=4, **NOISY)))
    seen = interim_analysis_of(judgement, 4, 24)
    assert seen.open == frozenset()


# Which labels of a choice could still be the answer
def labels(shares: dict[str, list[float]], efforts: dict[str, float] | None = None, **rules: Any) -> set[str]:
    contrasts = contrasts_by_hand({label: {10: values} for label, values in shares.items()})
    given = [candidate(contrasts, label, (efforts or {}).get(label, 1.0)) for label in shares]
    return open_labels(choose(given, contrasts, even_mix((10,)), Rules(0.03, **rules)))


def exactly(share: float) -> list[float]:
    return [share] * 4


@pytest.mark.parametrize(
    ("shares", "rules", "open_"),
    [
        ({}, {}, set()),
        ({"native": exactly(0.10), "xla": exactly(0.50)}, {}, set()),
        # A third of the minimum effect of 3 points is a point: the easy one costs 0.9 more than the best, or 1.1.
        ({"best": exactly(0.10), "easy": exactly(0.109)}, {"efforts": {"best": 2.0}}, set()),
        ({"best": exactly(0.10), "easy": exactly(0.111)}, {"efforts": {"best": 2.0}}, {"best", "easy"}),
        # 4 points saved, 3 or 5: named, or kept, costs next to nothing; whether it is worth it is what is asked.
        ({"native": spread(0.965, 0.002)}, {}, {"today", "native"}),
        ({"native": spread(0.97, 0.02)}, {}, {"today", "native"}),
        ({"native": [0.10], "xla": [0.90]}, {}, {"today", "native", "xla"}),
        ({"native": exactly(0.10), "xla": spread(0.12, 0.02)}, {"must_change": True}, {"native", "xla"}),
    ],
)
def test_open_is_what_could_still_be_the_answer(
    shares: dict[str, list[float]], rules: dict[str, Any], open_: set[str]
) -> None:
    assert labels(shares, **rules) == open_


def test_open_is_what_could_be_named_if_luck_has_been_bad() -> None:
    """What lags by up to 6 points could be named: of the best by 2, 10 and 20 points with errors of 2, and by 8."""
    unsure = {name: spread(0.10 + lag, 0.02) for name, lag in (("rival", 0.02), ("near", 0.10), ("far", 0.20))}
    reach = float(special.stdtrit(3, 0.95 ** (1 / 5))) * 0.02
    assert 0.10 - reach < 0.06 < 0.20 - reach
    assert labels({"best": exactly(0.10), "sure": exactly(0.18), **unsure}) == {"best", "rival", "near"}
