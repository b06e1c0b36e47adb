"""The counts of a process, with a fake clock and stand-ins for TensorFlow's functions.

A real program is in tests/find/test_record.py.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyopbench.find.injected import recorder as recorder_module
from pyopbench.find.injected.recorder import InputWaits, Recorder, is_in_input
from pyopbench.find.injected.tallies import MOST_SHAPES


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(tmp_path: Path, clock: Clock) -> Recorder:
    made = Recorder(tmp_path, clock)
    made.script_ops = SimpleNamespace(
        context=SimpleNamespace(executing_eagerly=lambda: True), dtypes=SimpleNamespace(as_dtype=None)
    )
    return made


@pytest.fixture
def public(recorder: Recorder, clock: Clock) -> Callable[..., Any]:
    """A stand-in for numpy_function that takes two seconds around the body."""

    def numpy_function(func: Any = None, inp: Any = None, Tout: Any = None) -> Any:  # noqa: N803 - TensorFlow's name
        clock.now += 2.0
        return func(*inp) if func is not None else "a decorator"

    return recorder._wrap_public(numpy_function, "numpy_function")


def saved(recorder: Recorder) -> dict[str, Any]:
    recorder.save()
    return dict(json.loads((recorder.folder / recorder.name).read_text(encoding="utf-8")))


def test_calls_shapes_and_seconds_are_counted_by_line(
    recorder: Recorder, public: Callable[..., Any], clock: Clock
) -> None:
    def body(x: Any) -> Any:
        clock.now += 0.5
        return x

    for length in (3, 3, 4):
        public(body, [np.ones(length, np.float32)], "float32")
    (site,) = saved(recorder)["sites"]
    assert Path(site["file"]) == Path(__file__)
    assert (site["kind"], site["mode"]) == ("numpy_function", "eager")
    assert site["body"].endswith("body")
    assert site["forward"] == {"calls": 3, "raised": 0, "seconds": 1.5}
    assert site["shapes"] == [
        {"inputs": [{"shape": [3], "dtype": "float32"}], "calls": 2, "seconds": 1.0},
        {"inputs": [{"shape": [4], "dtype": "float32"}], "calls": 1, "seconds": 0.5},
    ]


def test_the_first_and_the_last_call_are_told(recorder: Recorder, public: Callable[..., Any], clock: Clock) -> None:
    def body() -> None:
        clock.now += 0.5

    assert recorder.called is None
    clock.now = 10.0
    public(body, [])
    clock.now = 20.0
    public(body, [])
    recorder.save()
    first, last = saved(recorder)["called"]
    assert (first, last) == (12.0, 22.5)


def test_a_call_without_a_function_is_the_decorator_of_tensorflow(public: Callable[..., Any]) -> None:
    assert public(Tout="float32") == "a decorator"


def test_an_exception_passes_and_is_counted(recorder: Recorder, public: Callable[..., Any]) -> None:
    def body() -> None:
        raise StopIteration

    with pytest.raises(StopIteration):
        public(body, [])
    assert saved(recorder)["sites"][0]["forward"]["raised"] == 1


def test_recording_that_stumbles_leaves_the_program_alone(recorder: Recorder, public: Callable[..., Any]) -> None:
    recorder.script_ops = None
    assert public(lambda: 7, []) == 7
    assert "executing_eagerly" in recorder.trouble or "context" in recorder.trouble


def test_shapes_beyond_the_most_are_counted_together(recorder: Recorder, public: Callable[..., Any]) -> None:
    for length in range(MOST_SHAPES + 5):
        public(len, [np.empty(length)])
    shapes = saved(recorder)["sites"][0]["shapes"]
    assert len(shapes) == MOST_SHAPES + 1
    assert (shapes[-1]["inputs"], shapes[-1]["calls"]) == (None, 5)


def test_a_part_is_written_only_where_something_was_counted(recorder: Recorder) -> None:
    recorder.save()
    assert list(recorder.folder.iterdir()) == []
    recorder.refuse("another TensorFlow")
    assert saved(recorder)["trouble"] == "another TensorFlow"


def test_a_forked_process_begins_from_zero(recorder: Recorder, public: Callable[..., Any]) -> None:
    public(lambda: 7, [])
    name = recorder.name
    recorder._renew()
    assert recorder.name != name
    recorder.add_up()
    assert [site.forward.calls for site in recorder.sites.values()] == [0]


class WaitClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Iterator:
    """A stand-in for TensorFlow's that takes two seconds for each of three elements, and a third to find no more."""

    def __init__(self, clock: WaitClock) -> None:
        self.clock, self.left = clock, 3

    def _next_internal(self) -> int:
        self.clock.now += 2.0
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left

    get_next_as_optional = _next_internal


