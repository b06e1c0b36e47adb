"""Elements are picked and replaced by NumPy's rules, and what NumPy makes a view is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays_of

from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.refusal import Refused
from traced_compare import difference, difference_in_graph, graph

FEW = settings(max_examples=50, derandomize=True, deadline=None, database=None)
SHAPES = arrays_of.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


def counted(shape: tuple[int, ...]) -> Any:
    """Return an array in which no two elements are the same."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _entry(size: int) -> st.SearchStrategy[Any]:
    places = st.integers(-size, size - 1)
    return st.one_of(
        places,
        st.lists(places, min_size=2, max_size=2),
        st.lists(places, min_size=1, max_size=1),
        st.slices(size),
        st.just(None),
        st.lists(st.booleans(), min_size=size, max_size=size).map(np.array),
    )


@st.composite
def basic(draw: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Draw an array and a key of integers, slices, None and Ellipsis."""
    shape = draw(SHAPES)
    return counted(shape), draw(arrays_of.basic_indices(shape, allow_newaxis=True, max_dims=6))


@st.composite
def mixed(draw: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Draw an array and a key of all that NumPy takes, of as many axes or fewer."""
    shape = draw(SHAPES)
    count = draw(st.integers(1, len(shape)))
    entries, axis = [], 0
    while axis < count:
        entries.append(draw(_entry(shape[axis])))
        axis += entries[-1] is not None
    if draw(st.booleans()):
        entries.insert(draw(st.sampled_from([0, len(entries)])), Ellipsis)
        if entries[0] is Ellipsis and count < len(shape):
            return counted(shape), tuple(entries[1:])
    return counted(shape), tuple(entries)


def put(key: Any, new: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a body that replaces elements of its argument."""

    def body(x: Any) -> Any:
        x = x.copy()
        x[key] = new(x[key])
        return x

    return body


def add(key: Any) -> Callable[[Any], Any]:
    """Return a body that adds to elements of its argument in place."""

    def body(x: Any) -> Any:
        x = x.copy()
        x[key] += 10
        return x

    return body


@FEW
@given(basic())
def test_integers_and_slices(drawn: tuple[Any, Any]) -> None:
    x, key = drawn
    assert difference(lambda x: x[key], x) == ""
    assert difference(put(key, lambda _: -1), x) == ""
    assert difference(put(key, lambda found: found * 2 + 1), x) == ""
    assert difference(add(key), x) == ""


@FEW
@given(mixed())
def test_arrays_of_indices_and_masks(drawn: tuple[Any, Any]) -> None:
    x, key = drawn
    assert difference(lambda x: x[key], x) == ""
    assert difference(put(key, lambda _: -1), x) == ""
    assert difference(add(key), x) == ""


@FEW
@given(SHAPES, st.data())
def test_of_several_values_for_a_place_the_last_counts(shape: tuple[int, ...], data: Any) -> None:
    places = data.draw(st.lists(st.integers(-shape[0], shape[0] - 1), min_size=1, max_size=6))
    new = counted((len(places), *shape[1:])) + 100

    def body(x: Any, places: Any) -> Any:
        x = x.copy()
        x[places] = new
        return x

    assert difference(body, counted(shape), np.array(places)) == ""


@FEW
@given(SHAPES, st.data())
def test_masks_of_several_axes(shape: tuple[int, ...], data: Any) -> None:
    rank = data.draw(st.integers(1, len(shape)))
    mask = data.draw(arrays_of.arrays(bool, shape[:rank]))

    def body(x: Any, mask: Any) -> Any:
        y = x.copy()
        y[mask] = -1
        z = x.copy()
        z[mask] = z[~mask].sum(axis=0) if z.ndim > rank else z[~mask].sum()
        z[mask] *= 2
        return x[mask], y, z

    assert difference(body, counted(shape), mask) == ""


def test_masks_in_a_graph_that_does_not_know_sizes() -> None:
    def body(x: Any, mask: Any) -> Any:
        y = x.copy()
        y[mask] = x[~mask].sum(axis=0)
        y[mask] *= 2
        y[~mask, 1:] = 0
        return x[mask], y, y[mask, 0], x[mask][:, [1, 0]]

    for mask in ([True, False, True], [False] * 3, [True] * 3):
        assert difference_in_graph(body, counted((3, 2)), np.array(mask), dynamic=True) == ""


STEPS: dict[str, Callable[[Any], Any]] = {
    "first": lambda x: x[0] if x.ndim > 1 else x,
    "tail": lambda x: x[1:] if x.shape[0] > 1 else x,
    "reverse": lambda x: x[::-1],
    "every other": lambda x: x[..., ::2],
    "transpose": lambda x: x.T,
    "swap": lambda x: np.swapaxes(x, 0, -1),
    "flat": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "axis": lambda x: x[:, None],
    "squeeze": np.squeeze,
    "copy": lambda x: x.copy(),
    "split": lambda x: np.array_split(x, 2)[0],
    "columns": lambda x: x.reshape(x.shape[0], -1),
    "real": lambda x: x.real,
    "same": lambda x: x[...],
}


@settings(FEW, max_examples=80)
@given(SHAPES, st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4))
def test_writing_to_a_view_shows_in_what_it_is_a_view_of_and_back(shape: tuple[int, ...], steps: list[str]) -> None:
    def body(x: Any) -> Any:
        x = x.copy()
        view = x
        for step in steps:
            view = STEPS[step](view)
        if view.ndim == 0:
            return x
        view[0] = -1
        first = x * 1
        x[0] = 7
        second = view * 1
        view += 100
        return first, second, view * 1, x

    assert difference(body, counted(shape)) == ""


@FEW
@given(SHAPES, st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3))
def test_where_numpy_may_have_copied_nothing_is_silently_wrong(shape: tuple[int, ...], steps: list[str]) -> None:
    def body(x: Any) -> Any:
        x = x.T[..., [0, -1]] * 2
        view = x
        for step in steps:
            view = STEPS[step](view)
        if view.ndim == 0:
            return x
        view[0] = -1
        return x, view * 1

    try:
        found = difference(body, counted(shape))
    except Refused as refused:
        found = "" if refused.missing in ("reshape", "ravel", ".flat") else refused.missing
    assert found == ""


def test_what_is_made_of_arrays_row_by_row_is_laid_out_so() -> None:
    def body(x: Any) -> Any:
        y = x[:, 1:] * 2
        y.reshape(-1)[0] = 5
        z = np.concatenate([x, x]).astype(float)
        z.ravel()[1] = 7
        z.flat[2] = 8
        u = x.T * 2
        copied = u.reshape(-1).copy()
        copied[0] = 9
        return y, z, u, copied, np.einsum("ij->ji", x)

    assert difference(body, counted((2, 3))) == ""
    for name in ("reshape", "ravel"):
        with pytest.raises(Refused) as refused:
            difference(lambda x, name=name: getattr(x.T * 2, name)(-1 if name == "reshape" else "C").fill(0), X23)
        assert refused.value.missing == name


X23 = counted((2, 3))


def test_a_view_of_a_size_that_only_the_graph_knows_writes_through() -> None:
    def body(x: Any, n: Any) -> Any:
        x = x.copy()
        part = x[n:]
        part[0] = -1
        part *= 2
        row = x[1]
        row += 5
        x[:n] = 3
        return x, part * 1, row * 1

    assert difference_in_graph(body, counted((4, 3)), np.array(2)) == ""
    assert difference_in_graph(body, counted((4, 3)), np.array(2), dynamic=True) == ""


def test_bounds_and_places_may_be_values() -> None:
    def body(x: Any, n: Any) -> Any:
        y = x.copy()
        y[n, n:] = 9
        y[-n, 0] = 8
        return x[n], x[-n], x[n, n - 1], x[:, n], x[n:], x[: n + 1], x[::-n], x[[n, 0, -n]], y

    for n in (1, 2):
        assert difference_in_graph(body, counted((3, 3)), np.array(n)) == ""
        assert difference_in_graph(body, counted((3, 3)), np.array(n), dynamic=True) == ""


def test_a_place_that_is_not_there_is_an_error() -> None:
    x = TracedArray(tf.constant(counted((3, 2))))
    for key in (3, (0, -3), [0, 5], (slice(None), 2), (0, 0, 0), 1.5, np.zeros(2, bool)):
        with pytest.raises(IndexError):
            x[key]
    body = graph(lambda x, i: x[i], counted((3, 2)), np.array([0]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        body(counted((3, 2)), np.array([3]))
    one = graph(lambda x, i: x[i], counted((3,)), np.array(0))
    with pytest.raises(tf.errors.InvalidArgumentError):
        one(counted((3,)), np.array(3))
    with pytest.raises(IndexError):
        graph(lambda x, i: x[i], counted((3,)), np.array(0.5)).get_concrete_function()


def test_an_array_of_the_module_cannot_be_written_to() -> None:
    with pytest.raises(Refused) as refused:
        graph(_writes_outside, counted((3,))).get_concrete_function()
    assert refused.value.missing == "x[...] = value"
    assert difference_in_graph(_reads_outside, np.array([2, 0])) == ""
    assert OUTSIDE.tolist() == [0, 1, 2]


OUTSIDE = np.arange(3.0)


def _writes_outside(x: Any) -> Any:
    OUTSIDE[0] = x[0]
    return OUTSIDE


def _reads_outside(places: Any) -> Any:
    mine = OUTSIDE.copy()
    mine[places] += 1
    return mine, OUTSIDE[places]
