"""The table beside asv and ruptures, in small: no false change is confirmed, and steps are found."""

from __future__ import annotations

import sys

import pytest

from places import ROOT

SERIES = 150


@pytest.fixture(scope="module")
def script():
    """The script that prints the table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        for name in ("change_thresholds", "change_alarms", "gate_trials"):
            patch.delitem(sys.modules, name, raising=False)
        import change_alarms

        yield change_alarms


@pytest.mark.parametrize("kind", ["normal", "t with 3 degrees of freedom"])
def test_interleaved_series_raise_few_alarms_confirm_none_and_find_nine_steps_of_ten(script, kind):
    row = script.simulated(script.interleaved, kind, SERIES)
    assert row.alarmed <= 6  # 1% of 150 is 1.5; more than 6 come once in 700 times
    assert row.confirmed == 0
    assert row.located >= 0.9 * SERIES
    assert row.located_confirmed >= 0.7 * row.located


def test_runs_by_themselves_raise_few_alarms_whatever_the_noise(script):
    for kind in script.DRAWN:
        row = script.simulated(script.apart, kind, SERIES)
        assert row.alarmed <= 6
        assert row.confirmed == 0


def test_a_method_that_takes_every_point_for_a_change_would_be_told(script):
    row = script.simulated(lambda values: list(range(1, values.size)), "normal", 20)
    assert (row.alarmed, row.located) == (20, 20)


def test_what_is_not_installed_is_said(script, monkeypatch):
    monkeypatch.setattr(script, "METHODS", {"missing": lambda: None})
    rows = list(script.lines(1, script.Kept()))[2:]
    assert [line.split("missing")[1].strip().split(":")[0] for line in rows] == ["skipped"] * 3


def test_batches_are_simulated_once_and_a_portion_ends_before_the_next(script, monkeypatch, tmp_path):
    asked = []

    def simulated(method, kind, series, seed):
        asked.append((kind, series, seed))
        return script.Row(1, 0, series, series, series)

    monkeypatch.setattr(script, "simulated", simulated)
    path = tmp_path / "kept.json"

    def of(series, most_seconds=None):
        return script.Kept(path, most_seconds).of(script.interleaved, "some", "normal", series)

    assert of(600, -1.0).series == 0
    assert of(600) == script.Row(3, 0, 600, 600, 600)
    assert asked == [("normal", 250, 0), ("normal", 250, 1), ("normal", 100, 2)]
    assert of(600, -1.0) == script.Row(3, 0, 600, 600, 600)
    assert of(1000, -1.0) == script.Row(2, 0, 500, 500, 500), "batches of another size are others"
    assert len(asked) == 3
