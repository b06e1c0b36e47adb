"""What a program waits for its iterators: in eager code by a fake clock, in a graph by TensorFlow's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyopbench.find.injected.input_waits import InputWaits, is_in_input


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Iterator:
    """A stand-in for TensorFlow's that takes two seconds for each of three elements, and a third to find no more."""

    def __init__(self, clock: Clock) -> None:
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
    return InputWaits(Clock())


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


def test_a_graph_that_cannot_be_measured_is_left_as_it_is_with_word_of_it(
    waits: InputWaits, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(tf: Any) -> None:
        raise RuntimeError("no variable here")

    monkeypatch.setattr(waits, "_variable", refuse)
    assert installed(waits, eager=False)._next_internal() == 2
    assert waits.trouble == "RuntimeError('no variable here')"
    assert waits.as_dict() == {"elements": 0, "seconds": 0.0}


def test_what_was_read_last_counts_when_tensorflow_has_ended(waits: InputWaits) -> None:
    def gone() -> None:
        raise RuntimeError("gone")

    waits.read = [5, 1.0]
    waits.in_graphs = SimpleNamespace(numpy=gone)
    assert waits.as_dict() == {"elements": 5, "seconds": 1.0}
    assert waits.trouble == "RuntimeError('gone')"


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
