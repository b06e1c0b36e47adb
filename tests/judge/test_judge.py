"""What is stored is judged: a look at it while the run goes on, and the whole when it has ended."""

from __future__ import annotations

from pathlib import Path

import stored
from pyopbench.judge import judge

CASES = [stored.case("native"), stored.case("numpy_function")]


def test_a_look_judges_what_is_stored(tmp_path: Path) -> None:
    """Of two launches that agree to the last digit nothing is left open; of one everything is."""
    lines = [stored.launch_line(0), stored.group_line(0, CASES, seconds=1.0)]
    folder = stored.write(tmp_path / "run", stored.run(CASES), lines)
    how = judge.Judging("numpy_function", 0.05)
    assert judge.look(folder, how, 1, 3).open == frozenset(CASES)
    for line in (stored.launch_line(1), stored.group_line(1, CASES, seconds=1.0)):
        stored.append(folder, line)
    seen = judge.look(folder, how, 2, 3)
    assert (seen.open, seen.resolved, seen.verdicts) == (frozenset(), 1, 1)


def test_a_judgement_is_by_what_was_asked_for(tmp_path: Path) -> None:
    lines = [
        line
        for launch in range(3)
        for line in (stored.launch_line(launch), stored.group_line(launch, CASES, seconds=1.0))
    ]
    folder = stored.write(tmp_path / "run", stored.run(CASES), lines)
    judgement = judge.judge([folder], judge.Judging("numpy_function", 0.05, {1: 2.0}))
    assert (judgement.baseline, judgement.minimum_effect, judgement.mix) == ("numpy_function", 0.05, {1: 2.0})
