"""What happens to a fleet, in words: each kind has a sentence, and all that is told of it stands in there."""

from __future__ import annotations

from typing import get_args

import pytest

from pyopbench.engine.fleet import messages as fleet
from pyopbench.engine.fleet.dispatch import Snapshot
from pyopbench.store.fleet_findings import FleetEvent, HostProblem, Kind, Lack, OddHost


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_event_has_a_sentence_of_one_line(kind: Kind) -> None:
    text = fleet.event_text(FleetEvent(kind, "hosty", 7, 61.0, "no\nroom"))
    assert "\n" not in text
    assert "hosty" in text or kind in ("given_up", "not_heard", "heard_again")


@pytest.mark.parametrize("kind", get_args(Lack))
def test_every_problem_of_a_host_has_words(kind: Lack) -> None:
    assert fleet.problem_text(HostProblem("hosty", kind, "told", -2.0))


def test_what_a_host_said_is_cut_from_its_beginning() -> None:
    text = fleet.event_text(FleetEvent("failed", "hosty", 7, told=f"{'x' * 5000} END"))
    assert text.endswith("END")
    assert len(text) < 300


@pytest.mark.parametrize("kind", ["wrong_here", "wrong_only_here", "noisy"])
def test_an_odd_host_is_named_with_its_shards(kind: str) -> None:
    text = fleet.odd_text(OddHost("hosty", kind, 3, 0.2, 0.02, (4, 9)))  # type: ignore[arg-type]
    assert all(word in text for word in ("hosty", "4", "9"))


def test_progress_says_how_many_are_here_and_how_long_it_takes() -> None:
    snapshot = Snapshot(3, 1200, {"a": (4, 1.0)}, ("b",), 90.0)
    assert fleet.progress_text(snapshot).startswith("3 of 1,200 ")
    assert fleet.left_text(snapshot)
    assert fleet.left_text(Snapshot(0, 4, {}, (), None)) == ""


def test_kinds_of_machines_are_listed() -> None:
    assert len(fleet.kinds_text([["a", "b"]])) == 1
    assert len(fleet.kinds_text([["a", "b"], ["c"]])) == 2
