"""A probe's outcome becomes a finding, whatever it raises; and a worker describes what there is to probe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyopbench.model.discover import find, find_probes
from pyopbench.worker import probe
from pyopbench.worker.subject import Differs, Fails, Inapplicable, Probe, Raised, Seen, Subject


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Seen("a remark", {"gain": 2.0}), ("works", "a remark", "")),
        (Fails("own words"), ("fails", "own words", "")),
        (Differs("4 and not 5"), ("silently wrong", "4 and not 5", "")),
        (Inapplicable("a reason"), ("does not apply", "a reason", "")),
        (Raised("told", "all words"), ("fails", "told", "all words")),
        (Raised("told", 'File "/home/me/a.py", line 3'), ("fails", "told", 'File "a.py", line 3')),
        (KeyError("pyfunc_13"), ("fails", "KeyError: 'pyfunc_N'", "KeyError: 'pyfunc_13'")),
        (ValueError("x" * 5000), ("fails", None, "ValueError: " + "x" * 3988)),
    ],
)
def test_each_outcome_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, outcome: Any, expected: tuple[str, str | None, str]
) -> None:
    def run(subject: Subject) -> Seen:
        if isinstance(outcome, Seen):
            return outcome
        raise outcome

    monkeypatch.setitem(probe.PROBES, "made_up", Probe("made up", run))
    found = probe.find_out("made_up", "native", "autodiff", Path())
    status, told, words = expected
    assert (found.status, found.words) == (status, words)
    assert told is None or found.told == told
    assert found.figures == ({"gain": 2.0} if status == "works" else {})


def test_a_worker_describes_every_probe_and_variant() -> None:
    described = probe.describe({"do": "probes"}, lambda event: None)
    assert set(described["probes"]) == set(find_probes())
    assert all(described["probes"].values())
    assert set(described["variants"]) == set(find("variants"))
    assert described["variants"]["py_function"]["gradients"][0] == "tape"
    assert described["environment"]["tensorflow"]
