"""The judgement of a suspected change by the search for commits, and what a search says of its steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import stored
from histories import KEYS
from pairs import write_run
from pyopbench.judge.comparison import bisection
from pyopbench.judge.comparison.bisection import (
    CommitLaunches,
    CommitSearch,
    _choose_commits,
    each_once,
    read_launches,
    run_searches,
)
from pyopbench.judge.comparison.changes import Bisected, FoundChange, Rerun
from pyopbench.model.side import HERE, Environment
from pyopbench.stats.step_search import StepSearch
from pyopbench.store import run_sides
from revision_runs import write_revisions

COMMITS = [f"{number:040x}" for number in range(9)]


def change(before: int, after: int) -> FoundChange:
    rerun = Rerun("pyopbench", "commit", COMMITS[before], COMMITS[after], ("op.py",), ("case",))
    labels = dict.fromkeys(("before", "first"), COMMITS[before]) | dict.fromkeys(("after", "last"), COMMITS[after])
    return FoundChange(0, after, **labels, ratio=1.1, low=1.05, high=1.15, status="suspected", rerun=rerun)


@pytest.mark.parametrize(
    ("ends", "step", "status"),
    [((0, 8), 0.0, "refuted"), ((0, 1), 0.1, "confirmed"), ((0, 1), -0.1, "refuted"), ((2, 4), 0.0, "suspected")],
)
def test_a_search_judges_a_change_if_it_launched_both_ends(ends, step, status):
    places = [0, 1, 8]
    search = StepSearch(set(places), 0.03)
    search.blocks += [[(place, step * (place > 0) + 1e-4 * number * place) for place in places] for number in range(4)]
    found = change(*ends)
    commit_search = CommitSearch(0, "case", COMMITS, [found], search)
    search.next_block()
    assert commit_search.judged(found, Path("reruns")).status == status


def search_of(*blocks: list[tuple[int, float]], ends: tuple[int, int] = (0, 8)) -> CommitSearch:
    found = CommitSearch(0, "case", COMMITS, [], StepSearch(set(ends), 0.03), [ends], set(ends))
    found.add(CommitLaunches([[(COMMITS[place], value) for place, value in block] for block in blocks]))
    return found


def test_a_commit_is_named_only_if_it_is_certain() -> None:
    """Of two neighbours with noisy launches the step is probable, and no slowdown is reported for it."""
    noisy = [[(0, 0.0), (1, step)] for step in (0.14, 0.10, 0.14)]
    (probable,) = search_of(*noisy, ends=(0, 1)).bisected()
    assert (probable.left, probable.is_certain, probable.is_slower) == ((COMMITS[1],), False, False)
    clear = [[(0, 0.0), (1, 0.1), (0, 0.001)], [(0, 0.0), (1, 0.101), (0, 0.0)]] * 3
    (certain,) = search_of(*clear, ends=(0, 1)).bisected()
    assert (certain.left, certain.is_certain, certain.is_slower) == ((COMMITS[1],), True, True)
    assert probable.text() != certain.text()


def test_one_launch_of_a_side_names_no_commit() -> None:
    """However clear it is: it may have been disturbed."""
    ends = [[(0, 0.0), (2, 0.5)], [(0, 0.001), (2, 0.5)]] * 3
    middle = [(0, 0.0), (1, 0.5), (2, 0.5)]
    once = search_of(*ends, middle, ends=(0, 2))
    (found,) = once.bisected()
    assert (once.search.steps[0].probability > 0.99, found.is_certain, found.is_finished) == (True, False, False)
    assert COMMITS[1] in once.wanted()
    twice = search_of(*ends, middle, middle, ends=(0, 2))
    assert [(one.left, one.is_certain, one.is_finished) for one in twice.bisected()] == [((COMMITS[1],), True, True)]


def test_a_change_is_not_refuted_before_all_commits_were_launched() -> None:
    search = CommitSearch(0, "case", COMMITS, [change(0, 1)], StepSearch({0, 1, 8}, 0.03), [(0, 8)])
    search.add(CommitLaunches([[(COMMITS[0], 0.0), (COMMITS[1], 0.0)]] * 4))
    assert search.judged(search.changes[0], Path("reruns")).status == "suspected"


def test_a_round_has_as_many_commits_as_fit_and_one_that_links_them() -> None:
    search = search_of([(0, 0.0), (8, 0.1)])
    wanted = [COMMITS[place] for place in (8, 7, 5, 4, 2)]
    assert _choose_commits(wanted, [search], None) == sorted(wanted)
    assert _choose_commits(wanted, [search], 3) == [COMMITS[place] for place in (2, 4, 8)]


def test_commits_are_compared_within_an_environment_and_a_folder_counts_once(tmp_path: Path) -> None:
    """Two commits on two versions of TensorFlow: the second version takes twice as long, which is no step."""
    sides = [
        run_sides.Side("", tf=tf, revision=run_sides.Revision(one[:10], one, "2026-01-01T12:00:00+00:00", "a change"))
        for one in COMMITS[:2]
        for tf in ("2.16.2", "2.21.0")
    ]
    named = run_sides.name_sides(tmp_path, sides)
    for number, side in enumerate(named):
        factor = (1.3 if side.revision.commit == COMMITS[1] else 1.0) * (2.0 if side.tf == "2.21.0" else 1.0)
        write_run(
            side.folder,
            [KEYS[0]],
            factors={KEYS[0]: factor},
            launches=3,
            seed=number,
            revision=run_sides.stored_in_run(side.revision),
            environment={**stored.ENVIRONMENT, "tensorflow": side.tf},
            settings={**stored.SETTINGS, "baseline": "native", "launches": 3, "tf": side.tf},
        )
    run_sides.write(tmp_path, named)
    found = read_launches([tmp_path, tmp_path], [tmp_path])
    assert set(found) == {(KEYS[0], Environment(tf)) for tf in ("2.16.2", "2.21.0")}
    for launched in found.values():
        assert len(launched.blocks) == 3
        for (first, none), (second, step) in launched.blocks:
            assert (first, none, second) == (COMMITS[0], 0.0, COMMITS[1])
            assert step == pytest.approx(math.log(1.3), abs=0.05)


def test_a_commit_fails_only_in_a_finished_round(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {}, {}, problems={1: "no"})
    commits = [one.revision.commit for one in run_sides.read_all(folder)]
    (stored_one, *_) = read_launches([folder]).values()
    (finished, *_) = read_launches((), [folder]).values()
    assert (stored_one.failed, finished.failed) == (set(), {commits[1]})


def test_between_two_suspicions_a_commit_that_is_wanted_is_used(tmp_path: Path) -> None:
    """A step between them is beyond the ranges that are searched, and is probable all the same."""
    search = CommitSearch(0, "case", COMMITS, [], StepSearch({0, 1, 7, 8}, 0.03), [(0, 1), (7, 8)], {0, 1, 7, 8})
    levels = [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.5]
    launched = []

    def measure(commits: Sequence[str], cases: tuple[str, ...], folder: Path) -> bool:
        launched.append(tuple(COMMITS.index(one) for one in commits))
        blocks = [[(one, levels[COMMITS.index(one)] + 1e-3 * number) for number, one in enumerate(commits)]] * 2
        made[folder] = CommitLaunches(blocks)
        return len(launched) < 20

    made: dict[Path, CommitLaunches] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bisection, "read_launches", lambda _, rounds: {("case", HERE): made[rounds[0]]})
        run_searches([search], HERE, tmp_path, measure)
    assert len(launched) < 8
    assert [one.left for one in search.bisected() if one.is_certain] == [(COMMITS[4],)]


@pytest.mark.parametrize("failed", [set(), {COMMITS[1]}])
def test_what_is_asked_for_in_vain_is_not_asked_for_again(tmp_path: Path, failed: set[str]) -> None:
    """A commit that has launches already and that cannot be launched any more, while others can."""
    search = search_of([(0, 0.0), (1, 0.14), (2, 0.14)], ends=(0, 2))
    rounds = []

    def measure(commits: Sequence[str], cases: tuple[str, ...], folder: Path) -> bool:
        rounds.append(tuple(commits))
        return len(rounds) < 20

    def read(_: object, folders: Sequence[Path]) -> dict[object, CommitLaunches]:
        able = [one for one in rounds[-1] if one != COMMITS[1]]
        return {("case", HERE): CommitLaunches([[(one, 0.14 * (one != COMMITS[0])) for one in able]] * 2, failed)}

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bisection, "read_launches", read)
        run_searches([search], HERE, tmp_path, measure)
    asked = [COMMITS[1] in one for one in rounds]
    assert 1 <= sum(asked) <= len(rounds) < 12
    assert not any(asked[1 + asked.index(True) :])


def test_a_commit_at_which_the_case_fails_has_failed(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {}, {}, keys=[KEYS[0]])
    side = run_sides.read(folder)[1]
    skips = [stored.failure(KEYS[0], launch=None)]
    write_run(side.folder, [], launches=1, skips=skips, revision=run_sides.stored_in_run(side.revision))
    launched = read_launches((), [folder])[KEYS[0], HERE]
    assert launched.failed == {side.revision.commit}


def test_of_the_same_step_of_several_series_the_certain_one_is_listed() -> None:
    certain, probable = (
        Bisected("case", COMMITS[0], COMMITS[8], (COMMITS[4],), (), 1.1, is_certain=one) for one in (True, False)
    )
    other = replace(probable, environment="TensorFlow 2.16.2")
    for steps in itertools.permutations((certain, probable, other)):
        assert set(each_once(steps)) == {certain, other}


def test_of_very_many_launched_commits_some_are_used() -> None:
    commits = [f"{number:040x}" for number in range(200)]
    search = CommitSearch(0, "case", commits, [], StepSearch({0, 199}, 0.03), [(0, 199)], {0, 199})
    search.add(CommitLaunches([[(one, 0.0) for one in commits]] * 2))
    assert {0, 199} <= search.places
    assert len(search.places) <= bisection.MOST_PLACES


def test_a_rerun_starts_and_installs_only_a_locked_tensorflow() -> None:
    rerun = change(0, 1).rerun
    assert rerun is not None
    assert rerun.is_safe
    assert replace(rerun, environment=Environment("2.16.2")).is_safe
    assert not replace(rerun, environment=Environment(packages=("numpy==1.26.4",))).is_safe
    assert not replace(rerun, environment=Environment(python="./python")).is_safe
