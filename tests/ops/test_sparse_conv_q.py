"""sparse_conv_q against windows written out by hand and against a dense convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ops.builtin.sparse_conv_q import OP

TENSOR: Any = OP.tensor
NUMPY_GRADIENT: Any = OP.numpy_gradient
TENSOR_GRADIENT: Any = OP.tensor_gradient

A, B, C, G = (1.0, 2.0), (3.0, 4.0), (5.0, 6.0), (-1.0, -2.0)
SHAPE = np.array([4, 4, 2], dtype=np.int64)
GROUND = np.array(G)
BODIES = {"numpy": OP.numpy, "tensor": TENSOR, "graph": tf.function(TENSOR), "autograph": tf.function(OP.python)}
each_body = pytest.mark.parametrize("body", list(BODIES))


def run(body: str, sites: Any, values: Any, shape: Any, ground: Any) -> tuple[Any, Any]:
    """Run a body on arrays; TensorFlow bodies get and give tensors."""
    arrays = (np.asarray(sites, dtype=np.int64).reshape(-1, 2), values, np.asarray(shape, dtype=np.int64), ground)
    inputs = arrays if body == "numpy" else [tf.constant(array) for array in arrays]
    corners, q = BODIES[body](*inputs)
    return np.asarray(corners), np.asarray(q)


@each_body
def test_windows_are_numbered_as_the_scan_meets_them(body: str) -> None:
    """The source's 4 x 4 example; its windows happen to come out in the order of rows, too."""
    corners, q = run(body, [(0, 0), (2, 2), (2, 3)], np.array([A, B, C]), SHAPE, GROUND)
    assert corners.dtype == np.int64
    np.testing.assert_array_equal(corners, [(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)])
    expected = [(*A, *G, *G, *G), (*G, *G, *G, *B), (*G, *G, *B, *C), (*G, *B, *G, *G), (*B, *C, *G, *G)]
    np.testing.assert_array_equal(q, expected)


@each_body
def test_windows_of_later_sites_come_later(body: str) -> None:
    """The same sites backwards: an order of rows would be wrong here."""
    corners, q = run(body, [(2, 3), (2, 2), (0, 0)], np.array([C, B, A]), SHAPE, GROUND)
    np.testing.assert_array_equal(corners, [(1, 2), (2, 2), (1, 1), (2, 1), (0, 0)])
    expected = [(*G, *G, *B, *C), (*B, *C, *G, *G), (*G, *G, *G, *B), (*G, *B, *G, *G), (*A, *G, *G, *G)]
    np.testing.assert_array_equal(q, expected)


@pytest.mark.parametrize("kind", ["numpy", "tensor"])
def test_gradient_takes_each_cell_from_its_place(kind: str) -> None:
    """With dQ numbered 0, 1, 2, ... each sum can be written down from the rows of Q above."""
    inputs: Any = (np.array([(0, 0), (2, 2), (2, 3)]), np.array([A, B, C]), SHAPE, GROUND)
    outputs: Any = OP.numpy(*inputs)
    gradient = NUMPY_GRADIENT
    if kind == "tensor":
        inputs, outputs, gradient = list(map(tf.constant, inputs)), list(map(tf.constant, outputs)), TENSOR_GRADIENT
    d_values, d_ground = gradient(inputs, outputs, [np.arange(40.0).reshape(5, 8)])
    # B fills cells 3 of window 1, 2 of window 2, 1 of window 3 and 0 of window 4; C cells 3 of 2 and 1 of 4.
    b, c = (8 + 6) + (16 + 4) + (24 + 2) + 32, (16 + 6) + (32 + 2)
    np.testing.assert_array_equal(d_values, [(0, 1), (b, b + 4), (c, c + 2)])
    np.testing.assert_array_equal(d_ground, (sum(range(0, 40, 2)) - b - c, sum(range(1, 40, 2)) - 1 - b - 4 - c - 2))


