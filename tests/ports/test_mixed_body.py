"""Bodies of `tf.py_function` that compute with tensors and arrays: they are rewritten for arrays, or refused."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.ops.own.complete import complete
from pyopbench.ports.arrays import as_given, as_tuple, is_same
from pyopbench.ports.eager_body import body_on_arrays
from pyopbench.ports.porting.refusal import CannotPort
from written_ports import run_its_test, write

X = np.random.default_rng(0).normal(size=(4, 5, 5)).astype(np.float32)
ROW = X[0, 0]
SQUARE = np.random.default_rng(1).normal(size=(50, 50)).astype(np.float32)
WHOLE = np.arange(6, dtype=np.int32).reshape(2, 3)


def greedy_places(scores: Any) -> Any:
    taken = np.zeros(scores.shape[:2].as_list(), np.int32)
    found = np.zeros_like(taken)
    for place in range(scores.shape[1]):
        row = scores[:, place, :]
        row = row - taken * 1e9
        best = np.argmax(row, axis=1)
        found[:, place] = best
        taken[np.arange(len(taken)), best] = 1
    return found


def adds_in_place(x: Any) -> Any:
    y = np.linspace(0, 1, x.shape[0])
    x -= y * 3 / 7
    return np.sum(x)


def of_numbers_of_numpy(x: Any) -> Any:
    return np.tanh(x * np.float64(1.1))


def where_larger(x: Any) -> Any:
    return np.where(x > np.linspace(-1, 1, 5), x, 0)


def with_a_list(x: Any) -> Any:
    return np.sort(x * [0.1, 0.2, 0.3, 0.4, 0.5])


def of_whole_numbers(x: Any) -> Any:
    return np.cumsum(x * np.arange(3) + 2, axis=0)


def _scaled(x: Any) -> Any:
    return x / np.max(x)


def with_a_helper(x: Any) -> Any:
    return np.sort(_scaled(x))


def makes_tensors(x: Any) -> Any:
    return tf.constant(np.cos(x[1:])), tf.cast(np.floor(x.numpy() * 4), tf.int32)


def of_attributes(x: Any) -> Any:
    rows = x.get_shape().as_list()
    return np.ones(rows, x.dtype.as_numpy_dtype) * x[::-1] + np.float32(x.shape.rank)


def has_a_branch_without_tensors(x: Any) -> Any:
    whole = np.sum(x[1:])
    if whole == 0.0:
        whole = np.finfo(np.float32).eps
    return np.asarray(x) / whole


def counts_in_tensors(x: Any) -> Any:
    k = 0
    while k < 5:
        k += x[0, 1] + np.int64(1)
    return np.asarray(k)


of_a_lambda = lambda x: np.argsort(-x)  # noqa: E731


def has_a_branch(x: Any) -> Any:
    if x.shape[0] > 100:
        x = x * np.float64(2)
    return np.sum(x - 1)


MIXED: list[tuple[Callable[..., Any], Any]] = [
    (greedy_places, X),
    (adds_in_place, ROW),
    (of_numbers_of_numpy, ROW),
    (where_larger, ROW),
    (with_a_list, ROW),
    (of_whole_numbers, WHOLE),
    (with_a_helper, ROW),
    (makes_tensors, ROW),
    (of_attributes, ROW),
    (has_a_branch_without_tensors, ROW),
    (counts_in_tensors, WHOLE),
    (of_a_lambda, ROW),
    (has_a_branch, ROW),
]


def rewrite_for_arrays(body: Any, examples: Any) -> Any:
    return body_on_arrays(body, examples, needs_tape=False)


def text_of(body: Any) -> str:
    return "".join(linecache.getlines(body.__code__.co_filename))


@pytest.mark.parametrize(("body", "given"), MIXED, ids=[one.__name__ for one, _ in MIXED])
def test_a_rewritten_body_returns_for_arrays_what_the_old_one_does_for_tensors(body: Any, given: Any) -> None:
    found = rewrite_for_arrays(body, [(given,)])
    assert found is not None
    before = given.copy()
    new, old = as_tuple(found(*as_given((given,)))), as_tuple(body(tf.constant(given)))
    assert len(new) == len(old)
    assert all(map(is_same, new, old))
    assert is_same(given, before)


def largest(x: Any) -> Any:
    return max(map(float, x.numpy().ravel()))


def test_numpy_is_imported_for_a_body_whose_module_does_not_import_it() -> None:
    found = rewrite_for_arrays(largest, [(ROW,)])
    assert found is not None
    assert found(*as_given((ROW + 1,))) == (ROW + 1).max()


def test_an_array_gets_the_dtype_of_the_tensor_it_meets_and_nothing_else_changes() -> None:
    text = text_of(rewrite_for_arrays(greedy_places, [(X,)]))
    changed = set(text.splitlines()) - set(ast.unparse(ast.parse(inspect.getsource(greedy_places))).splitlines())
    assert "        row = row - np.asarray(taken * 1e9, dtype=np.float32)" in changed
    assert "    taken = np.zeros(list(scores.shape[:2]), np.int32)" in changed
    assert len(changed) == 2 + 3, "NumPy and the empty lines above the function"


def test_a_body_without_arrays_is_one_of_tensorflow() -> None:
    assert rewrite_for_arrays(lambda x: x * 2 + 1, [(ROW,)]) is None


def calls_tensorflow(x: Any) -> Any:
    y = tf.sin(x)
    return np.sum(y)


def meets_both(x: Any) -> Any:
    y = np.zeros(5)
    for one in (x, x.numpy()):
        y = y + one * np.float64(2)
    return np.sum(y)


def writes_to_memory(x: Any) -> Any:
    y = np.asarray(x * 1)
    z = x.numpy()
    z[0] = 5
    return y + z


def may_become_an_array(x: Any) -> Any:
    y = -x
    if np.sum(x) > 100:
        y = np.zeros(5)
    return np.sum(y + np.arange(5))


def may_become_a_tensor(x: Any) -> Any:
    y = np.zeros(5)
    if x.shape[0] > 100:
        y = x
    return np.sum(x) + y


def may_stay_a_tensor(x: Any) -> Any:
    """TensorFlow would keep float32 where the first line does not run."""
    if np.sum(x) < 100:
        x = x.numpy()
    return x + np.arange(5)


def of_one_way(x: Any) -> Any:
    y = x if x.shape[0] < 100 else np.zeros(5)
    return np.asarray(y + np.arange(5))


def of_another_default(x: Any) -> Any:
    y = np.zeros(5) if np.sum(x) < 100 else x
    return np.sum(x) + y


def may_call_a_helper_with_an_array(x: Any) -> Any:
    """Of a tensor TensorFlow would make float32, of an array NumPy makes float64."""

    def grown(one: Any) -> Any:
        return one * np.float64(1.1)

    if np.sum(x) < 100:
        return np.asarray(grown(x)) + np.zeros(5)
    return np.asarray(grown(np.ones(5, np.float32)))


def _grown(one: Any) -> Any:
    return one * np.float64(1.1)


def may_call_a_helper_with_a_tensor(x: Any) -> Any:
    y = np.asarray(_grown(np.ones(5, np.float32)))
    if np.sum(x) < 100:
        return y + x.numpy() + np.asarray(x * np.arange(5))
    return np.asarray(_grown(x))


REFUSED: list[tuple[Callable[..., Any], Any, int]] = [
    (calls_tensorflow, ROW, 1),
    (meets_both, ROW, 3),
    (may_become_an_array, ROW, 4),
    (may_become_a_tensor, ROW, 4),
    (may_stay_a_tensor, ROW, 4),
    (of_one_way, ROW, 2),
    (of_another_default, ROW, 2),
    (may_call_a_helper_with_an_array, ROW, 4),
    (may_call_a_helper_with_a_tensor, ROW, -3),
]


@pytest.mark.parametrize(("body", "given", "line"), REFUSED, ids=[one.__name__ for one, _, _ in REFUSED])
def test_what_is_not_the_same_is_refused_with_its_line(body: Any, given: Any, line: int) -> None:
    with pytest.raises(CannotPort) as caught:
        rewrite_for_arrays(body, [(given,)])
    assert caught.value.place == (__file__, body.__code__.co_firstlineno + line)
    assert caught.value.fix


def sorts_in_place(x: Any) -> Any:
    y = x.numpy()
    y.sort()
    return y + np.asarray(x * np.arange(5))


@pytest.mark.parametrize(("body", "given"), [(writes_to_memory, ROW), (sorts_in_place, np.sort(ROW))])
def test_a_body_that_writes_to_an_input_is_refused_also_where_that_changes_nothing(body: Any, given: Any) -> None:
    with pytest.raises(CannotPort) as caught:
        rewrite_for_arrays(body, [(given.copy(),)])
    assert caught.value.place is not None


def test_each_recorded_call_counts() -> None:
    """In the second call, TensorFlow rounds another number."""

    def body(x: Any) -> Any:
        y = np.zeros(1)
        return x + 1 if x.shape[0] == 5 else np.asarray(x @ x) + y

    with pytest.raises(CannotPort):
        rewrite_for_arrays(body, [(ROW,), (SQUARE,)])


@pytest.mark.parametrize("to", ["traced", "numba_op", "numpy_function"])
def test_a_port_of_it_is_written_with_a_test_against_the_body_on_tensors(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"mixed_{to}.py"
    head = "import numpy as np\nfrom pyopbench import OwnOp\n\n\n"
    body = "def body(x):\n    flag = np.arange(4)\n    return np.argmax(x - flag * 1e9) + flag\n"
    op = "\n\nOP = OwnOp(inputs=(np.arange(4, dtype=np.float32),), py_function=body)\n"
    path.write_text(head + body + op, encoding="utf-8")
    made = write(str(path), to=to)
    assert run_its_test(made, tmp_path, monkeypatch)
    assert "x - flag * 1e9" in made.test
    assert "x - flag * 1e9" not in made.port


def test_where_it_is_refused_the_op_says_why_and_where() -> None:
    op = complete(OwnOp(inputs=(ROW,), py_function=calls_tensorflow, differentiable=()), "mine", Path())
    assert op.own is not None
    assert op.own.refused is not None
    assert op.own.refused.place == (__file__, calls_tensorflow.__code__.co_firstlineno + 1)


def test_a_gradient_that_the_tape_finds_keeps_the_body_as_it_is() -> None:
    def body(x: Any) -> Any:
        return x * np.linspace(0, 1, 5)

    found = [complete(OwnOp(inputs=(ROW,), py_function=body, differentiable=one), "mine", Path()) for one in (None, ())]
    assert [one.is_on_tensors for one in found] == [True, False]
    assert [one.own is not None and one.own.refused is not None for one in found] == [True, False]
