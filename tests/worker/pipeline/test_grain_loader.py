"""Grain's workers call the body, and elements come in their order; only where Grain is installed."""

from __future__ import annotations

import os
import sys
from itertools import islice
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest

from pyopbench.model.own_target import read_target

pytest.importorskip("grain", reason="pip install 'pyopbench[grain]'")

from pyopbench.worker.pipeline import grain_loader

SOURCE = "from pyopbench import OwnOp\nOP = OwnOp(inputs=None, numpy=lambda x: 2 * x)\n"
INPUTS = tuple((np.full(3, place, np.float32),) for place in range(10))


@pytest.mark.parametrize("batch", [0, 4])
def test_elements_come_in_order_from_several_workers_and_begin_again(batch: int, tmp_path: Path) -> None:
    path = tmp_path / "doubled.py"
    path.write_text(SOURCE, encoding="utf-8")
    target = read_target(str(path), [], [])
    rows = grain_loader.load_elements(INPUTS, grain_loader.CallBody("doubled", target, ("float32",)), batch, 2)
    found = list(islice(rows, 5 if batch else 20))
    numbers = np.concatenate([np.atleast_1d(number) for number, _ in found])
    outputs = np.concatenate([np.atleast_2d(output) for _, output in found])
    np.testing.assert_array_equal(numbers, np.arange(20) % 10)
    np.testing.assert_array_equal(outputs, np.repeat(2.0 * (np.arange(20) % 10), 3).reshape(20, 3))


@pytest.mark.skipif(sys.platform != "linux", reason="sessions are looked at by the id of the process")
def test_what_frees_named_memory_is_in_a_session_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_tracker, "ensure_running", tracker.ensure_running)
    grain_loader._keep_tracker_apart()
    try:
        assert tracker._pid is not None
        assert os.getsid(tracker._pid) != os.getsid(0)
    finally:
        tracker._stop()


tracker = resource_tracker.ResourceTracker()
"""Another one than that of this process, which other tests may have started."""
