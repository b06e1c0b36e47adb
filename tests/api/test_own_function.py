"""A function with its examples becomes what a command line would name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import places
from pyopbench.api.measure import WAY_OUT, op_in_words
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import Target
from pyopbench.ports.extract.definitions import CannotPort
from refusals import refused

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def targets(op: Any, inputs: Any, folder: Path) -> Mapping[str, Target]:
    word, words = op_in_words(op, inputs, folder)
    return read_ops([word], words)[1]


def test_a_function_of_a_module_is_named_by_its_file(tmp_path: Path) -> None:
    (target,) = targets(places.line_of, [X, "text"], tmp_path).values()
    assert (target.name, target.place, target.function) == ("line_of", places.__file__, "line_of")
    array, text = target.inputs
    np.testing.assert_array_equal(np.load(array), X)
    assert text == "'text'"


def test_a_function_without_a_file_is_named_by_its_module(tmp_path: Path) -> None:
    (target,) = targets(np.sinh, X, tmp_path).values()
    assert (target.place, target.function) == ("numpy", "sinh")


def test_the_source_of_another_function_is_shipped(tmp_path: Path) -> None:
    def body(x: Any) -> Any:
        return x + 1

    (target,) = targets(body, X, tmp_path).values()
    path = Path(target.place)
    assert (path.parent, target.function) == (tmp_path / "op", "body")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    assert scope["body"](1) == 2


def shipped(op: Any, folder: Path) -> Any:
    """Return the function that other processes get."""
    (target,) = targets(op, X, folder).values()
    scope: dict[str, Any] = {}
    exec(compile(Path(target.place).read_text(encoding="utf-8"), target.place, "exec"), scope)
    return scope[target.function]


def test_what_a_function_captures_is_shipped_with_it(tmp_path: Path) -> None:
    factor, weights = 3, np.array([1.0, 2.0, 3.0], np.float32)

    def body(x: Any) -> Any:
        return x * factor + weights

    np.testing.assert_array_equal(shipped(body, tmp_path)(X), body(X))
    np.testing.assert_array_equal(shipped(lambda x: x - factor, tmp_path)(X), X - factor)
    np.testing.assert_array_equal(shipped(partial(np.add, weights), tmp_path)(X), X + weights)


def test_a_function_of_the_program_itself_brings_values_and_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the program computed is written down: its statements are not run again."""
    source = "import math\n\nSCALE = sum(range(3)) + math.pi\n\n\ndef half(x):\n    return x / 2\n\n\n"
    source += "def body(x):\n    return half(x) * SCALE\n"
    path = tmp_path / "program.py"
    path.write_text(source, encoding="utf-8")
    scope: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(source, str(path), "exec"), scope)
    (target,) = targets(scope["body"], X, tmp_path).values()
    text = Path(target.place).read_text(encoding="utf-8")
    assert f"SCALE = {scope['SCALE']!r}" in text
    np.testing.assert_array_equal(shipped(scope["body"], tmp_path)(X), scope["body"](X))


def test_what_cannot_be_sent_is_refused_by_name_with_the_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def body(x: Any) -> Any:
        return x + rng.random()

    with pytest.raises(BadInput) as caught:
        targets(body, X, tmp_path)
    assert caught.value.received == f"{body.__qualname__}, {__file__} line {body.__code__.co_firstlineno + 1}"
    assert isinstance(caught.value.__cause__, CannotPort)
    assert WAY_OUT in caught.value.hint


def test_the_same_function_and_examples_are_the_same_op(tmp_path: Path) -> None:
    """So that a run can be continued; what changed is another one, and the files of the first stay."""

    def body(x: Any) -> Any:
        return x + 1

    first = targets(body, X, tmp_path)["body"].fingerprint
    assert targets(body, X.copy(), tmp_path)["body"].fingerprint == first
    assert targets(body, X + 1, tmp_path)["body"].fingerprint != first

    def body(x: Any) -> Any:  # type: ignore[no-redef]
        return x + 2

    assert targets(body, X, tmp_path)["body"].fingerprint != first
    assert len([*(tmp_path / "op").glob("body_*.py")]) == 2


@pytest.mark.parametrize(
    ("inputs", "expressions"),
    [
        ([3, 2.5, None, b"x"], ["3", "2.5", "None", "b'x'"]),
        ({"n": 3, "names": ["a", "b"]}, ["n=3", "names=['a', 'b']"]),
        ("text", ["'text'"]),
        (7, ["7"]),
    ],
)
def test_plain_values_are_expressions(tmp_path: Path, inputs: Any, expressions: list[str]) -> None:
    (target,) = targets(places.line_of, inputs, tmp_path).values()
    assert list(target.inputs) == expressions
    assert not (tmp_path / "op").exists()


def test_tensors_and_scalars_of_numpy_are_arrays(tmp_path: Path) -> None:
    tensor = SimpleNamespace(numpy=lambda: X)
    (target,) = targets(places.line_of, [tensor, np.int32(3)], tmp_path).values()
    first, second = (np.load(path) for path in target.inputs)
    np.testing.assert_array_equal(first, X)
    assert (second.dtype, second.shape, int(second)) == (np.int32, (), 3)


@pytest.mark.parametrize("value", [object(), np.array([object()]), [object()], float("nan"), [1.0] * 10_000])
def test_an_example_that_cannot_be_stored_is_refused(tmp_path: Path, value: Any) -> None:
    with refused("argument 1 cannot be stored as an example"):
        targets(places.line_of, [value], tmp_path)


def test_an_op_is_named_as_on_the_command_line(tmp_path: Path) -> None:
    assert op_in_words("sinh", None, tmp_path) == ("sinh", [])
    with refused("not an op"):
        targets(3, None, tmp_path)
    with refused("a function needs one example per argument, positional ones first; an op file has its own inputs"):
        targets(places.line_of, None, tmp_path)
