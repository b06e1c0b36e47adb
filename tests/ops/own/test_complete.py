"""What is made of an own op: what it is like is seen from running the body once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.model.case import BASELINE, Axes, Case
from pyopbench.model.errors import BadInput, Unsupported, WrongResult
from pyopbench.model.op import Op
from pyopbench.ops.load import load_variants
from pyopbench.ops.own.complete import MOST_ROUNDING, TOLERANCE, complete
from pyopbench.worker.plan import make_plan
from pyopbench.worker.prepare.prepare import prepare
from small_ops import put_in_place

HERE = Path(__file__).parent
X = np.linspace(0.5, 2, 12, dtype=np.float32)


def softplus(x: Any) -> Any:
    """Return log(1 + exp(x))."""
    return np.log1p(np.exp(x))


def lengths(words: Any) -> Any:
    return [word.decode().upper() for word in words], np.array([len(word) for word in words])


def keep_largest(x: Any) -> Any:
    order = np.argsort(-x)[: int(x[0] * 4)]
    return x[order], order


def scaled(x: Any, *, slope: Any) -> Any:
    return np.tanh(x) * slope


def op_of(**fields: Any) -> Op:
    return complete(OwnOp(**{"inputs": (X,), "numpy": softplus, **fields}), "mine", HERE)


def test_one_body_and_one_example_are_enough() -> None:
    op = op_of()
    assert (op.dtypes, op.outputs, op.sizes, op.differentiable) == (("float32",), ("float32",), (12,), (0,))
    assert op.summary == "Return log(1 + exp(x))."
    assert not op.has_gradient


def test_text_whole_numbers_and_several_outputs_are_seen() -> None:
    op = op_of(inputs=(["a", "few", "words"],), numpy=lengths)
    assert (op.dtypes, op.outputs, op.differentiable) == (("string",), ("string", "int64"), ())


def test_examples_are_told_apart_by_their_elements() -> None:
    op = op_of(inputs=[(X,), (X[:4],)])
    assert op.sizes == (4, 12)
    assert op.make_inputs(4, "float32", np.random.default_rng(0))[0].tolist() == X[:4].tolist()


def test_an_output_that_jumps_has_no_gradient() -> None:
    assert op_of(numpy=keep_largest).differentiable == ()
    assert op_of(numpy=np.round, differentiable=()).differentiable == ()


def test_a_tape_that_ends_at_numpy_gives_no_gradient() -> None:
    on_tape = op_of(numpy=None, py_function=tf.tanh)
    ended = op_of(numpy=None, py_function=lambda x: tf.constant(np.tanh(x.numpy())))
    assert (on_tape.differentiable, ended.differentiable) == ((0,), ())


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"numpy": None}, "no function of the current callback"),
        ({"numpy": 3}, "numpy is not a function"),
        ({"inputs": X}, "not a tuple of arrays"),
        ({"inputs": []}, "not a tuple of arrays"),
        ({"inputs": lambda size, rng: (X,)}, "do not fit each other"),
        ({"sizes": (3,)}, "do not fit each other"),
        ({"inputs": lambda size, rng: (X,), "sizes": (3, 1)}, "not sizes"),
        ({"numpy": lambda x: {"a": x}}, "does not return arrays"),
        ({"numpy": lambda x: ()}, "does not return arrays"),
        ({"tolerance": -1.0}, "not a tolerance"),
        ({"tolerance": float("nan")}, "not a tolerance"),
        ({"differentiable": (1,)}, "not floating"),
        ({"kernel": "missing.cc"}, "no such kernel"),
    ],
)
def test_what_is_missing_or_of_another_kind_is_said(fields: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what) as refused:
        op_of(**fields)
    assert refused.value.received is not None
    assert refused.value.hint


def test_a_gradient_may_be_none_for_whole_numbers_and_for_what_does_not_matter() -> None:
    def gradient(inputs: Any, outputs: Any, incoming: Any) -> Any:
        return None, incoming[0] * 2, None

    op = op_of(
        inputs=(np.arange(12), X, X), numpy=lambda n, x, y: 2 * x, numpy_gradient=gradient, differentiable=(1, 2)
    )
    assert op.numpy_gradient is not None
    inputs = op.make_inputs(12, "float32", np.random.default_rng(0))
    by_x, by_y = op.numpy_gradient(inputs, (2 * X,), (X,))
    np.testing.assert_array_equal(by_x, 2 * X)
    np.testing.assert_array_equal(by_y, np.zeros_like(X))


def by_hand(inputs: Any, outputs: Any, incoming: Any) -> Any:
    """Return the gradient of softplus, of arrays or tensors."""
    return incoming[0] / (1 + 1 / tf.exp(inputs[0]) if tf.is_tensor(incoming[0]) else 1 + np.exp(-inputs[0]))


@pytest.mark.parametrize("form", [lambda x: x, lambda x: [x], lambda x: (x,)], ids=["bare", "list", "tuple"])
@pytest.mark.parametrize("shape", [(12,), ()])
def test_the_gradient_by_a_single_input_may_be_bare(
    form: Any, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NumPy's and as TensorFlow's; the callbacks are compared with it, and it against differences."""

    def gradient(*given: Any) -> Any:
        return form(by_hand(*given))

    inputs = (X.reshape(shape) if shape else X[0],)
    put_in_place(monkeypatch, op_of(inputs=inputs, numpy_gradient=gradient))
    for variant in ("numpy_function", "py_function_numpy", "traced"):
        attached = "autodiff" if variant == "traced" else "custom_gradient"
        case = Case("mine", variant, attached, "backward", "call", "float32", max(1, np.prod(shape, dtype=int)))
        assert prepare(case, finite_differences=True).checked.gradient is not None
    body = {"numpy": None, "py_function": tf.math.softplus}
    put_in_place(monkeypatch, op_of(inputs=inputs, tensor_gradient=gradient, **body))
    for attached in ("custom_gradient", "override_map"):
        assert prepare(replace(case, variant="py_function", gradient=attached)).checked.finite_difference is not None


