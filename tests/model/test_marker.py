"""What a worker and its parent share to know which case is being timed."""

from __future__ import annotations

import os
import tempfile

from pyopbench.model.marker import BYTES, VARIABLE, Marker


def test_what_one_end_sets_the_other_end_reads() -> None:
    with tempfile.TemporaryFile() as stream:
        stream.truncate(BYTES)
        parent = Marker(stream)
        with tempfile.NamedTemporaryFile() as other:
            other.truncate(BYTES)
            assert Marker(other).get() is None
        child = Marker(stream)
    child.set("sinh/native")
    assert parent.get() == "sinh/native"
    child.set("log")
    assert parent.get() == "log"
    parent.clear()
    assert child.get() is None


def test_a_marker_is_inherited_by_the_number_of_its_file() -> None:
    with tempfile.TemporaryFile() as stream:
        stream.truncate(BYTES)
        parent = Marker(stream)
        child = Marker.inherited({VARIABLE: str(os.dup(stream.fileno()))})
    child.set("relu")
    assert parent.get() == "relu"
