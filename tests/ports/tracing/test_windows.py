"""Windows over an array are a view of it, of arrays whose size only the graph knows too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.lib.stride_tricks import sliding_window_view

from traced_compare import difference_in_graph, graph

X = np.arange(12.0).reshape(4, 3)


def sums(x: Any) -> Any:
    return sliding_window_view(x, 2, axis=0).sum(axis=-1)


def written_later(x: Any) -> Any:
    y = x * 2
    windows = np.lib.stride_tricks.sliding_window_view(y, (2, 2))
    y[1, 1] = 100
    return windows.max(axis=(2, 3))


@pytest.mark.parametrize("body", [sums, written_later])
@pytest.mark.parametrize("dynamic", [False, True])
def test_windows_are_those_of_numpy(body: Any, dynamic: bool) -> None:
    assert difference_in_graph(body, X, dynamic=dynamic) == ""


def test_a_window_that_is_larger_than_the_array_is_an_error_as_in_numpy() -> None:
    with pytest.raises(ValueError, match="larger"):
        graph(sums, X[:1]).get_concrete_function()
    with pytest.raises(tf.errors.InvalidArgumentError, match="larger"):
        graph(sums, X, dynamic=True)(X[:1])
