"""What noise leaves open is said with what would help, in numbers that are all there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyopbench.judge.noise import Disturbance
from pyopbench.report.wording.noise import noise_warning, reach_text

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
        "Launches usually differ by 10%, so that 4 launches can tell no difference below 25%: 1 of 2 comparisons is "
        "unresolved. Differences of 3% take about 1,200 launches (--launches 1200, with a --budget that allows for "
        "them); what each comparison takes by itself is told beside it. It helps to stop other work, and to pin to "
        "cores of one's own (taskset -c 0,1 pyopbench run ...). Or accept a larger minimum effect (--min-effect 0.26)."
    )


def test_what_nobody_waits_for_has_no_number_of_launches_and_no_effect_above_one() -> None:
    assert noise_warning(replace(NOISY, unresolved=2, smallest_effect=10.1, enough_launches=None)) == (
        "Launches usually differ by 10%, so that 4 launches are too noisy to tell, even whether something takes twice "
        "as long: 2 of 2 comparisons are unresolved. Differences of 3% take more launches than anybody waits for (over "
        "1,000). It helps to stop other work, and to pin to cores of one's own (taskset -c 0,1 pyopbench run ...)."
    )


def test_noise_that_leaves_nothing_open_is_no_warning() -> None:
    assert noise_warning(replace(NOISY, unresolved=0)) == ""
    assert noise_warning(replace(NOISY, smallest_effect=0.02)) == ""


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        (0.25, "4 launches can tell no difference below 25%"),
        (1.0, "4 launches can tell no difference below 100%"),
        (3.89, "4 launches are too noisy to tell, even whether something takes twice as long"),
    ],
)
def test_what_so_few_launches_can_tell(effect: float, said: str) -> None:
    assert reach_text(replace(NOISY, smallest_effect=effect)) == said
