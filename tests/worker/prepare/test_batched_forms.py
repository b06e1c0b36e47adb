"""Every batched form is held against a loop over examples: what mixes them up is wrong, whatever it looks like."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.model.op import Op
from pyopbench.ops.batched.forms import forms_of
from pyopbench.ops.own.complete import complete
from pyopbench.worker.prepare import batched_forms as module
from pyopbench.worker.prepare.batched_forms import BatchedForm, batched_form
from small_ops import power

BATCH = 4
X = np.linspace(-1.0, 2.0, 6).astype(np.float32)


def softmax_of_all(x: Any) -> Any:
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def softmax_of_last(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def gradient_of_softmax(inputs: Any, outputs: Any, incoming: Any) -> Any:
    (y,), (dy,) = outputs, incoming
    return (y * (dy - (dy * y).sum()),)


Form = Callable[..., BatchedForm]


@pytest.fixture
def form(monkeypatch: pytest.MonkeyPatch) -> Form:
    """One form of an op, or of a body with examples of its inputs."""

    def made(name: str, body: Any, *inputs: Any, batch: int = BATCH, **fields: Any) -> BatchedForm:
        op = body if isinstance(body, Op) else complete(OwnOp(inputs=inputs, numpy=body, **fields), "made", Path())
        monkeypatch.setattr(module, "load_op", lambda name: op)
        module._examples.cache_clear()
        return batched_form(op, name, batch)

    return made


@pytest.mark.parametrize("name", ["numpy_loop", "traced_map"])
def test_a_form_that_takes_each_example_alone_is_right(form: Form, name: str) -> None:
    found = form(name, softmax_of_all, X)
    assert (found.outcome, found.reason) == ("right", "")
    assert found.call is not None
    batch = np.stack([X, X[::-1], 2 * X])
    got = tf.function(found.call, autograph=False)(tf.constant(batch))
    np.testing.assert_allclose(got, [softmax_of_all(x) for x in batch], rtol=1e-5)


def running_mean(x: Any) -> Any:
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + 0.5 * x[i]
    y[1:, ::-1] += 1
    return y


def at_places(x: Any, k: Any) -> Any:
    y = x * x[k, 1]
    y[k] = 0
    y[0, k] = x[:, k].sum()
    return y


@pytest.mark.parametrize(("body", "more"), [(running_mean, ()), (at_places, (np.int64(-2),))])
def test_a_body_that_writes_to_elements_is_mapped(form: Form, body: Callable[..., Any], more: tuple[Any, ...]) -> None:
    found = form("traced_map", body, np.linspace(0, 1, 12).reshape(4, 3), *more)
    assert (found.outcome, found.reason) == ("right", "")
    assert found.checked is not None
    assert found.checked.finite_difference is not None
    assert found.checked.finite_difference < 1e-6


def test_a_body_that_mixes_examples_up_is_wrong_as_a_whole(form: Form) -> None:
    found = form("numpy_whole", softmax_of_all, X)
    assert found.outcome == "wrong"
    assert found.call is None
    assert found.reason


def test_a_body_that_numpy_broadcasts_is_right_as_a_whole(form: Form) -> None:
    assert form("numpy_whole", softmax_of_last, X).outcome == "right"


def test_what_is_right_for_one_length_alone_is_wrong(form: Form) -> None:
    """The weights are of the length of an example, which happens to be that of the batch."""
    weights = np.arange(1.0, 5.0)
    found = form("numpy_whole", lambda x: (x.T * weights).T if x.ndim > 1 else x * weights[0], np.linspace(1.0, 2.0, 4))
    assert found.outcome in ("wrong", "cannot")


def test_the_gradient_is_held_against_that_of_each_example(form: Form) -> None:
    for name in ("numpy_loop", "traced_map"):
        found = form(name, softmax_of_all, X, numpy_gradient=gradient_of_softmax)
        assert found.outcome == "right", found.reason
        assert found.checked is not None
        assert found.checked.gradient is not None
    # A port has a gradient of its own, and so shows that the one that the op brings is wrong.
    wrong = form("traced_map", softmax_of_all, X, numpy_gradient=lambda i, o, g: (2 * g[0],))
    assert wrong.outcome == "wrong"


def test_a_gradient_that_nobody_wrote_is_held_against_differences(form: Form) -> None:
    found = form("traced_map", softmax_of_all, X.astype(np.float64))
    assert found.checked is not None
    assert found.checked.gradient is None
    assert found.checked.finite_difference is not None
    assert found.checked.finite_difference < 1e-6


def test_outputs_of_other_lengths_have_no_form(form: Form) -> None:
    found = form("numpy_loop", lambda x: x[x > 0.5], np.array([0.1, 0.4, 0.6, 0.9]))
    assert (found.outcome, "different shapes" in found.reason) == ("cannot", True)


def test_alike_examples_do_not_vouch_for_a_whole_batch(form: Form) -> None:
    n = np.array(3)
    assert form("numpy_loop", lambda n: n * 2, n).outcome == "right"
    found = form("numpy_whole", lambda n: n * 2, n)
    assert found.outcome == "cannot"
    assert found.reason == module.ALIKE


def test_several_inputs_and_outputs_of_an_op_of_the_catalogue(form: Form) -> None:
    op = replace(power(), dtypes=("float64",))
    for name in ("numpy_loop", "numpy_whole", "traced_map"):
        found = form(name, op, batch=2)
        assert found.outcome == "right", found.reason
        assert found.checked is not None
        assert found.checked.gradient is not None


def test_the_body_of_a_py_function_has_its_loop_and_no_ports(form: Form) -> None:
    op = complete(OwnOp(inputs=(X,), py_function=lambda x: x / tf.reduce_sum(x * x)), "made", Path())
    assert form("numpy_loop", op).outcome == "right"
    assert [one.name for one in forms_of(op, "float32", X.size)] == ["numpy_loop", "numpy_whole"]


def test_a_random_body_has_its_loop_alone() -> None:
    own = OwnOp(inputs=(X,), numpy=lambda x: x + random.random(), seed_with="random.seed({seed})", differentiable=())
    op = complete(own, "made", Path())
    forms = forms_of(op, "float32", X.size)
    assert [form.name for form in forms if not form.unsupported] == ["numpy_loop"]


def test_a_body_that_raises_says_where(form: Form) -> None:
    found = form("traced_map", lambda x: np.ma.masked_less(x, 0.5), X)
    assert found.outcome == "cannot"
    assert found.reason.endswith(f"{Path(__file__).name} line {found.reason.rsplit(' ', 1)[1]}")
