"""A side holds the samples of its runs, each under what it is matched by."""

from __future__ import annotations

from pathlib import Path

import pytest

import stored
from pairs import cases, write_run
from pyopbench.judge.comparison.case_key import CaseKey
from pyopbench.judge.comparison.sides import UNKNOWN, side_of
from pyopbench.model.errors import BadInput
from pyopbench.store.read import read_source


def test_samples_stand_under_what_they_are_matched_by(tmp_path: Path) -> None:
    skipped = stored.case("tnp")
    (run,) = read_source(write_run(tmp_path / "a", cases(), skips=[stored.failure(skipped, "unsupported", None)]))
    side = side_of("a side", [run], lambda case: CaseKey(f"<{case.id}>"), ())
    assert set(side.frame["case"]) == {f"<{case}>" for case in cases()}
    assert set(side.failures) == {f"<{skipped}>"}
    assert side.keys == {f"<{case}>": CaseKey(f"<{case}>") for case in (*cases(), skipped)}
    assert len(side.frame) == len(run.frame)


def test_several_runs_are_told_apart_by_their_environment(tmp_path: Path) -> None:
    runs = [
        read_source(write_run(tmp_path / name, cases(), environment={**stored.ENVIRONMENT, "machine": name}))[0]
        for name in ("here", "there")
    ]
    side = side_of("both", runs, CaseKey.whole, ("machine",))
    assert set(side.frame["case"]) == {f"{case} in {name}" for case in cases() for name in ("here", "there")}
    assert {key.environment for key in side.keys.values()} == {(("machine", "here"),), (("machine", "there"),)}
    assert side.environment["machine"] == ["here", "there"]
    assert side.environment["commit"] == [UNKNOWN]
    with pytest.raises(BadInput) as refused:
        side_of("both", runs, CaseKey.whole, ("cpu",))
    assert refused.value.message == "several results on one side that cannot be distinguished"
    assert refused.value.legal == "one for each cpu"


def test_what_is_wrong_has_no_samples(tmp_path: Path) -> None:
    (run,) = read_source(write_run(tmp_path / "a", cases(), skips=[stored.failure(cases()[0], "wrong", 0)]))
    assert cases()[0] not in set(side_of("a side", [run], CaseKey.whole, ()).frame["case"])
