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
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.worker.plan import make_plan, why_not
from pyopbench.worker.prepare.prepare import prepare
from small_ops import put_in_place
from written_ports import run_its_test, write

X = np.linspace(0.5, 2, 12, dtype=np.float32)
TABLE = tf.constant(np.eye(12, dtype=np.float32))
ON_ARRAYS = {"numpy_function", "py_func", "numba_op", "traced", "traced_xla"}
ON_TENSORS = {"native", "autograph", "xla", "xla_autograph"}


def of_two(x: Any, y: Any) -> Any:
    return x.numpy() * np.tanh(y), tf.constant(np.sort(y.numpy()))


def _of_tensor(x: Any) -> Any:
    return np.exp(-x.numpy())


def with_a_function_inside(x: Any) -> Any:
    def half(one: Any) -> Any:
        return one.numpy() / 2

    return np.tanh(half(x))


def of_tensorflow(x: Any) -> Any:
    return tf.tanh(x) * 2.0


def of_a_copy_that_it_writes_to(x: Any) -> Any:
    a = x.numpy()
    a[a < 1] = 0
    return a


def of_a_copy_that_it_sorts(x: Any) -> Any:
    """The example is sorted, so that nothing changes."""
    a = x.numpy()
    a.sort()
    return a


ARRAYS: dict[str, Any] = {
    "numpy": lambda x: np.tanh(x.numpy()) * 2,
    "asarray": lambda x: np.tanh(np.asarray(x)) * 2,
    "NumPy's function": lambda x: np.tanh(x) + 1,
    "constant": lambda x: tf.constant(np.tanh(x.numpy()) + 1),
    "tensor of a dtype": lambda x: tf.convert_to_tensor(np.tanh(x.numpy()), dtype=tf.float32),
    "cast": lambda x: tf.cast(np.floor(x.numpy() * 3), tf.int32),
    "helper": lambda x: tf.constant(_of_tensor(x) + 1),
    "item": lambda x: np.tanh(x[1:]),
    "two inputs": of_two,
    "function inside": with_a_function_inside,
    "ufunc": np.tanh,
}
TENSORS: dict[str, Any] = {
    "TensorFlow": of_tensorflow,
    "operator": lambda x: np.tanh((x * 2).numpy()),
    "product": lambda x: np.asarray(x.numpy()[None] @ TABLE),
    "both": lambda x: tf.tanh(tf.constant(np.sort(x.numpy()))),
    "both in a helper": lambda x: np.sort(of_tensorflow(x).numpy()),
    "cast that has a gradient": lambda x: tf.cast(x, tf.float64),
    "TensorFlow's function": tf.tanh,
}
REFUSED: dict[str, Any] = {
    "copy that it writes to": of_a_copy_that_it_writes_to,
    "copy that it sorts": of_a_copy_that_it_sorts,
    "number, which TensorFlow makes float32": lambda x: tf.constant(float(np.sum(x.numpy()))),
}


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


@pytest.mark.parametrize("kind", ARRAYS)
def test_what_computes_on_arrays_is_a_numpy_body(kind: str) -> None:
    op = op_of(ARRAYS[kind])
    assert op.own is not None
    assert (op.py_function, op.is_on_tensors) == (ARRAYS[kind], False)


def test_every_variant_of_a_numpy_body_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcomes(op_of(of_two), monkeypatch)
    assert found == dict.fromkeys({BASELINE, *ON_ARRAYS}, "right")


@pytest.mark.parametrize("kind", TENSORS)
def test_where_tensorflow_computes_a_body_stays_one_on_tensors(kind: str) -> None:
    op = op_of(TENSORS[kind])
    assert (op.py_function, op.is_on_tensors) == (TENSORS[kind], True)


@pytest.mark.parametrize("kind", REFUSED)
def test_where_arrays_give_another_result_the_op_says_why_and_where(kind: str) -> None:
    op = op_of(REFUSED[kind])
    assert op.own is not None
    assert op.own.refused is not None
    assert op.own.refused.place is not None
    assert op.own.refused.place[0] == __file__
    assert op.is_on_tensors


def test_a_body_on_tensors_has_variants_of_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcomes(op_of(of_tensorflow), monkeypatch) == dict.fromkeys((BASELINE, *ON_TENSORS), "right")


def test_a_body_on_arrays_has_the_gradient_that_it_is_given_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def gradient(inputs: Any, outputs: Any, incoming: Any) -> Any:
        return 2 * incoming[0] * (1 - np.tanh(inputs[0]) ** 2)

    assert op_of(ARRAYS["numpy"]).differentiable == ()
    op = op_of(ARRAYS["numpy"], numpy_gradient=gradient)
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