def random_image(seed: int, height: int = 6, width: int = 9, channels: int = 3) -> tuple[Any, ...]:
    """Draw sites in random order on an image that is not square, and a third of it."""
    rng = np.random.default_rng(seed)
    flat = rng.choice(height * width, height * width // 3, replace=False)
    sites = np.stack([flat // width, flat % width], axis=1)
    values, ground = rng.standard_normal((len(sites), channels)), rng.standard_normal(channels)
    return sites, values, np.array([height, width, channels]), ground


@each_body
@pytest.mark.parametrize("seed", range(4))
def test_layer_is_a_dense_convolution(body: str, seed: int) -> None:
    """Q W + b at the windows found, and the layer's new ground state at all others, is conv2d of the dense image."""
    sites, values, shape, ground = random_image(seed)
    weights, bias = np.random.default_rng(seed + 100).standard_normal((2, 2, 3, 5)), np.arange(5.0)
    image = np.tile(ground, (*shape[:2], 1))
    image[sites[:, 0], sites[:, 1]] = values
    expected = tf.nn.conv2d(image[np.newaxis], weights, strides=1, padding="VALID")[0] + bias

    corners, q = run(body, sites, values, shape, ground)
    matrix = weights.reshape(12, 5)
    dense = np.tile(np.tile(ground, 4) @ matrix + bias, (shape[0] - 1, shape[1] - 1, 1))
    dense[corners[:, 0], corners[:, 1]] = q @ matrix + bias
    np.testing.assert_allclose(dense, expected, rtol=0, atol=1e-12)
    assert len(np.unique(corners, axis=0)) == len(corners) < (shape[0] - 1) * (shape[1] - 1)


@pytest.mark.parametrize("seed", range(4))
def test_gradients_agree_on_images_that_are_not_square(seed: int) -> None:
    inputs = random_image(seed)
    outputs = OP.numpy(*inputs)
    dq = np.random.default_rng(seed + 200).standard_normal(outputs[1].shape)
    tensors = [tf.constant(array) for array in inputs]
    with tf.GradientTape() as tape:
        tape.watch([tensors[1], tensors[3]])
        q = TENSOR(*tensors)[1]
    by_formula = TENSOR_GRADIENT(tensors, outputs, [tf.constant(dq)])
    by_tape = tape.gradient(q, [tensors[1], tensors[3]], output_gradients=tf.constant(dq))
    for expected, *others in zip(NUMPY_GRADIENT(inputs, outputs, [dq]), by_formula, by_tape, strict=True):
        for actual in others:
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


def test_numpy_body_names_the_duplicate_site() -> None:
    with pytest.raises(ValueError, match=r"duplicate site \(2, 3\)"):
        run("numpy", [(2, 3), (0, 0), (2, 3)], np.array([A, B, C]), SHAPE, GROUND)


@pytest.mark.parametrize("body", ["tensor", "graph", "autograph"])
def test_tensor_bodies_name_the_duplicate_site(body: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"duplicate site\D+2\D+3"):
        run(body, [(2, 3), (0, 0), (2, 3)], np.array([A, B, C]), SHAPE, GROUND)


def test_duplicate_site_is_an_error_in_a_v1_graph() -> None:
    """Where nothing runs that the result does not depend on."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        sites = tf.compat.v1.placeholder(tf.int64, (None, 2))
        q = TENSOR(sites, tf.constant([A, B]), tf.constant(SHAPE), tf.constant(G))[1]
        assert session.run(q, {sites: [(1, 1), (2, 1)]}).shape == (6, 8)
        with pytest.raises(tf.errors.InvalidArgumentError, match="duplicate site"):
            session.run(q, {sites: [(1, 1), (1, 1)]})


@each_body
def test_sites_that_differ_are_no_duplicates(body: str) -> None:
    """(0, 4) and (1, 0) have the same flat index on an image of width 4; off the image, a site has no window."""
    corners, _ = run(body, [(0, 4), (1, 0), (-1, 4)], np.array([A, B, C]), SHAPE, GROUND)
    np.testing.assert_array_equal(corners, [(0, 0), (1, 0)])


EMPTY = {
    "no sites": ([], np.zeros((0, 2)), (4, 4, 2)),
    "an image lower than the filter": ([(0, 2)], np.array([A]), (1, 4, 2)),
    "an image narrower than the filter": ([(2, 0)], np.array([A]), (4, 1, 2)),
    "an image without pixels": ([], np.zeros((0, 2)), (0, 0, 2)),
}


@each_body
@pytest.mark.parametrize("case", list(EMPTY))
def test_no_windows_is_an_empty_result(body: str, case: str) -> None:
    corners, q = run(body, *EMPTY[case], GROUND)
    assert corners.shape == (0, 2)
    assert q.shape == (0, 8)
