"""What changed between two sides, and what a reader has to know of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairs
import stored
from foreign_files import document, scaled, with_column, write
from frames import Bench
from pairs import cases, write_run
from pyopbench.judge.comparison.diff import Comparison, NoCommonCase, UnmatchedCase, compare_sides, notes_of
from pyopbench.judge.comparison.gate import interim_comparison
from pyopbench.judge.comparison.sides import ComparedSide, Sides, read_sides
from pyopbench.model.case import Case
from pyopbench.stats import estimate
from pyopbench.stats.costs import round_costs
from pyopbench.stats.estimate import UNIT
from pyopbench.store.caveats import LIMITATIONS
from pyopbench.store.run import open_run
from revision_runs import write_revisions

MANY = cases(ops=("double", "square", "cube", "sinh"))

OPS = ("double", "square", "cube", "sinh")

CASES = pairs.cases()


def compared(first: Path, second: Path) -> Comparison:
    return compare_sides(read_sides(first, second))


def outcomes(found: Comparison) -> dict[str, str]:
    return {one.case: one.verdict.outcome for one in found.cases}


def test_a_case_that_is_slower_comes_first_and_the_others_are_left_alone(tmp_path: Path) -> None:
    slow, fast = MANY[5], MANY[8]
    first = write_run(tmp_path / "a", MANY, seed=1)
    second = write_run(tmp_path / "b", MANY, seed=2, factors={slow: 1.6, fast: 0.5})
    found = compared(first, second)
    assert found.cases[0].case == slow
    assert found.cases[0].verdict.ratio == pytest.approx(1.6, rel=0.01)
    assert found.cases[0].second_seconds == pytest.approx(1.6e-3, rel=0.01)
    assert found.cases[-1].case == fast
    assert found.counts() == {"slower": 1, "unresolved": 22, "equivalent": 0, "faster": 1}
    assert [one.case for one in found.slower_by(0.5)] == [slow]
    assert found.slower_by(0.7) == ()


def test_what_all_cases_have_in_common_is_told_and_makes_no_verdict(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", MANY, seed=1)
    second = write_run(tmp_path / "b", MANY, seed=2, factors=dict.fromkeys(MANY, 1.25))
    found = compared(first, second)
    assert found.common == pytest.approx(1.25, rel=0.01)
    assert set(outcomes(found).values()) == {"unresolved"}


def blocks_of_two_versions(ratio: float, *, shuffled: bool = False) -> Sides:
    """Blocks of a launch of each version, between which the machine becomes four times as slow."""
    rng = np.random.default_rng(0)
    rows = []
    keys = cases()
    for block in range(6):
        for place, version in enumerate(rng.permutation(["2.16.2", "2.21.0"])):
            for key in keys:
                own = ratio if version == "2.21.0" and "/native/" in key else 1.0
                seconds = 1e-3 * own * 4 ** (block / 5) * math.exp(0.002 * rng.standard_normal())
                head = {"tool": "pyopbench", "run": "r", "launch": 2 * block + place, "case": key, "tf": version}
                rows += [
                    {**head, "block": block, "sweep": i, "round": i, "calls": 1, "seconds": seconds} for i in range(3)
                ]
    columns = ["tool", "run", "launch", "case", "tf", "block", "sweep", "round", "calls", "seconds"]
    frame = pd.DataFrame(rows)[columns].assign(mode="call", copies=1, floor_seconds=math.nan)
    if shuffled:
        frame = frame.sample(frac=1.0, random_state=1)
    run = Bench({"native": 1.0}, launches=1).run()
    parts = [ComparedSide(name, run, frame[frame["tf"] == name], {}) for name in ("2.16.2", "2.21.0")]
    return Sides(parts[0], parts[1], interleaved=True)


def test_versions_are_paired_by_block_so_that_a_machine_that_slows_down_does_not_matter() -> None:
    found = compare_sides(blocks_of_two_versions(1.10))
    by_case = {one.case: one.verdict for one in found.cases}
    assert {key: verdict.outcome for key, verdict in by_case.items()} == {
        key: "slower" if "/native/" in key else "equivalent" for key in cases()
    }
    assert all(verdict.launches == 6 for verdict in by_case.values()), "one ratio for each block"
    apart = replace(blocks_of_two_versions(1.10), interleaved=False)
    assert compare_sides(apart).counts()["slower"] == 0, "lost between the launches"


def test_a_block_that_lost_a_launch_is_left_out() -> None:
    sides = blocks_of_two_versions(1.1)
    frame = sides.second.frame
    short = replace(sides, second=replace(sides.second, frame=frame[frame["block"] != 2]))
    assert {one.verdict.launches for one in compare_sides(short).cases} == {5}


def test_cases_of_one_side_are_listed_with_the_reason(tmp_path: Path) -> None:
    gone, lost, new = MANY[0], MANY[1], MANY[2]
    first = write_run(tmp_path / "a", [key for key in MANY if key != new])
    kept = [key for key in MANY if key not in (gone, lost)]
    skips = [stored.failure(gone, "unsupported", None)]
    second = write_run(tmp_path / "b", kept, skips=skips, cases=[*kept, lost])
    assert set(compared(first, second).unmatched) == {
        UnmatchedCase(gone, "A", "failed", "unsupported", "it did not work"),
        UnmatchedCase(lost, "A", "not_reached"),
        UnmatchedCase(new, "B", "not_measured"),
    }


@pytest.mark.parametrize("failed", [[], [MANY[2]], [MANY[3], MANY[1]]])
def test_sides_without_a_case_in_common_are_refused_with_the_first_that_failed(
    tmp_path: Path, failed: list[str]
) -> None:
    first = write_run(tmp_path / "a", MANY[:4])
    skips = [stored.failure(key, "unsupported", None) for key in failed]
    second = write_run(tmp_path / "b", MANY[4:], skips=skips)
    with pytest.raises(NoCommonCase) as refused:
        compared(first, second)
    assert [key for key in MANY if key in str(refused.value)] == sorted(failed)[:1]
    assert {one.case for one in refused.value.unmatched if one.kind == "failed"} == set(failed)


def test_it_is_told_among_how_many_comparisons_one_is_corrected() -> None:
    sides = blocks_of_two_versions(1.0)
    told = [{one.kind: one for one in notes_of(compare_sides(sides, among=many))}["stepped_down"] for many in (1, 2, 3)]
    assert len({one.sentence for one in told}) == 3


def test_wrong_cases_are_never_compared(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", MANY)
    second = write_run(tmp_path / "b", MANY, skips=[stored.failure(MANY[0], "wrong", 0)])
    found = compared(first, second)
    assert MANY[0] not in outcomes(found)
    assert (found.unmatched[0].kind, found.unmatched[0].status) == ("failed", "wrong")


def test_environments_that_differ_are_told_and_another_processor_loudly(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", MANY)
    changes = {"cpu": "another", "tensorflow": "2.16.2", "load": [9.0, 9.0, 9.0]}
    second = write_run(tmp_path / "b", MANY, environment={**stored.ENVIRONMENT, **changes})
    found = {one.name: one for one in compared(first, second).differences}
    assert set(found) == {"cpu", "tensorflow"}
    assert (found["tensorflow"].first, found["tensorflow"].second) == ("2.21.0", "2.16.2")
    assert [one.name for one in found.values() if one.loud] == ["cpu"]


def test_commits_of_asv_are_compared_with_the_benchmarks_of_other_suites(tmp_path: Path) -> None:
    slow = scaled(document("asv-first"), 3.0, only="strange.Other")
    slow["commit_hash"] = "0" * 40
    found = compared(write(tmp_path / "first.json", document("asv-first")), write(tmp_path / "slow.json", slow))
    assert {one.case for one in found.cases if one.verdict.outcome == "slower"} == {
        "strange.Other.time_it('a|b', 1)",
        "strange.Other.time_it('<script>', 1)",
    }


def test_a_benchmark_of_another_suite_that_fails_on_one_side_is_reported(tmp_path: Path) -> None:
    name = "strange.Other.time_it"
    first = document("asv-first")
    broken = with_column(first, name, "result", [None, math.nan])
    found = compared(*(write(tmp_path / f"{many}.json", one) for many, one in enumerate((first, broken))))
    assert [(one.case, one.side, one.kind, one.status) for one in found.unmatched] == [
        (f"{name}('<script>', 1)", "A", "failed", "unsupported"),
        (f"{name}('a|b', 1)", "A", "failed", "raised"),
    ]


def test_two_files_of_pytest_benchmark_have_ratios_and_no_interval(tmp_path: Path) -> None:
    """Ten benchmarks are nine others for each: too few to tell how launches differ."""
    paths = [write(tmp_path / f"{name}.json", document(f"pytest-benchmark-{name}")) for name in ("first", "second")]
    found = compared(*paths)
    assert len(found.cases) == 10
    assert found.smallest is None
    assert set(outcomes(found).values()) == {"unresolved"}
    first, second = (
        estimate.launch_logs(round_costs(side.frame, UNIT)) for side in (found.sides.first, found.sides.second)
    )
    logs = first.merge(second, on="case", suffixes=("_a", "_b")).set_index("case")
    for one in found.cases:
        expected = math.exp(logs.loc[one.case, "value_b"] - logs.loc[one.case, "value_a"])
        assert one.verdict.ratio == pytest.approx(expected)


def test_the_smallest_slowdown_that_could_be_found_is_found_when_it_is_there(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", MANY, seed=1)
    told = compared(first, write_run(tmp_path / "b", MANY, seed=2)).smallest
    assert told is not None
    slow = write_run(tmp_path / "c", MANY, seed=2, factors={MANY[0]: 1 + told * 1.1})
    assert outcomes(compared(first, slow))[MANY[0]] == "slower"
    assert Case.from_id(MANY[0]).op == "double"


def test_what_a_source_cannot_support_is_said_once_for_both_sides(tmp_path: Path) -> None:
    """That each benchmark is one launch is what the reach says already."""
    other = {**scaled(document("asv-first"), 1.1), "commit_hash": "1" * 40}
    found = compared(write(tmp_path / "a.json", document("asv-first")), write(tmp_path / "b.json", other))
    kinds = [note.kind for note in notes_of(found)]
    caveats = [caveat.kind for caveat in LIMITATIONS["asv"][1:]]
    assert kinds == ["not_paired", "stepped_down", "smallest_slowdown", *caveats]


def test_what_is_resolved_is_closed_and_what_is_open_is_open_in_both_and_in_the_control(tmp_path: Path) -> None:
    """A case at the border of the minimum effect stays open, whatever its launches agree on."""
    folder = write_revisions(tmp_path, {}, {CASES[0]: 1.0305}, launches=20)
    found, progress = interim_comparison(open_run(folder), 0.03)
    assert progress == f"{len(CASES) - 1} of {len(CASES)} comparisons are resolved"
    assert [found[one.label] for one in stored.sides_of(folder)] == [frozenset({CASES[0]})] * 3


def test_where_nothing_is_common_everything_stays_open(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {})
    stored.replace_lines(folder, 1)
    found, progress = interim_comparison(open_run(folder), 0.03)
    assert progress.startswith("0 of ")
    assert all(found[one.label] >= set(CASES) for one in stored.sides_of(folder)[:2])
