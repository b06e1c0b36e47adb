"""What noise leaves open is said with what would help, in numbers that are all there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyopbench.judge.noise import Disturbance
from pyopbench.report.wording.noise import noise_line, noise_warning, reach_text

NOISY = Disturbance(
    launches=(),
    launches_made=4,
    verdicts=2,
    unresolved=1,
    usual_spread=0.1,
    smallest_effect=0.2501,
    minimum_effect=0.03,
    enough_launches=1200,
)


def test_a_noisy_machine_is_told_with_what_to_do() -> None:
    assert noise_warning(NOISY) == (
        "In a typical comparison launches differ by 10% of the current time. 4 launches cannot show a difference below "
        "25% there, once intervals are corrected for 2 comparisons. 1 is unresolved; about 1,200 launches would "
        "resolve it (--launches 1200, with enough --budget). Stop other work, or pin the run to idle cores (taskset "
        "-c 0,1 pyopbench run ...). Or accept a larger minimum effect (--min-effect 0.26)."
    )


def test_a_terminal_has_the_same_in_one_line() -> None:
    unresolved = "1 of 2 comparisons unresolved"
    assert noise_line(NOISY, 0, 3) == f"Noise: answers are clear, {unresolved}; --launches 1200 would resolve it"
    assert noise_line(NOISY, 1, 3) == f"Noise: 1 of 3 answers undecided, {unresolved}"
    assert noise_line(replace(NOISY, enough_launches=None), 2, 3) == (
        f"Noise: 2 of 3 answers undecided, {unresolved}; stop other work on the machine"
    )
    assert noise_line(replace(NOISY, unresolved=2, enough_launches=8), 0, 3) == (
        "Noise: answers are clear, 2 of 2 comparisons unresolved; --launches 8 would resolve half of them"
    )
    assert noise_line(replace(NOISY, unresolved=0), 0, 3) == ""


def test_what_nobody_waits_for_has_no_number_of_launches_and_no_effect_above_one() -> None:
    assert noise_warning(replace(NOISY, unresolved=2, smallest_effect=10.1, enough_launches=None)) == (
        "In a typical comparison launches differ by 10% of the current time. 4 launches cannot even show a factor of "
        "two there, once intervals are corrected for 2 comparisons. 2 are unresolved; to resolve half of them would "
        "take more than 1,000 launches. Stop other work, or pin the run to idle cores (taskset -c 0,1 pyopbench run "
        "...)."
    )


def test_a_run_that_only_its_budget_limits_needs_a_longer_one() -> None:
    unlimited = replace(NOISY, is_unlimited=True)
    assert noise_line(unlimited, 0, 3) == (
        "Noise: answers are clear, 1 of 2 comparisons unresolved; a longer --budget would resolve it"
    )
    assert noise_warning(unlimited) == (
        "In a typical comparison launches differ by 10% of the current time. 4 launches cannot show a difference below "
        "25% there, once intervals are corrected for 2 comparisons. 1 is unresolved; about 1,200 launches would "
        "resolve it (a longer --budget). Stop other work, or pin the run to idle cores (taskset -c 0,1 pyopbench run "
        "...). Or accept a larger minimum effect (--min-effect 0.26)."
    )


def test_noise_that_leaves_nothing_open_is_no_warning() -> None:
    assert noise_warning(replace(NOISY, unresolved=0)) == ""
    assert noise_warning(replace(NOISY, smallest_effect=0.02)) == ""


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        (0.25, "4 launches cannot show a difference below 25%"),
        (1.0, "4 launches cannot show a difference below 100%"),
        (3.89, "4 launches cannot even show a factor of two"),
    ],
)
def test_what_so_few_launches_can_tell(effect: float, said: str) -> None:
    assert reach_text(replace(NOISY, smallest_effect=effect)) == said
