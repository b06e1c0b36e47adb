"""A body and a bridge become a callback op; the bridge here is plain Python, so that what crosses it can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pyopbench.model.op import Body, Op
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS, build_callback
from pyopbench.ops.gradients import GRADIENTS, Bridged
from small_ops import case_of, power, square

N = np.array([1, 2])
X = np.array([3.0, 4.0])


class Bridge:
    """Calls the body at once, returns a list as TensorFlow does, and remembers what it was given."""

    def __init__(self) -> None:
        self.crossings: list[tuple[int, tuple[str, ...]]] = []

    def __call__(self, function: Body, tensors: Sequence[Any], dtypes: Sequence[str]) -> Any:
        self.crossings.append((len(tensors), tuple(dtypes)))
        found = function(*tensors)
        return list(found) if isinstance(found, tuple) else found


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> list[Bridged]:
    """Return what reaches the mechanism `custom_gradient`, which here attaches nothing."""
    seen: list[Bridged] = []

    def attach(bridged: Bridged) -> Body:
        seen.append(bridged)
        return bridged.forward

    monkeypatch.setitem(GRADIENTS, "custom_gradient", replace(GRADIENTS["custom_gradient"], attach=attach))
    return seen


def build(op: Op, bridge: Bridge, gradient: str) -> Body:
    return build_callback(op, case_of("numpy_function", gradient), bridge, op.numpy, op.numpy_gradient)


def test_one_output_comes_bare_and_several_as_a_tuple() -> None:
    bridge = Bridge()
    np.testing.assert_array_equal(build(square(), bridge, "none")(X), X * X)
    outputs = build(power(), bridge, "none")(N, X)
    assert type(outputs) is tuple
    np.testing.assert_array_equal(outputs, (X**N, 2 * N, 3 * X))


def test_the_bridge_is_told_the_dtypes_of_the_outputs_for_the_dtype_of_the_case() -> None:
    bridge, op = Bridge(), power()
    build_callback(op, case_of("", dtype="float32"), bridge, op.numpy, None)(N, X)
    assert bridge.crossings == [(2, ("float32", "int64", "float32"))]


@pytest.mark.parametrize("gradient", ["none", "tape"])
def test_without_a_mechanism_nothing_is_attached(attached: list[Bridged], gradient: str) -> None:
    """A forward case needs no gradient body, and py_function's own gradient none of ours."""
    op = square(numpy_gradient=None)
    np.testing.assert_array_equal(build(op, Bridge(), gradient)(X), X * X)
    assert attached == []


def test_the_mechanism_is_told_what_there_is_to_differentiate(attached: list[Bridged]) -> None:
    op = power()
    build(op, Bridge(), "custom_gradient")
    (bridged,) = attached
    assert (bridged.differentiable, bridged.floating_outputs) == ((1,), (0, 2))
    assert bridged.backward_ops is op.tensor_gradient


def test_the_gradient_crosses_the_same_bridge_flat_and_is_told_apart_there(attached: list[Bridged]) -> None:
    """Two inputs, three outputs and two output gradients cross; one gradient of the dtype of its input comes back."""
    seen: list[Any] = []

    def gradient(*groups: Any) -> list[Any]:
        seen.append(groups)
        return [groups[2][0] + groups[2][1]]

    bridge = Bridge()
    op = power(numpy_gradient=gradient)
    build(op, bridge, "custom_gradient")
    outputs = op.numpy(N, X)
    output_gradients = (X, 10 * X)
    found = attached[0].backward((N, X), outputs, output_gradients)
    assert bridge.crossings == [(7, ("float64",))]
    (groups,) = seen
    assert [len(group) for group in groups] == [2, 3, 2]
    for group, expected in zip(groups, ((N, X), outputs, output_gradients), strict=True):
        for array, wanted in zip(group, expected, strict=True):
            assert array is wanted
    assert type(found) is tuple
    np.testing.assert_array_equal(found, (11 * X,))


def test_several_gradients_come_back_in_order(attached: list[Bridged]) -> None:
    bridge = Bridge()
    op = square(differentiable=(0, 2), numpy_gradient=lambda *groups: (groups[2][0], 2 * groups[2][0]))
    build(op, bridge, "custom_gradient")
    found = attached[0].backward((X, N, X.astype(np.float32)), (X,), (X,))
    assert bridge.crossings == [(5, ("float64", "float32"))]
    np.testing.assert_array_equal(found, (X, 2 * X))


@pytest.mark.parametrize("gradient", CALLBACK_GRADIENTS)
def test_a_gradient_without_a_body_is_an_error_that_names_the_variant(gradient: str) -> None:
    with pytest.raises(ValueError, match=r"^the op has no gradient for numpy_function$"):
        build(square(numpy_gradient=None), Bridge(), gradient)
