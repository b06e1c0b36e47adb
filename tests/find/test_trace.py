"""`record --trace`: each call is a slice, waits have tracks of their own, and Perfetto reads it as it is meant."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pyopbench.find.injected.slices import MOST_SLICES, Slices
from pyopbench.find.injected.tallies import Site, describe_arrays
from pyopbench.find.record import TRACKS, record, trace_of
from pyopbench.model.errors import BadInput

PROGRAM = """
import numpy as np
import tensorflow as tf

def load(x):
    return x + np.int64(1)

def double(x):
    return 2 * x

data = tf.data.Dataset.range(12).map(lambda x: tf.numpy_function(load, [x], tf.int64), num_parallel_calls=2)
assert len(list(data)) == 12
for _ in range(5):
    tf.py_function(double, [tf.ones([3])], tf.float32)
with tf.GradientTape() as tape:
    x = tf.ones([2, 2])
    tape.watch(x)
    y = tf.reduce_sum(tf.function(lambda x: tf.py_function(double, [x], tf.float32))(x))
assert tape.gradient(y, x) is not None
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    (folder / "program.py").write_text(PROGRAM)
    code, _ = record([sys.executable, str(folder / "program.py")], folder / "r.json", folder / "t.json")
    assert code == 0
    assert not list(folder.glob("*.parts"))
    return folder / "t.json"


def test_a_real_program_has_a_slice_for_each_call(traced: Path) -> None:
    events = json.loads(traced.read_text())["traceEvents"]
    calls = [event for event in events if event.get("cat") == "call"]
    assert Counter(event["name"] for event in calls) == {"load": 12, "double": 6, "gradient of double": 1}
    assert {event["args"]["inputs"][0] for event in calls if event["name"] == "double"} == {
        "float32[3]",
        "float32[2, 2]",
    }
    assert all(event["dur"] > 0 and event["tid"] > max(TRACKS.values()) for event in calls)
    waits = [event for event in events if event.get("cat") == "input"]
    assert len(waits) >= 12
    assert {event["tid"] for event in waits} == {TRACKS["waiting for input"]}


def test_perfetto_finds_as_many_slices(traced: Path) -> None:
    binary = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if importlib.util.find_spec("perfetto") is None or binary is None:
        pytest.skip("needs the package `perfetto`, and its trace_processor_shell on PATH or named by TRACE_PROCESSOR")
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    with TraceProcessor(trace=str(traced), config=TraceProcessorConfig(bin_path=binary)) as processor:
        rows = processor.query("select name, count(*) as n from slice where category = 'call' group by name")
        assert {row.name: row.n for row in rows} == {"load": 12, "double": 6, "gradient of double": 1}
        names = {row.name for row in processor.query("select name from thread")}
        assert set(TRACKS) <= names


class Clock:
    """A clock that goes on by a second with each reading."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def rows_of(slices: Slices, site: Site) -> list[list[Any]]:
    return list(slices.take({id(site.forward): site, id(site.gradient): site}, str))


def test_a_call_is_kept_with_its_times_shapes_and_whether_it_raised() -> None:
    slices, site = Slices(Clock()), Site(("a.py", 3, "g", "numpy_function", "graph"), "f")

    def body(x: Any) -> Any:
        return x[0]

    sliced = slices.wrap(body, site.forward, describe_arrays, body)
    sliced([7])
    with pytest.raises(IndexError):
        sliced([])
    first, second = rows_of(slices, site)
    assert (first[:3], first[-1]) == (["call", 1.0, 2.0], False)
    assert (second[:3], second[-1]) == (["call", 3.0, 4.0], True)
    assert first[4:11] == ["a.py", 3, "g", "numpy_function", "graph", "f", "forward"]
    assert rows_of(slices, site) == []


def test_there_is_an_end_to_what_is_kept() -> None:
    slices, site = Slices(Clock()), Site(("a.py", 3, "g", "numpy_function", "graph"), "f")
    slices.kept = MOST_SLICES - 1
    sliced = slices.wrap(len, site.gradient, describe_arrays, len)
    assert [sliced([1]), sliced([1])] == [1, 1]
    assert [row[10] for row in rows_of(slices, site)] == ["gradient"]


def test_times_are_microseconds_and_waits_have_their_tracks(tmp_path: Path) -> None:
    call = ["call", 1.0, 1.5, 99, "a.py", 3, "g", "py_function", "eager", "f", "forward", [[[2], "int8"]], False]
    rows = [call, ["input", 2.0, 2.25, 99], ["gil", 3.0, 3.001, 7]]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "7-1.slices").write_text(f'{text}["call", 4.0, 4.')  # it was killed while it wrote
    events = [event for event in trace_of(tmp_path, ["python"])["traceEvents"] if event["ph"] == "X"]
    assert [(event["ts"], event["dur"], event["pid"]) for event in events] == [
        (1e6, 5e5, 7),
        (2e6, 2.5e5, 7),
        (3e6, pytest.approx(1e3), 7),
    ]
    assert [event["tid"] for event in events] == [99, TRACKS["waiting for input"], TRACKS["waiting for the GIL"]]


def test_a_trace_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "t.json").touch()
    with pytest.raises(BadInput) as refused:
        record([sys.executable, "-c", ""], tmp_path / "r.json", tmp_path / "t.json")
    assert refused.value.received == tmp_path / "t.json"


def test_a_trace_that_cannot_be_kept_apart_is_refused_and_its_folder_is_made_first(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        record([sys.executable, "-c", ""], tmp_path / "r.json", tmp_path / "a" / ".." / "r.json")
    assert not list(tmp_path.iterdir())
    record([sys.executable, "-c", ""], tmp_path / "r.json", tmp_path / "new" / "t.json")
    assert json.loads((tmp_path / "new" / "t.json").read_text())["traceEvents"] == []
