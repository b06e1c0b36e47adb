"""Batched forms of a body of the corpus: those that are right are, and gains are over a loop."""

from __future__ import annotations

import pytest

from bodies import blocks, find, in_batches
from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import OWN_OPS, load_own


def test_forms_of_a_batch_are_begun_and_then_told(monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = find.paths(["haversine"])
    target = read_target(str(path), [], [])
    monkeypatch.setitem(OWN_OPS, target.name, target)
    lines = list(in_batches.in_batches(load_own(target), 4, ["njit_loop"], timed=False))
    assert [line["begun"] for line in lines[::2]] == ["numpy_whole", "traced_whole", "traced_map"]
    told = {line["form"]: line["became"] for line in lines[1::2]}
    assert told["traced_map"] == "right"
    assert {line["batch"] for line in lines[1::2]} == {4}


def test_a_gain_is_how_many_times_as_fast() -> None:
    calls = []
    found = blocks.gain_of(lambda: calls.append("current"), lambda: calls.append("form"), seed=1)
    assert found > 0
    assert {"current", "form"} == set(calls)
