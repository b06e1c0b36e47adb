"""Two layers of a sparse convolution, each `sparse_conv_q` and a product: the gradients of the whole stack are right.

A layer is M_out = Q W + b, and takes the value of every site without data from t to W.T tile(t, f * f) + b. Both are
linear in M and t, so that central differences are exact but for rounding, whatever the step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.ops.load import load_op, load_variants
from pyopbench.worker.plan import why_not

pytestmark = [pytest.mark.slow, pytest.mark.long]

LARGEST_ERROR = 1e-11
FILTER = 2
CHANNELS = (2, 4, 8)
SIDE = 4
SITES = np.array([(0, 0), (2, 2), (2, 3)])
STEP = 1.0
COMBINATIONS = 2

RNG = np.random.default_rng(2017)
VALUES = RNG.standard_normal((len(SITES), CHANNELS[0]))
GROUND_STATE = RNG.standard_normal(CHANNELS[0])
WEIGHTS = [RNG.standard_normal((FILTER * FILTER * n, m)) for n, m in itertools.pairwise(CHANNELS)]
BIASES = [RNG.standard_normal(m) for m in CHANNELS[1:]]

Layers = Callable[[Any, Any], list[Any]]


def layers(sparse_conv_q: Callable[..., Any]) -> Layers:
    """Return `(M0, t0) -> [M1, t1, M2, t2]`."""

    def stack(values: Any, ground_state: Any) -> list[Any]:
        sites, results = tf.constant(SITES), []
        for depth, (weight, bias) in enumerate(zip(WEIGHTS, BIASES, strict=True)):
            shape = tf.constant([SIDE - depth, SIDE - depth, CHANNELS[depth]], tf.int64)
            sites, q = sparse_conv_q(sites, values, shape, ground_state)
            # Callbacks lose the rank, without which a product cannot be traced.
            q = tf.ensure_shape(q, [None, len(weight)])
            sites = tf.ensure_shape(sites, [None, 2])
            values = q @ weight + bias
            ground_state = tf.linalg.matvec(weight, tf.tile(ground_state, [FILTER * FILTER]), transpose_a=True) + bias
            results += [values, ground_state]
        return results

    return stack


def dense_layers() -> list[np.ndarray]:
    """Return the image after each layer, by a convolution that knows nothing of sites."""
    image = np.tile(GROUND_STATE, (1, SIDE, SIDE, 1))
    image[0, SITES[:, 0], SITES[:, 1]] = VALUES
    images = []
    for weight, bias, n in zip(WEIGHTS, BIASES, CHANNELS, strict=False):
        kernel = weight.reshape(FILTER, FILTER, n, -1)
        image = tf.nn.conv2d(image, kernel, strides=1, padding="VALID").numpy() + bias
        images.append(image[0])
    return images


def cases() -> Iterator[Case]:
    """Yield every variant and mechanism that can differentiate the op, in each mode."""
    op = load_op("sparse_conv_q")
    for variant in load_variants().values():
        for gradient in () if variant.is_attempt else variant.gradients:
            for mode in ("eager", "call"):
                case = Case(op.name, variant.name, gradient, "backward", mode, "float64", 1)
                if why_not(op, variant, case) is None:
                    yield case


CASES = list(cases())


def stack_of(case: Case) -> Layers:
    built = load_variants()[case.variant].build(load_op("sparse_conv_q"), case)
    options = load_variants()[case.variant].function_options
    if case.mode == "call":
        return tf.function(layers(tf.function(built, **options)), autograph=False)
    return layers(built)


def slopes(stack: Layers) -> dict[tuple[int, int], np.ndarray]:
    """Return the central differences of every result by every input, as matrices (elements in, elements out)."""
    inputs = [VALUES, GROUND_STATE]
    rows: dict[tuple[int, int], list[np.ndarray]] = {}
    for position, array in enumerate(inputs):
        for element in range(array.size):
            results = []
            for step in (STEP, -STEP):
                moved = [given.copy() for given in inputs]
                moved[position].reshape(-1)[element] += step
                results.append([result.numpy().ravel() for result in stack(*map(tf.constant, moved))])
            for number, (above, below) in enumerate(zip(*results, strict=True)):
                rows.setdefault((number, position), []).append((above - below) / (2 * STEP))
    return {key: np.array(found) for key, found in rows.items()}


@cache
def drawn_weights() -> list[np.ndarray]:
    """Return for every result matrices of weights (elements out, combinations), drawn without a zero among them.

    A gradient is linear in the weights, so that one that is wrong in any element is wrong for what is drawn, too.
    """
    rng = np.random.default_rng(2018)
    results = layers(load_op("sparse_conv_q").tensor)(tf.constant(VALUES), tf.constant(GROUND_STATE))
    return [rng.uniform(0.5, 1.5, (result.numpy().size, COMBINATIONS)) for result in results]


def gradients(stack: Layers, weights: Sequence[np.ndarray]) -> dict[tuple[int, int], np.ndarray]:
    """Return the gradients of every combination of every result by every input (elements in, combinations).

    Each from a tape of its own, because a persistent one breaks some mechanisms.
    """
    inputs = [tf.constant(VALUES), tf.constant(GROUND_STATE)]
    columns: dict[tuple[int, int], list[np.ndarray]] = {}
    for number, combinations in enumerate(weights):
        for combination in combinations.T:
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                result = stack(*inputs)[number]
            found = tape.gradient(result, inputs, output_gradients=tf.constant(combination.reshape(result.shape)))
            for position, (gradient, given) in enumerate(zip(found, inputs, strict=True)):
                array = np.zeros(given.shape) if gradient is None else gradient.numpy()
                columns.setdefault((number, position), []).append(array.ravel())
    return {key: np.array(found).T for key, found in columns.items()}


def test_the_layers_are_a_dense_convolution_at_the_sites_and_the_ground_state_everywhere_else() -> None:
    """First-visit order of the windows: those of (0, 0), of (2, 2), then what (2, 3) adds; of both layers."""
    op = load_op("sparse_conv_q")
    sites, values, ground_state = SITES, VALUES, GROUND_STATE
    for depth, image in enumerate(dense_layers()):
        shape = np.array([SIDE - depth, SIDE - depth, CHANNELS[depth]])
        sites, q = op.numpy(sites, values, shape, ground_state)
        values = q @ WEIGHTS[depth] + BIASES[depth]
        ground_state = WEIGHTS[depth].T @ np.tile(ground_state, FILTER * FILTER) + BIASES[depth]
        expected = np.tile(ground_state, (*image.shape[:2], 1))
        expected[sites[:, 0], sites[:, 1]] = values
        np.testing.assert_allclose(expected, image, rtol=1e-12, atol=1e-12)
        if depth == 0:
            assert sites.tolist() == [[0, 0], [1, 1], [1, 2], [2, 1], [2, 2]]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.variant}-{case.gradient}-{case.mode}")
def test_gradients_through_two_layers_are_the_slopes(case: Case) -> None:
    """The six of the source: dM1, dt1, dM2 and dt2 by t0, dM1 and dM2 by M0; a ground state does not depend on M0."""
    stack, weights = stack_of(case), drawn_weights()
    analytic = gradients(stack, weights)
    numeric = {(number, by): found @ weights[number] for (number, by), found in slopes(stack).items()}
    first_values, first_ground, values, ground = range(4)
    by_values, by_ground = 0, 1
    errors = {key: np.abs(analytic[key] - numeric[key]).max() for key in numeric}
    assert len(errors) == 8
    assert max(errors.values()) <= LARGEST_ERROR
    # A gradient and a slope that are both nothing agree as well.
    for result in (first_values, values):
        assert np.abs(analytic[result, by_values]).max() > 0.1
        assert np.abs(analytic[result, by_ground]).max() > 0.1
    for result in (first_ground, ground):
        assert np.abs(analytic[result, by_values]).max() == 0
        assert np.abs(analytic[result, by_ground]).max() > 0.1
