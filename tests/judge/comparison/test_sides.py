"""What a command line puts side by side, and how its cases are paired."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stored
from foreign_files import asv_folder, document, write
from pairs import cases, write_run, write_versions
from pyopbench.judge.comparison.sides import (
    read_sides,
    side_of,
    sweep_logs,
)
from pyopbench.model.errors import BadInput
from pyopbench.store.read import read_source


def refused(first: Path, second: Path) -> BadInput:
    with pytest.raises(BadInput) as caught:
        read_sides(first, second)
    return caught.value


def test_two_runs_are_not_interleaved(tmp_path: Path) -> None:
    own = write_run(tmp_path / "own", cases())
    sides = read_sides(own, write_run(tmp_path / "other", cases()))
    assert (sides.first.label, sides.interleaved) == (str(own), False)
    assert set(sides.first.frame["case"]) == set(cases())


def test_what_is_wrong_has_no_samples_and_what_failed_is_known(tmp_path: Path) -> None:
    skips = [stored.failure(cases()[0], "wrong", 0), stored.failure(stored.case("traced"), "unsupported", None)]
    (run,) = read_source(write_run(tmp_path / "a", cases(), skips=skips))
    side = side_of("a side", run)
    assert set(side.frame["case"]) == set(cases()[1:])
    assert {case: one.status for case, one in side.failures.items()} == {
        cases()[0]: "wrong",
        stored.case("traced"): "unsupported",
    }


def test_results_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    own = write_run(tmp_path / "own", cases())
    asv = asv_folder(tmp_path / "asv", first=document("asv-first"), second=document("asv-second"))
    file = write(tmp_path / "pb.json", document("pytest-benchmark-first"))
    assert refused(own, file).received == "pyopbench and pytest-benchmark"
    for several in (own, asv, write_versions(tmp_path / "run", "2.16.2", "2.21.0")):
        assert isinstance(refused(several, own), BadInput)
    with pytest.raises(BadInput):
        read_sides(own, tmp_path / "nowhere")


def sampled(rng: np.random.Generator, states: Sequence[float], factor: float) -> pd.DataFrame:
    """Return samples of a launch, with as many rounds in each sweep as come: four or fewer."""
    rows = []
    for sweep, state in enumerate(states):
        for number in range(int(rng.integers(2, 5))):
            seconds = factor * state * float(np.exp(0.01 * rng.standard_normal()))
            rows.append({"sweep": sweep, "round": 10 * sweep + number, "seconds": seconds})
    head = {"case": "k", "run": "r", "launch": 3, "block": 3, "mode": "call"}
    return pd.DataFrame(rows).assign(**head, calls=1, copies=1, floor_seconds=np.nan)


@pytest.mark.nightly
def test_what_a_core_does_for_the_time_of_a_sweep_is_common_to_both_sides() -> None:
    """In half of them it is 1.65 times as slow: medians of whole launches lie on either side, as it happens."""
    rng = np.random.default_rng(3)
    off, by_launch = [], []
    for _ in range(40):
        states = np.where(rng.random(61) < 0.5, 1.0, 1.65)
        first, second = (sampled(rng, states, factor) for factor in (1.0, 1.05))
        (value,) = sweep_logs(first, second)["value"]
        off.append(value - np.log(1.05))
        by_launch.append(np.log(second["seconds"].median() / first["seconds"].median()) - np.log(1.05))
    assert np.abs(off).max() < 0.01
    assert np.std(by_launch) > 10 * np.std(off)


def test_a_sweep_that_one_side_lacks_does_not_count() -> None:
    rng = np.random.default_rng(4)
    first, second = sampled(rng, [1.0] * 5, 1.0), sampled(rng, [1.0] * 3 + [1.65] * 2, 1.0)
    (value,) = sweep_logs(first[first["sweep"] < 3], second)["value"]
    assert value == pytest.approx(0.0, abs=0.02)
    assert sweep_logs(first[first["sweep"] > 3], second[second["sweep"] < 3]).empty