@pytest.mark.parametrize(
    ("returned", "count"),
    [(X, 1), (tf.constant(X), 1), ([X], 1), ((X, X, X), 3)],
    ids=["array", "tensor", "list", "three"],
)
@pytest.mark.parametrize("kind", ["numpy_gradient", "tensor_gradient"])
def test_a_gradient_by_two_inputs_that_is_not_one_for_each_is_refused(returned: Any, count: int, kind: str) -> None:
    with pytest.raises(BadInput) as refused:
        op_of(inputs=(X, X), numpy=lambda x, y: x * y, **{kind: lambda *_: returned})
    assert refused.value.received == count


def test_a_body_that_returns_a_list_or_numbers_of_python_has_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    found = dict(outcomes(op_of(numpy=lambda x: ([float(one) for one in x[:3]], len(x), 0.5)), monkeypatch))
    assert [found[name] for name in (BASELINE, "numpy_function", "py_func")] == ["right"] * 3


def test_numba_may_return_a_list_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def places(x: Any) -> Any:
        found = [0]
        while found[-1] < len(x) - 1:
            found.append(2 * found[-1] + 1)
        return found[:-1]

    assert dict(outcomes(op_of(numpy=places, differentiable=()), monkeypatch))["numba_op"] == "right"


def outcomes(op: Op, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """Yield variant and outcome of every forward case that is planned by default."""
    put_in_place(monkeypatch, op)
    plan = make_plan(Axes(ops=("mine",), directions=("forward",), modes=("call",)), {"mine": op}, load_variants())
    for case in plan.cases:
        yield case.variant, _outcome(case)


def _outcome(case: Case) -> str:
    try:
        prepare(case)
    except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
        return f"{type(error).__name__}: {error}"
    return "right"


def test_ports_are_tried_from_a_numpy_body(monkeypatch: pytest.MonkeyPatch) -> None:
    found = dict(outcomes(op_of(), monkeypatch))
    tried = {"traced", "traced_xla", "numba_op"}
    assert found == dict.fromkeys(tried | {BASELINE, "numpy_function", "py_func"}, "right")


def test_text_and_shapes_that_depend_on_the_data_pass_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    callbacks = (BASELINE, "numpy_function", "py_func")
    words = dict(outcomes(op_of(inputs=(["a", "few"],), numpy=lengths), monkeypatch))
    largest = dict(outcomes(op_of(numpy=keep_largest), monkeypatch))
    assert [words[name] for name in callbacks] == ["right"] * 3
    assert [largest[name] for name in callbacks] == ["right"] * 3
    others = {outcome.partition(":")[0] for name, outcome in words.items() if name not in callbacks}
    assert others == {Unsupported.__name__}


def test_ports_get_their_arguments_by_name_too(monkeypatch: pytest.MonkeyPatch) -> None:
    op = op_of(inputs=(X, X[:1]), keywords=("slope",), numpy=scaled)
    found = dict(outcomes(op, monkeypatch))
    assert set(found.values()) == {"right"}


def test_a_py_function_body_is_tried_in_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    found = dict(outcomes(op_of(numpy=None, py_function=lambda x: tf.tanh(x) * 2.0), monkeypatch))
    assert found == dict.fromkeys([BASELINE, "native", "autograph", "xla", "xla_autograph"], "right")


def test_a_body_that_leaves_tensorflow_is_a_callback_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = dict(outcomes(op_of(numpy=None, py_function=lambda x: np.tanh(tf.sin(x).numpy())), monkeypatch))
    assert found[BASELINE] == "right"
    assert {name for name, outcome in found.items() if outcome.startswith("Unsupported")} == set(found) - {BASELINE}


def test_a_port_with_another_gradient_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    @tf.custom_gradient
    def wrong(x: Any) -> Any:
        return tf.math.softplus(x), lambda dy: dy

    put_in_place(monkeypatch, op_of(tensor=wrong))
    with pytest.raises(WrongResult, match="gradient of input 0 against finite differences"):
        prepare(Case("mine", "native", "none", "forward", "call", "float32", 12))


def test_an_input_that_matters_not_may_have_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    op = op_of(inputs=(X, X), numpy=lambda x, mask: np.where(mask > 100, 0, x))
    put_in_place(monkeypatch, replace(op, differentiable=(0, 1)))
    assert (
        prepare(Case("mine", "traced", "none", "forward", "call", "float32", 12)).checked.finite_difference is not None
    )


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_port_of_any_rounded_dtype_may_be_off_by_its_tolerance_and_no_more(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = tf.as_dtype(dtype).as_numpy_dtype
    x = np.array([1.0, 0.5]).astype(kind)

    def off_by(part: float) -> Op:
        shifted = np.array([1.0, 0.5 + part * TOLERANCE[dtype]]).astype(kind)
        return op_of(inputs=(x,), numpy=np.copy, tensor=lambda x: tf.constant(shifted), differentiable=())

    case = Case("mine", "native", "none", "forward", "call", dtype, 2)
    put_in_place(monkeypatch, off_by(0.5))
    assert prepare(case).checked.values <= TOLERANCE[dtype]
    put_in_place(monkeypatch, off_by(4.0))
    with pytest.raises(WrongResult):
        prepare(case)


def _filtered(x: Any) -> Any:
    """Return a signal through a filter that adds up its rounding errors."""
    found, state = np.empty_like(x), x.dtype.type(0)
    for place, value in enumerate(x):
        state = x.dtype.type(0.9999) * state + value
        found[place] = state
    return found


def test_a_body_that_rounds_more_than_its_tolerance_gives_its_ports_as_much() -> None:
    x = np.random.default_rng(0).random(3000).astype(np.float32)
    usual, exact = TOLERANCE["float32"], _filtered(x.astype(np.float64))
    own_error = np.max(np.abs(_filtered(x) - exact)) / np.max(np.abs(exact))
    assert usual / 2 < own_error < MOST_ROUNDING * usual / 2
    given = op_of(inputs=(x,), numpy=_filtered, differentiable=()).tolerance["float32"]
    assert given == pytest.approx(2 * own_error, rel=0.05)
    assert op_of(inputs=(x,), numpy=_filtered, differentiable=(), tolerance=1e-6).tolerance["float32"] == 1e-6
    assert op_of(inputs=(x.astype(np.float64),), numpy=_filtered).tolerance["float64"] == TOLERANCE["float64"]


def test_a_complex_output_of_real_inputs_is_compared_within_a_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, op_of(numpy=lambda x: np.exp(1j * x), differentiable=()))
    found = prepare(Case("mine", "traced", "none", "forward", "call", "float32", 12)).checked.values
    assert found <= TOLERANCE["float32"]
