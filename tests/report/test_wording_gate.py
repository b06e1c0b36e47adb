"""Sentences about revisions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from msgspec import structs

import pairs
from pyopbench.judge.comparison.gate import read_gate
from pyopbench.model import formatting
from pyopbench.report.wording import gate as wording
from pyopbench.store.run_sides import Side, Values
from revision_runs import DIFFERENT, revision, write_revisions

HASH = "3f1c2ab45d" + "0" * 30


def test_a_revision_is_named_with_its_hash_unless_it_is_named_by_it() -> None:
    one = structs.replace(revision("main", 1), commit=HASH)
    assert wording.name_text(Side("main", revision=one)) == "main (3f1c2ab45d): change 1"
    assert wording.name_text(Side(HASH[:10], revision=one)) == "3f1c2ab45d: change 1"
    dirty = structs.replace(one, dirty=True)
    assert wording.name_text(Side("WORKTREE", revision=dirty)) == ("WORKTREE (3f1c2ab45d, not committed): change 1")


def test_the_answer_is_of_what_fails_and_else_of_what_was_compared(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path / "same", {}, {})
    assert wording.answer_text(read_gate(folder, 0.03, 0.05)) == (
        "Passed: none of 6 cases is clearly slower by 5% or more."
    )
    assert wording.answer_text(read_gate(folder, 0.03, None)) == (
        "6 cases compared; slowdowns do not fail (--fail-on never)."
    )
    assert wording.answer_text(replace(read_gate(folder, 0.03, 0.05), fail_on=0.03)) == (
        "Passed: none of 6 cases is clearly slower by 3% or more, but only slowdowns from "
        f"{formatting.smallest_difference(read_gate(folder, 0.03, 0.05).smallest)} on would be found."
    )
    passed = read_gate(folder, 0.03, 0.05)
    wide = {label: replace(one, smallest=5.0) for label, one in passed.comparisons.items()}
    noisy = replace(passed, comparisons=wide)
    assert wording.answer_text(noisy) == (
        "Passed: none of 6 cases is clearly slower by 5% or more, but it was too noisy to tell."
    )
    assert wording.reach_text(noisy) == (
        "The results are too noisy: even a case that takes twice as long could be missed. Stop other work on the "
        "machine, or give the run more time."
    )
    alone = write_revisions(tmp_path / "alone", {}, {}, launches=1)
    assert wording.answer_text(read_gate(alone, 0.03, 0.05)) == (
        "Nothing to compare: no case has an interval on both sides."
    )


def test_the_control_says_what_noise_alone_did(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path / "same", {}, {}), 0.03, 0.05)
    assert gate.twins is not None
    farthest = formatting.points(max(abs(case.verdict.ratio - 1) for case in gate.twins.cases))
    found = (
        "Control: r0 against itself, 2 pairs: 0 found different, 2 equivalent, 0 unresolved; largest difference "
        f"{farthest}."
    )
    assert wording.twins_text(gate) == found
    apart = read_gate(write_revisions(tmp_path / "apart", {}, {}, twin={pairs.cases()[0]: 1.5}), 0.03, 0.05)
    assert apart.twins is not None
    farthest = formatting.points(max(abs(case.verdict.ratio - 1) for case in apart.twins.cases))
    assert wording.twins_text(apart) == (
        "Control: r0 against itself, 2 pairs: 1 found different, 1 equivalent, 0 unresolved; largest difference "
        f"{farthest}. Noise alone causes differences of this size here."
    )
    without = replace(gate, twins=None)
    assert wording.twins_text(without) == ("No identical pair was measured, so the effect of noise alone is unknown.")


def test_values_are_the_same_or_differ(tmp_path: Path) -> None:
    assert wording.values_text(read_gate(write_revisions(tmp_path / "same", {}, {}), 0.03)) == (
        "Values are the same as in r0 (2 compared)."
    )
    gate = read_gate(tmp_path / "same", 0.03)
    (other,) = gate.others
    unknown = replace(gate, others=(structs.replace(other, values=Values()),))
    assert wording.values_text(unknown) == wording.NO_VALUES
    again = structs.replace(gate.first, label="again", values=Values())
    assert wording.values_text(replace(gate, others=(again,))) == (
        "All sides are the same, so no values were compared."
    )
    other = write_revisions(tmp_path / "other", {}, {}, different={1: DIFFERENT})
    assert wording.values_text(read_gate(other, 0.03)) == (
        "Values differ, so the times below may be for different work."
    )
