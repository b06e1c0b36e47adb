"""Which bodies of `tf.py_function` are bodies on arrays: those in which no function of TensorFlow computes anything."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.model.case import BASELINE, Axes, Case
from pyopbench.model.op import Op
from pyopbench.ops.load import load_variants
from pyopbench.ops.own.complete import complete
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.worker.plan import make_plan, why_not
from pyopbench.worker.prepare.prepare import prepare
from small_ops import put_in_place
from written_ports import run_its_test, write

X = np.linspace(0.5, 2, 12, dtype=np.float32)
TABLE = tf.constant(np.eye(12, dtype=np.float32))
ON_ARRAYS = {"numpy_function", "py_func", "numba_op", "traced", "traced_xla"}
ON_TENSORS = {"native", "autograph", "xla", "xla_autograph"}


def takes_numpy(x: Any) -> Any:
    a = x.numpy()
    return np.tanh(a) * 2


def takes_asarray(x: Any) -> Any:
    return np.tanh(np.asarray(x)) * 2


def of_numpy_itself(x: Any) -> Any:
    return np.tanh(x)


def ends_in_a_constant(x: Any) -> Any:
    return tf.constant(np.tanh(x.numpy()) + 1)


def ends_in_a_tensor_of_a_dtype(x: Any) -> Any:
    return tf.convert_to_tensor(np.tanh(x.numpy()), dtype=tf.float32)


def ends_in_a_cast(x: Any) -> Any:
    return tf.cast(np.floor(x.numpy() * 3), tf.int32)


def of_two(x: Any, y: Any) -> Any:
    return x.numpy() * np.tanh(y), tf.constant(np.sort(y.numpy()))


def _of_tensor(x: Any) -> Any:
    return np.exp(-x.numpy())


def with_a_helper(x: Any) -> Any:
    return tf.constant(_of_tensor(x) + 1)


def with_a_function_inside(x: Any) -> Any:
    def half(one: Any) -> Any:
        return one.numpy() / 2

    return np.tanh(half(x))


of_a_lambda = lambda x: np.tanh(x.numpy())  # noqa: E731


def of_tensorflow(x: Any) -> Any:
    return tf.tanh(x) * 2.0


def of_an_item(x: Any) -> Any:
    return np.tanh(x[1:])


def of_an_operator(x: Any) -> Any:
    return np.tanh((x * 2).numpy())


def of_a_product(x: Any) -> Any:
    return np.asarray(x.numpy()[None] @ TABLE)


def of_both(x: Any) -> Any:
    return tf.tanh(tf.constant(np.sort(x.numpy())))


def of_both_in_a_helper(x: Any) -> Any:
    return np.sort(of_tensorflow(x).numpy())


def of_a_cast_that_has_a_gradient(x: Any) -> Any:
    return tf.cast(x, tf.float64)


def of_a_copy_that_it_writes_to(x: Any) -> Any:
    a = x.numpy()
    a[a < 1] = 0
    return a


def of_a_copy_that_it_sorts(x: Any) -> Any:
    """The example is sorted, so that nothing changes."""
    a = x.numpy()
    a.sort()
    return a


def of_a_number(x: Any) -> Any:
    """TensorFlow makes float32 of what is float64 for NumPy."""
    return tf.constant(float(np.sum(x.numpy())))


ARRAYS = [
    takes_numpy,
    takes_asarray,
    of_numpy_itself,
    ends_in_a_constant,
    ends_in_a_tensor_of_a_dtype,
    ends_in_a_cast,
    of_two,
    with_a_helper,
    with_a_function_inside,
    of_a_lambda,
    of_an_item,
    np.tanh,
]
TENSORS = [
    of_tensorflow,
    of_an_operator,
    of_a_product,
    of_both,
    of_both_in_a_helper,
    of_a_cast_that_has_a_gradient,
    of_a_copy_that_it_writes_to,
    of_a_copy_that_it_sorts,
    of_a_number,
    tf.tanh,
]


def op_of(function: Any, **fields: Any) -> Op:
    inputs = (X, X[::-1].copy()) if function is of_two else (X,)
    return complete(OwnOp(**{"inputs": inputs, "py_function": function, **fields}), "mine", Path())


def outcomes(op: Op, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the outcome of each variant that is planned by default, forward."""
    put_in_place(monkeypatch, op)
    plan = make_plan(Axes(ops=("mine",), directions=("forward",), modes=("call",)), {"mine": op}, load_variants())
    return {case.variant: _outcome(case) for case in plan.cases}


def _outcome(case: Case) -> str:
    try:
        prepare(case)
    except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
        return f"{type(error).__name__}: {error}"
    return "right"


@pytest.mark.parametrize("body", ARRAYS, ids=lambda one: one.__name__)
def test_what_computes_on_arrays_is_a_numpy_body(body: Any) -> None:
    op = op_of(body)
    assert op.own is not None
    assert (op.py_function, op.is_on_tensors, op.own.ported) == (body, False, ("numpy",))