@pytest.fixture
def waits() -> InputWaits:
    return InputWaits(WaitClock())


def installed(waits: InputWaits, *, eager: bool) -> Any:
    """Return an iterator of a class that is wrapped."""
    kind = type("OwnedIterator", (Iterator,), {})
    waits.install(SimpleNamespace(OwnedIterator=kind, context=SimpleNamespace(executing_eagerly=lambda: eager)))
    return kind(waits.clock)


def test_elements_that_are_taken_in_eager_code_are_waited_for(waits: InputWaits) -> None:
    iterator = installed(waits, eager=True)
    assert (iterator._next_internal(), iterator.get_next_as_optional(), iterator._next_internal()) == (2, 1, 0)
    with pytest.raises(StopIteration):
        iterator._next_internal()
    assert waits.as_dict() == {"elements": 3, "seconds": 8.0}
    waits.reset()
    assert waits.as_dict() == {"elements": 0, "seconds": 0.0}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Dataset_map_lambda"], True),
        (["inner", "Dataset_flat_map_load"], True),
        (["tf_data_experimental_group_by_window_key"], True),
        (["train_step", "inner"], False),
        ([], False),
    ],
)
def test_a_function_of_a_pipeline_is_known_by_its_name(names: list[str], expected: bool) -> None:
    graph = None
    for name in reversed(names):
        graph = SimpleNamespace(name=name, outer_graph=graph)
    assert is_in_input(graph) is expected


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A recorder that waits for a module of the test's own."""
    monkeypatch.setenv(recorder_module.VARIABLE, str(tmp_path))
    monkeypatch.setattr(recorder_module, "SCRIPT_OPS", "made_up_script_ops")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "made_up_script_ops", raising=False)
    (tmp_path / "made_up_script_ops.py").write_text("value = 7\n", encoding="utf-8")
    return recorder_module.wait_for_tensorflow()


def test_a_module_without_the_functions_that_are_wrapped_is_left_alone(made: Recorder) -> None:
    assert importlib.import_module("made_up_script_ops").value == 7
    assert made.trouble


def test_every_other_module_is_found_by_the_others(made: Recorder) -> None:
    assert sys.meta_path[0].find_spec("json", None) is None


@pytest.mark.parametrize("package", [None, "pkg"])
def test_the_package_is_that_of_the_program_also_where_autograph_converted_a_decorator_of_tensorflow(
    recorder: Recorder, package: str | None
) -> None:
    """What AutoGraph makes of `@tf.py_function` is in a file of its own, with the globals of TensorFlow's module."""
    recorder.script_ops.dtypes.as_dtype = np.dtype
    converted = {"__package__": "tensorflow.python.ops", "recorder": recorder, "sys": sys}
    source = "def py_function():\n    return recorder._describe_call((None, [], 'float32'), {}, sys._getframe())\n"
    exec(compile(source, "__autograph_generated_file1.py", "exec"), converted)
    program = {"__package__": package, "py_function": converted["py_function"]}
    exec(compile("def prepare():\n    return py_function()\n", "train.py", "exec"), program)
    assert program["prepare"]()["package"] == (package or "")
