"""`from pyopbench.ports import traced` decorates a NumPy function for graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports import traced

ROWS = np.arange(12.0, dtype=np.float32).reshape(4, 3)


@traced
def normalised(x: Any) -> Any:
    """Centre a vector."""
    if x.max() > 5:
        x = x / 2
    return (x - x.mean()) / (np.abs(x).sum() + 1)


def expected() -> Any:
    halves = [row / 2 if row.max() > 5 else row for row in ROWS]
    return np.stack([(row - row.mean()) / (np.abs(row).sum() + 1) for row in halves])


def test_a_decorated_function_maps_a_dataset() -> None:
    found = tf.data.Dataset.from_tensor_slices(ROWS).map(normalised)
    np.testing.assert_allclose(np.stack(list(found.as_numpy_iterator())), expected(), rtol=1e-6)


def test_a_decorated_function_is_called_in_a_graph_and_keeps_its_name() -> None:
    graph = tf.function(lambda x: normalised(x) * 2)
    np.testing.assert_allclose(np.stack([graph(row) for row in map(tf.constant, ROWS)]), expected() * 2, rtol=1e-6)
    assert (normalised.__name__, normalised.__doc__) == ("normalised", "Centre a vector.")