def test_every_variant_of_a_numpy_body_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcomes(op_of(of_two), monkeypatch)
    assert found == dict.fromkeys({BASELINE, *ON_ARRAYS}, "right")


@pytest.mark.parametrize("body", TENSORS, ids=lambda one: one.__name__)
def test_where_tensorflow_computes_or_outputs_differ_a_body_stays_one_on_tensors(body: Any) -> None:
    op = op_of(body)
    assert (op.py_function, op.is_on_tensors) == (body, True)


@pytest.mark.parametrize("body", [of_a_copy_that_it_writes_to, of_a_copy_that_it_sorts, of_a_number])
def test_where_arrays_give_another_result_the_op_says_why_and_where(body: Any) -> None:
    op = op_of(body)
    assert op.own is not None
    assert op.own.refused is not None
    assert op.own.refused.place is not None
    assert op.own.refused.place[0] == __file__


def test_a_body_on_tensors_has_variants_of_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcomes(op_of(of_tensorflow), monkeypatch) == dict.fromkeys((BASELINE, *ON_TENSORS), "right")


def test_a_body_on_arrays_has_the_gradient_that_it_is_given_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def gradient(inputs: Any, outputs: Any, incoming: Any) -> Any:
        return 2 * incoming[0] * (1 - np.tanh(inputs[0]) ** 2)

    assert op_of(takes_numpy).differentiable == ()
    op = op_of(takes_numpy, numpy_gradient=gradient)
    assert op.differentiable == (0,)
    assert op.has_gradient
    put_in_place(monkeypatch, op)
    for variant, how in ((BASELINE, "custom_gradient"), ("numpy_function", "custom_gradient"), ("traced", "autodiff")):
        case = Case("mine", variant, how, "backward", "call", "float32", X.size)
        assert prepare(case, finite_differences=True).checked.gradient is not None
    tape = Case("mine", BASELINE, "tape", "backward", "call", "float32", X.size)
    assert why_not(op, load_variants()[BASELINE], tape) == "the tape ends where the body takes .numpy() of its tensors"


def test_text_is_what_it_is_in_the_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    op = op_of(lambda word: np.array(len(word.numpy().decode())), inputs=(b"few",))
    assert not op.is_on_tensors
    found = outcomes(op, monkeypatch)
    assert [found[name] for name in (BASELINE, "numpy_function", "py_func")] == ["right"] * 3


def test_a_random_body_stays_what_it_is() -> None:
    """A copy would not see what is seeded in the module of the body."""
    op = op_of(lambda x: x.numpy() + random.random(), seed_with="random.seed({seed})", differentiable=())
    assert op.is_on_tensors


HEAD = "import numpy as np\nimport tensorflow as tf\nfrom pyopbench import OwnOp\n\n\n"
OP = "\n\nOP = OwnOp(inputs=(np.linspace(0.5, 2, 12, dtype=np.float32),), py_function=body)\n"
HELPER = "def of_tensor(x):\n    return np.exp(-x.numpy())\n\n\n"
WRITTEN = {
    "numpy": "def body(x):\n    a = x.numpy()\n    return np.tanh(a) * 2\n",
    "constant": "def body(x):\n    return 2 * tf.constant(np.tanh(np.asarray(x)) + 1).numpy()\n",
    "cast": "def body(x):\n    return tf.cast(np.floor(x.numpy() * 3), tf.int32)\n",
    "helper": f"{HELPER}def body(x):\n    return tf.convert_to_tensor(of_tensor(x) + 1)\n",
}


@pytest.mark.parametrize(("source", "to"), [*((source, "traced") for source in WRITTEN), ("cast", "numpy_whole")])
def test_a_port_of_it_is_written_with_its_test(
    source: str, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"mine_{to}_{source}.py"
    path.write_text(HEAD + WRITTEN[source] + OP, encoding="utf-8")
    made = write(str(path), to=to)
    assert "test_values" in run_its_test(made, tmp_path, monkeypatch)
    own = made.port.rpartition('"""\n')[2] if to == "traced" else ""
    assert ".numpy()" not in own
    assert "tf.constant" not in own


def test_a_numpy_body_may_make_tensors_of_its_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine_of_arrays.py"
    body = "def body(x):\n    return tf.cast(np.floor(x * 3), tf.int32)\n"
    path.write_text(HEAD + body + OP.replace("py_function", "numpy"), encoding="utf-8")
    made = write(str(path), to="numpy_function")
    assert "np.asarray(np.floor(x * 3), dtype=np.int32)" in made.port
    assert run_its_test(made, tmp_path, monkeypatch)


def test_a_port_of_a_body_on_tensors_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine_on_tensors.py"
    path.write_text(f"{HEAD}def body(x):\n    return np.tanh(tf.sin(x).numpy())\n{OP}", encoding="utf-8")
    with pytest.raises(CannotPort) as caught:
        write(str(path))
    assert caught.value.place == (str(path), 6)
