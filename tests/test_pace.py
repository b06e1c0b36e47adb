"""What the next launch will take is told from the newest launch that measured anything."""

from __future__ import annotations

import pytest

from pyopbench.pace import Pace


def test_nothing_is_predicted_before_the_first_group() -> None:
    pace = Pace()
    pace.add_start(9.0)
    assert pace.predict(4, 1) is None


def test_a_launch_is_its_start_and_its_cases() -> None:
    pace = Pace()
    pace.add_start(9.0)
    pace.add_group(3.0, 2)
    pace.add_group(1.0, 2)
    assert pace.predict(10, 1) == pytest.approx(9.0 + 10 * 1.0)
    assert pace.predict(2) == pytest.approx(2.0)


def test_the_newest_complete_launch_stands_for_the_next_ones() -> None:
    """The first is slower, and so is the beginning of any other."""
    pace = Pace()
    pace.add_group(100.0, 10)
    pace.end_launch()
    pace.add_group(8.0, 1)
    assert pace.predict(1) == pytest.approx(10.0)
    pace.add_group(2.0, 9)
    pace.end_launch()
    assert pace.predict(1) == pytest.approx(1.0)


def test_a_launch_that_measured_nothing_tells_nothing() -> None:
    pace = Pace()
    pace.add_group(6.0, 2)
    pace.end_launch()
    pace.end_launch()
    assert pace.predict(1) == pytest.approx(3.0)
