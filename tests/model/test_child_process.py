"""The memory that a worker and its parent share to know which case is being timed."""

from __future__ import annotations

import os
import tempfile

from pyopbench.model.child_process import MARKER_BYTES, MARKER_VARIABLE, Marker


def test_what_one_end_sets_the_other_end_reads_from_the_file_that_it_inherits() -> None:
    with tempfile.TemporaryFile() as stream:
        stream.truncate(MARKER_BYTES)
        parent = Marker(stream.fileno())
        assert Marker.inherited({}).get() is None
        child = Marker.inherited({MARKER_VARIABLE: str(os.dup(stream.fileno()))})
    child.set("sinh/native")
    assert parent.get() == "sinh/native"
    child.set("log")
    assert parent.get() == "log"
    parent.set("")
    assert child.get() is None
