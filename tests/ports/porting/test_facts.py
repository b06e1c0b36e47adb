"""What a port says of the shapes of its outputs holds for other shapes than those of the examples."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from pyopbench.model.op import Op
from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import load_own
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.porting import facts


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
        ("x.T + y[0, 0]", ((0, 1), (0, 0))),
        ("x[:, ::-1] * y[0, 0]", ((0, 0), (0, 1))),
        ("x + y", ((0, 0), (0, 1))),
        ("x @ y.T", ((0, 0), (1, 0))),
        ("x[:, 0] + y[0, 0]", ((0, 0),)),
        ("np.sort(y, axis=None)[: len(x)]", ((0, 0),)),
        ("x @ y", ((0, 0), (1, 1))),
        ("np.add(x, y)[: min(4, len(x))]", (None, (0, 1))),
        ("x[: 2 * (len(x) // 2)] + y[: 2 * (len(y) // 2)]", (None, (0, 1))),
    ],
)
def test_axes_of_the_same_size_in_all_examples_are_told_apart(
    body: str, shape: tuple[facts.Axis | None, ...], tmp_path: Path
) -> None:
    op = op_of(body, SQUARE, "(3, 5)", tmp_path)
    assert facts.facts_of(op, "body", ["x", "y"], "shapes.py").outputs == (("float64", shape),)


@pytest.mark.parametrize(
    ("body", "is_same"),
    [
        ("x * y[0]", True),
        ("np.rot90(x) * y[0]", False),
        ("np.resize(x, (4, 4)) * y[0]", False),
        ("x[: min(4, len(x))] * y[0]", False),
    ],
)
def test_an_output_has_the_shape_of_an_input_only_if_it_follows_it(body: str, *, is_same: bool, tmp_path: Path) -> None:
    op = op_of(body, "rng.random((4, 4)), rng.random(4 + size)", "(3,)", tmp_path)
    arrange = PORTS.call_of(op, "map", "float64", "numpy_function")
    sizes = tf.data.Dataset.from_tensors((tf.ones([4, 4]), tf.ones([7])))
    first = tf.nest.flatten(arrange(sizes).element_spec)[0]
    assert first.shape.as_list() == ([4, 4] if is_same else [None, None])


@pytest.mark.parametrize("variant", ["numba_op", "numpy_function"])
def test_a_callback_gets_numbers_in_eager_code_as_it_does_in_a_graph(variant: str, tmp_path: Path) -> None:
    if variant == "numba_op":
        pytest.importorskip("numba", reason="numba_op needs Numba")
    op = op_of("np.arange(0, x) * y", "np.int32(size), np.float32(rng.random())", "(3, 5)", tmp_path)
    port = PORTS.call_of(op, variant, "float64", "numpy_function")
    found = port(tf.constant(4), tf.constant(0.5))
    assert found.numpy().tolist() == tf.function(port)(tf.constant(4), tf.constant(0.5)).numpy().tolist()
    assert found.numpy().tolist() == [0.0, 0.5, 1.0, 1.5]


FOR_ONE_SIZE = {
    "a loop that never ends for other sizes": "k = 0\n    while (1 << k) != len(x):\n        k += 1\n    return x * k",
    "an exit": "if len(x) != 4:\n        sys.exit('bad shape')\n    return x * 2",
    "a warning": "if len(x) != 4:\n        warnings.warn('odd')\n        print('odd')\n    return x * 2",
}


@pytest.mark.parametrize("kind", FOR_ONE_SIZE)
def test_a_body_that_does_not_take_other_sizes_is_not_disturbed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(facts, "PROBE_SECONDS", 0.2)
    path = tmp_path / "one_size.py"
    path.write_text(
        "import sys\nimport warnings\nfrom pyopbench import OwnOp\n"
        f"def body(x):\n    {FOR_ONE_SIZE[kind]}\n"
        "OP = OwnOp(numpy=body, inputs=lambda size, rng: (rng.random(4),), sizes=(4,))\n",
        encoding="utf-8",
    )
    op = load_own(read_target(str(path), [], []))
    found = facts.facts_of(op, "body", ["x"], "one_size.py")
    assert found.outputs == (("float64", (None,)),)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("size", "smaller"), [(1, []), (2, [1]), (4, [2, 1]), (8, [4, 2, 1]), (64, [32, 16, 4])])
def test_smaller_examples_have_a_half_a_quarter_and_a_sixteenth_each_once(
    size: int, smaller: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "one_axis.py"
    path.write_text(
        "from pyopbench import OwnOp\ndef body(x):\n    return x * 2\n"
        f"OP = OwnOp(numpy=body, inputs=lambda size, rng: (rng.random({size}),), sizes=({size},))\n",
        encoding="utf-8",
    )
    op = load_own(read_target(str(path), [], []))
    found = facts.smaller_examples(op, facts.examples_of(op))
    assert [len(x) for (x,) in found] == smaller
