"""What an op answers of its outputs, its sizes and its gradient."""

from __future__ import annotations

from typing import Any

import pytest

from made_nouns import OWN_OPS, made_op
from pyopbench.model.op import Own


def test_a_gradient_flows_through_floating_outputs_only() -> None:
    assert made_op(outputs=("int64", "dtype", "bool", "float32")).floating_outputs == (1, 3)


@pytest.mark.parametrize(
    ("kind", "sizes", "exists"),
    [
        ("of the catalogue", (3, 5), True),
        ("of the catalogue", (3,), False),
        ("with a NumPy body", (3, 5), True),
        ("with examples", (3, 5), False),
    ],
)
def test_an_op_of_one_size_or_of_examples_exists_at_its_own_sizes_only(
    kind: str, sizes: tuple[int, ...], exists: bool
) -> None:
    op = made_op(own=OWN_OPS[kind], sizes=sizes)
    assert op.exists_at(3)
    assert op.exists_at(4) is exists


@pytest.mark.parametrize(
    ("fields", "has", "lacks"),
    [
        ({"own": None}, True, False),  # an op of the catalogue says it by its `numpy_gradient`, or is wrong
        ({"own": Own()}, False, True),
        ({"own": Own(), "numpy_gradient": abs}, True, False),
        ({"own": Own(), "tensor_gradient": abs}, True, False),
        ({"own": Own(py_function=abs)}, True, False),  # its tape
        ({"own": Own(), "differentiable": ()}, False, False),
        ({"own": None, "differentiable": ()}, False, False),
    ],
)
def test_only_an_own_op_can_be_differentiable_and_say_no_gradient(
    fields: dict[str, Any], has: bool, lacks: bool
) -> None:
    op = made_op(**fields)
    assert (op.has_gradient, op.lacks_gradient) == (has, lacks)
