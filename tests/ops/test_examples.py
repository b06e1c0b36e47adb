"""The examples of a batch are different ones of one shape, and such as the body takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pyopbench import OwnOp
from pyopbench.model.op import Op
from pyopbench.ops.examples import are_distinct, examples_of
from pyopbench.ops.own.complete import complete
from small_ops import square

SIZE = 3


def own(body: Any, *inputs: Any) -> Op:
    return complete(OwnOp(inputs=inputs, numpy=body), "made", Path())


def test_an_op_that_draws_its_inputs_is_asked_for_each() -> None:
    found = examples_of(square(), SIZE, "float64", 5)
    assert are_distinct(found)
    assert {one[0].shape for one in found} == {(SIZE,)}
    assert len({one[0].tobytes() for one in found}) == 5


def test_draws_of_other_shapes_are_left_out() -> None:
    def draw(size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        return (rng.uniform(1.0, 2.0, rng.choice([2, 3])).astype(dtype),)

    found = examples_of(square(make_inputs=draw), SIZE, "float64", 6)
    assert len(found) == 6
    assert len({one[0].shape for one in found}) == 1


def test_one_example_is_varied_with_the_first_as_it_is() -> None:
    x = np.arange(1.0, 7.0)
    found = examples_of(own(lambda x: x / x.max(), x), x.size, "float64", 4)
    assert are_distinct(found)
    np.testing.assert_array_equal(found[0][0], x)
    # Sums and largest values differ too, so that a reduction over all examples is seen.
    assert len({one[0].max() for one in found}) == len({one[0].sum() for one in found}) == 4
    assert all((np.diff(one[0]) >= 0).all() for one in found)  # what is sorted stays sorted


def test_inputs_of_one_length_are_varied_alike_and_whole_numbers_stay_among_their_own() -> None:
    labels, values = np.array([0, 2, 5, 9]), np.array([0.0, 20.0, 50.0, 90.0])
    found = examples_of(own(lambda labels, values: values[labels > 0], labels, values), 4, "float64", 6)
    for drawn, beside in found:
        assert set(drawn) <= {0, 2, 5, 9}
        np.testing.assert_allclose(beside, beside.max() / max(drawn.max(), 1) * drawn)


def test_what_the_body_refuses_is_no_example() -> None:
    def body(x: Any) -> Any:
        if x.sum() != 1.0:
            raise ValueError("no distribution")
        return x * 2

    found = examples_of(own(body, np.array([0.25, 0.75])), 2, "float64", 3)
    assert not are_distinct(found)
    assert all(one[0].sum() == 1.0 for one in found)


def test_an_example_that_cannot_be_varied_is_repeated() -> None:
    found = examples_of(own(lambda n: n * 2, np.array(3)), 1, "int64", 3)
    assert not are_distinct(found)
    assert len(found) == 3


def test_an_own_op_that_draws_the_same_again_is_varied() -> None:
    constant = replace(square(), make_inputs=lambda size, dtype, rng: (np.linspace(1.0, 2.0, size),))
    found = examples_of(constant, SIZE, "float64", 3)
    assert are_distinct(found)
