"""What a run over revisions comes to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import pairs
import stored
from pyopbench.judge.comparison import gate as wording
from pyopbench.judge.comparison.diff import UnmatchedCase, compare_sides
from pyopbench.judge.comparison.gate import Gate, interim_comparison, read_gate
from pyopbench.model import formatting
from pyopbench.store.run import open_run
from pyopbench.store.types import Side, Values
from revision_runs import DIFFERENT, fail_in_second, revision, write_revisions

CASES = pairs.cases()
SLOWER = {CASES[-1]: 1.08}

HASH = "3f1c2ab45d" + "0" * 30


def test_nothing_that_changed_passes_and_the_control_is_no_revision(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {}), 0.03, 0.05)
    assert (gate.outcome, gate.exit_code) == ("passed", 0)
    assert [one.label for one in gate.others] == ["r1"]
    assert gate.comparisons["r1"].sides.interleaved
    assert gate.control is not None
    assert gate.control.counts() == {"slower": 0, "unresolved": 0, "equivalent": 2, "faster": 0}


def test_revisions_that_are_asked_for_by_their_hashes_are_told_from_their_control(tmp_path: Path) -> None:
    """They are named by the first digits, and the label of the control begins with that of its revision."""
    folder = write_revisions(tmp_path / "run", {}, SLOWER, by_hash=True)
    gate = read_gate(folder, fail_on=0.05)
    assert [case.case for _, case in gate.slower]
    assert gate.control is not None
    assert len(gate.control.cases) == 2
    assert [one.label for one in stored.sides_of(tmp_path / "run")] == ["0" * 10, f"{'0' * 10}-2", f"{'0' * 10}-3"]


def test_what_is_slower_by_as_much_as_fails_does(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, SLOWER, {})
    gate = read_gate(folder, 0.03, 0.05)
    assert [(label, case.case) for label, case in gate.slower] == [("r1", CASES[-1])]
    assert gate.exit_code == 1
    assert read_gate(folder, 0.03, 0.2).exit_code == 0
    assert read_gate(folder, 0.03, None).exit_code == 0


def test_several_comparisons_share_the_error(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {}, {}, SLOWER), 0.03, 0.05)
    assert {(one.among, one.error) for one in gate.comparisons.values()} == {(3, 0.01)}, (
        "a gate is wrong in one run of a hundred"
    )
    assert gate.control is not None
    assert gate.control.among == 1, "it is no revision"
    sides = gate.comparisons["r3"].sides
    one, three = (compare_sides(sides, among=among) for among in (1, 3))
    assert one.smallest is not None
    assert three.smallest is not None
    assert three.smallest > one.smallest


def test_other_values_fail_from_the_revision_on_that_has_them_first(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {}, {}, different={1: DIFFERENT, 2: DIFFERENT})
    gate = read_gate(folder, 0.03, None)
    assert gate.changed == (("r1", DIFFERENT),)
    assert (gate.exit_code, gate.compared_values) == (1, 4)


def test_other_inputs_and_what_is_not_known_are_told_and_fail_nothing(tmp_path: Path) -> None:
    for kind in ("inputs", "unknown"):
        folder = write_revisions(tmp_path / kind, {}, {}, different={1: structs.replace(DIFFERENT, kind=kind)})
        gate = read_gate(folder, 0.03, None)
        assert (len(gate.differences), gate.changed, gate.exit_code) == (1, (), 0)


def test_a_revision_that_cannot_be_measured_fails_and_the_others_are_compared(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {}, {}, problems={1: "no"}), 0.03, 0.05)
    assert [one.label for one in gate.broken] == ["r1"]
    assert list(gate.comparisons) == ["r2"]
    assert gate.exit_code == 1


def test_where_the_first_cannot_be_measured_the_second_stands_for_it(tmp_path: Path) -> None:
    """The control is then of the second; what was broken and is mended is no regression, but it is no pass either."""
    folder = write_revisions(tmp_path, {}, {}, {}, problems={0: "no"})
    gate = read_gate(folder, 0.03, 0.05)
    assert gate.first.label == "r1"
    assert list(gate.comparisons) == ["r2"]


def test_without_an_interval_there_is_nothing_to_compare(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {}, launches=1), 0.03, 0.05)
    assert (gate.smallest, gate.outcome, gate.exit_code) == (None, "nothing", 3)


def test_a_revision_without_a_case_in_common_is_not_passed_over(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {}, {})
    stored.replace_lines(folder, 1)
    gate = read_gate(folder, 0.03, 0.05)
    assert (list(gate.unmatched), [one.label for one in gate.broken]) == (["r1"], ["r1"])
    assert gate.exit_code == 1


def test_a_case_that_fails_in_a_later_revision_fails(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {}), 0.03, 0.05)
    unmatched = _failing(gate, "crashed")
    assert [(label, case.status) for label, case in unmatched.failing] == [("r1", "crashed")]
    assert unmatched.exit_code == 1
    assert _failing(gate, "unsupported").exit_code == 0, "what a revision does not have is none of its failures"


def test_a_wrong_case_that_a_later_revision_repairs_passes(tmp_path: Path) -> None:
    folder = stored.fail_everywhere(write_revisions(tmp_path, {}, {}), CASES[-1], "wrong", but=1)
    gate = read_gate(folder, 0.03, 0.05)
    assert [failure.case for _, failure in gate.holes] == [CASES[-1]]
    assert gate.exit_code == 0


def test_a_case_that_failed_in_one_launch_alone_is_compared_and_no_hole(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {})
    stored.append(folder, {**stored.group_line(6, [], [stored.failure(CASES[0], "crashed", 6)]), "side": 1})
    gate = read_gate(folder, 0.03, 0.05)
    assert (gate.exit_code, len(gate.failures), gate.holes) == (0, 1, ())


@pytest.mark.parametrize(("status", "code"), [("crashed", 1), ("unsupported", 3)])
def test_a_revision_in_which_every_case_crashes_fails_even_if_it_is_the_only_one(
    tmp_path: Path, status: str, code: int
) -> None:
    folder = fail_in_second(write_revisions(tmp_path, {}, {}), status)
    gate = read_gate(folder, 0.03, 0.05)
    assert (gate.smallest, gate.exit_code) == (None, code)
    many = len(open_run(folder).measured[1].side.cases)
    assert (len(gate.failing), len(gate.unmeasured)) == ((many, 0) if code == 1 else (0, 1))


def _failing(gate: Gate, status: str) -> Gate:
    found = gate.comparisons["r1"]
    case = UnmatchedCase(found.cases[0].case, "A", "failed", status, "no")
    return replace(gate, comparisons={"r1": replace(found, unmatched=(case,))})


@pytest.mark.nightly
def test_commits_of_few_cases_show_together_which_spread_is_usual(tmp_path: Path) -> None:
    """Of two launches each comparison by itself has one degree of freedom, with which it tells nothing apart."""
    factors = [{}, *[{}] * 6, {CASES[-1]: 1.1}]
    gate = read_gate(write_revisions(tmp_path, *factors, keys=CASES[-2:], launches=2), 0.03, 0.05)
    assert [(label, case.case) for label, case in gate.slower] == [("r7", CASES[-1])]
    alone = gate.comparisons["r7"].sides
    assert {case.verdict.outcome for case in compare_sides(alone).cases} == {"unresolved"}


def test_a_look_judges_as_the_gate_does(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, *[{}] * 7, {CASES[-1]: 1.1}, keys=CASES[-2:], launches=2)
    _, progress = interim_comparison(open_run(folder), 0.03)
    gate = read_gate(folder, 0.03, 0.05)
    slower = gate.comparisons["r7"]
    (body,) = slower.bodies
    # Fourteen cases show how little launches differ, so that two of them settle a slowdown by a tenth.
    assert set(body.cases) == set(CASES[-2:])
    assert "slower" in {case.verdict.outcome for case in slower.cases}
    settled = sum(case.verdict.outcome != "unresolved" for one in gate.comparisons.values() for case in one.cases)
    assert 0 < int(progress.split()[0]) <= settled


def test_a_revision_without_a_sample_does_not_keep_the_others_from_being_compared(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {}, {CASES[-1]: 1.3})
    stored.replace_lines(folder, 1)
    gate = read_gate(folder, 0.03, 0.05)
    assert [one.label for one in gate.broken] == ["r1"]
    assert [label for label, _ in gate.slower] == ["r2"]
    assert interim_comparison(open_run(folder), 0.03)[0]


def test_a_gate_that_would_miss_such_a_slowdown_says_what_it_would_find(tmp_path: Path) -> None:
    passed = read_gate(write_revisions(tmp_path, {}, {}), 0.03, 0.05)
    for smallest, said in ((0.2, "20%"), (5.0, formatting.TOO_NOISY)):
        wide = {label: replace(one, smallest=smallest) for label, one in passed.comparisons.items()}
        assert said in replace(passed, comparisons=wide).answer_text()


def test_the_control_says_what_noise_alone_did(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path / "same", {}, {}), 0.03, 0.05)
    apart = read_gate(write_revisions(tmp_path / "apart", {}, {}, twin={pairs.cases()[0]: 1.5}), 0.03, 0.05)
    assert "0 found different, 2 equal" in gate.control_text()
    assert "1 found different, 1 equal" in apart.control_text()
    assert len({one.control_text() for one in (gate, apart, replace(gate, control=None))}) == 3


def test_values_are_the_same_or_differ_or_were_not_compared(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path / "same", {}, {}), 0.03)
    unknown = replace(gate, others=(structs.replace(gate.others[0], values=Values()),))
    again = replace(gate, others=(structs.replace(gate.first, label="again", values=Values()),))
    other = read_gate(write_revisions(tmp_path / "other", {}, {}, different={1: DIFFERENT}), 0.03)
    assert unknown.values_text() == wording.NO_VALUES
    assert len({one.values_text() for one in (gate, unknown, again, other)}) == 4


def test_a_revision_is_named_as_asked_with_its_hash_and_whether_it_is_committed() -> None:
    made = structs.replace(revision("r1", 1), commit=HASH)
    named, by_hash = (wording.name_text(Side(label=label, revision=made)) for label in ("r1", HASH[:10]))
    dirty = wording.name_text(Side(label="r1", revision=structs.replace(made, dirty=True)))
    assert (named, by_hash) == (f"r1 ({HASH[:10]}): {made.subject}", f"{HASH[:10]}: {made.subject}")
    assert dirty.startswith(f"r1 ({HASH[:10]}")
    assert dirty != named
