"""Ports of bodies of the corpus against them on random inputs; a port that is wrong on some of them is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bodies import find
from bodies.random_inputs import CHANGES, changed, draw_and_compare
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.own_target import read_target
from pyopbench.ops.load import load_variants
from pyopbench.ops.own.load import load_own


def op_and_case(name: str) -> tuple[Any, Any, Case]:
    (path,) = find.paths([name])
    op, variant = load_own(read_target(str(path), [], [])), load_variants()["traced"]
    return op, variant, Case(op.name, "traced", NO_GRADIENT, "forward", "call", op.dtypes[0], op.sizes[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["nms", "robust_scale"])
def test_a_port_gives_what_its_body_does(name: str) -> None:
    tally = draw_and_compare(*op_and_case(name), examples=15)
    assert tally.wrong == []
    assert tally.raised == []
    assert tally.equal > 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_port_that_is_wrong_at_nan_is_found() -> None:
    op, variant, case = op_and_case("focal")

    def build(op: Any, case: Case) -> Any:
        port = variant.build(op, case)
        return lambda t, p: port(t, tf.where(tf.math.is_nan(p), tf.zeros((), p.dtype), p))

    tally = draw_and_compare(op, replace(variant, build=build), case, examples=25)
    assert tally.wrong
    assert all("NaN" in one for one in tally.wrong)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["dice", "haversine"])
def test_a_gradient_that_is_wrong_is_found(name: str) -> None:
    op, variant, case = op_and_case(name)

    def build(op: Any, case: Case) -> Any:
        port = variant.build(op, case)
        return lambda *inputs: port(*(one + 0.5 * (tf.stop_gradient(one) - one) for one in inputs))

    right = draw_and_compare(op, variant, case, examples=12)
    assert (right.wrong, right.gradients > 0) == ([], True)
    tally = draw_and_compare(op, replace(variant, build=build), case, examples=12)
    assert tally.wrong
    assert all("gradient" in one for one in tally.wrong)


def test_integers_stay_what_the_body_may_take() -> None:
    given = (np.array([3, 1, 2]), np.int32(7), np.array([1.0, 2.0]))
    for name in CHANGES:
        integers, number, floats = changed(given, [name], np.random.default_rng(0))
        assert set(integers) <= {1, 2, 3}
        assert number == 7
        assert floats.dtype == np.float64
