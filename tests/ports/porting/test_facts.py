"""What a port says of the shapes of its outputs holds for other shapes than those of the examples."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from pyopbench.model.op import Op
from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import load_own
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.porting.facts import facts_of


def op_of(body: str, inputs: str, sizes: str, folder: Path) -> Op:
    path = folder / "shapes.py"
    path.write_text(
        "import numpy as np\nfrom pyopbench import OwnOp\n"
        f"def body(x, y):\n    return {body}\n"
        f"def inputs(size, rng):\n    return {inputs}\n"
        f"OP = OwnOp(numpy=body, inputs=inputs, sizes={sizes})\n",
        encoding="utf-8",
    )
    return load_own(read_target(str(path), [], []))


SQUARE = "rng.random((size, size)), rng.random((size, size))"


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("x.T + y[0, 0]", ("x.shape[1]", "x.shape[0]")),
        ("x[:, ::-1] * y[0, 0]", ("x.shape[0]", "x.shape[1]")),
        ("x + y", ("x.shape[0]", "x.shape[1]")),
        ("x @ y.T", ("x.shape[0]", "y.shape[0]")),
        ("x[:, 0] + y[0, 0]", ("x.shape[0]",)),
        ("np.sort(y, axis=None)[: len(x)]", ("x.shape[0]",)),
    ],
)
def test_axes_of_the_same_size_in_all_examples_are_told_apart(
    body: str, shape: tuple[str, ...], tmp_path: Path
) -> None:
    op = op_of(body, SQUARE, "(3, 5)", tmp_path)
    assert facts_of(op, "body", ["x", "y"], "shapes.py").outputs == (("float64", shape),)


@pytest.mark.parametrize(
    ("body", "is_same"),
    [
        ("x * y[0]", True),
        ("np.rot90(x) * y[0]", False),
        ("np.resize(x, (4, 4)) * y[0]", False),
    ],
)
def test_an_output_has_the_shape_of_an_input_only_if_it_follows_it(body: str, *, is_same: bool, tmp_path: Path) -> None:
    op = op_of(body, "rng.random((4, 4)), rng.random(4 + size)", "(3,)", tmp_path)
    arrange = PORTS.call_of(op, "map", "float64", "numpy_function")
    sizes = tf.data.Dataset.from_tensors((tf.ones([4, 4]), tf.ones([7])))
    first = tf.nest.flatten(arrange(sizes).element_spec)[0]
    assert first.shape.as_list() == ([4, 4] if is_same else [None, None])


@pytest.mark.parametrize("variant", ["njit", "numpy_function"])
def test_a_callback_gets_numbers_in_eager_code_as_it_does_in_a_graph(variant: str, tmp_path: Path) -> None:
    if variant == "njit":
        pytest.importorskip("numba", reason="njit needs Numba")
    op = op_of("np.arange(0, x) * y", "np.int32(size), np.float32(rng.random())", "(3, 5)", tmp_path)
    port = PORTS.call_of(op, variant, "float64", "numpy_function")
    found = port(tf.constant(4), tf.constant(0.5))
    assert found.numpy().tolist() == tf.function(port)(tf.constant(4), tf.constant(0.5)).numpy().tolist()
    assert found.numpy().tolist() == [0.0, 0.5, 1.0, 1.5]
