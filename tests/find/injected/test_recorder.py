"""The counts of a process, with a fake clock and stand-ins for TensorFlow's functions.

A real program is in tests/find/record/test_run.py.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyopbench.find.injected.recorder import Recorder
from pyopbench.find.injected.tallies import MOST_SHAPES, Site


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
    assert site["forward"] == {"calls": 3, "raised": 0, "seconds": 1.5, "outside_calls": 3, "outside_seconds": 7.5}
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


def test_two_lines_are_two_sites_and_keywords_work(recorder: Recorder, public: Callable[..., Any]) -> None:
    assert public(func=lambda: 7, inp=[]) == 7
    public(func=lambda: 7, inp=[])
    assert len(saved(recorder)["sites"]) == 2


def test_a_call_without_a_function_is_the_decorator_of_tensorflow(public: Callable[..., Any]) -> None:
    assert public(Tout="float32") == "a decorator"


def test_an_exception_passes_and_is_counted(recorder: Recorder, public: Callable[..., Any]) -> None:
    def body() -> None:
        raise StopIteration

    with pytest.raises(StopIteration):
        public(body, [])
    assert saved(recorder)["sites"][0]["forward"]["raised"] == 1


def test_a_function_that_is_counted_already_is_not_counted_twice(
    recorder: Recorder, public: Callable[..., Any]
) -> None:
    outer = recorder._wrap_public(public, "py_func")
    outer(lambda: None, [])
    assert [site["forward"]["calls"] for site in saved(recorder)["sites"]] == [1]


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


def test_a_folder_that_is_gone_does_not_stop_the_program(recorder: Recorder, public: Callable[..., Any]) -> None:
    public(lambda: 7, [])
    recorder.folder = recorder.folder / "gone"
    recorder.save()


def test_a_forked_process_begins_from_zero(recorder: Recorder, public: Callable[..., Any]) -> None:
    public(lambda: 7, [])
    name = recorder.name
    recorder._renew()
    assert recorder.name != name
    recorder.add_up()
    assert [site.forward.calls for site in recorder.sites.values()] == [0]


def test_the_gradient_of_py_function_belongs_to_its_site(recorder: Recorder) -> None:
    site = Site(("a.py", 1, "f", "py_function", "graph"), "g")
    recorder.sites[site.key] = site
    counted = recorder.count(lambda x: x, site.forward, site, "py_function")
    recorder.script_ops._py_funcs = {"pyfunc_7": SimpleNamespace(_func=counted)}
    token = b"pyfunc_7"

    def gradient(*dy: Any) -> Any:
        return token, dy

    made = recorder._wrap_gradient(lambda func, is_grad_func: func)(func=gradient, is_grad_func=True)
    assert made(1.0) == (token, (1.0,))
    recorder.add_up()
    assert (site.gradient.calls, site.forward.calls) == (1, 0)


def test_importing_the_injected_module_does_nothing_by_itself() -> None:
    spec = importlib.util.find_spec("pyopbench.find.injected.sitecustomize")
    assert spec is not None
    importlib.import_module("pyopbench.find.injected.sitecustomize")
