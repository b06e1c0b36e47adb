"""Ports that XLA compiles: loops, and in them indices that are tensors, for some of which XLA is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.functions.basics import np_compiled
from pyopbench.ports.porting import observe
from pyopbench.ports.porting.module_text import import_text
from written_ports import line_of, run_its_test, write_source

pytestmark = pytest.mark.slow  # XLA compiles each port for seconds

READS = [
    "x[i, 1:-1]", "x[1:-1, i]", "x[i, 1:4]", "x[i, 2:]", "x[i : i + 2, 1:-1]", "x[i, ::2]", "x[i, None, 1:-1]",
    "x[..., 1:3, i]", "x[1:, i:]", "x[i, ..., 1:]", "x[i, :-1]", "x[i, j]", "x[:j, i]", "x[i, j:]",
    "x[i, -3:]", "x[-4:-1, i]", "x[i, -4::2]", "x[i, -2:1:-1]", "x[i, 5:1:-2]", "x[-j, 1:3]", "x[i - 2 :, -3:]",
    "x[i, 1:5][::2]", "x[i][1:4]", "x.T[1:4, i]", "x[1:, 2:][i - 2, 1:3]", "row(x, i)", "np.take(x, i, axis=1)[1:4]",
    "np.take(x[i, 1:], j - 1)", "x[i, 1:][[0, 2]]", "x[[0, 2], 1:][:, i]",
    "x[i, 1:4] @ x[1:4, j]", "[x[i, 1:3], x[1:3, i]][0]", "(x[i, 2:] if x[i, 0] > 1 else x[2:, i])",
]  # fmt: skip
WRITES = [
    "y[i, 1:-1] = x[i, 1:-1]", "y[1:-1, i] += 1.5", "y[:, i] = x[i]", "y[i] = x[j]", "y[i, j] -= x[j, i]",
    "y[i, :j] = x[i, :j] * 2", "y[:j, i] += x[:j, i]", "y[j:, 1:3] = 2.0", "y[i:, i] = x[i, i:]", "y[..., i] *= x[j]",
    "y[i, -3:i] = 0.5", "y[1:-1, 1:-1] += x[i, j]", "y[:j, :j] = x[:j, :j]", "y[i - 2 : i, j] = x[i : i + 2, 0]",
    "y[i, 4:1:-1] = x[j, 1:4]", "y[-i, -j] = x[i, j]", "y[j - 4, 1:4] = x[i, 1:4]", "y[i, -1] = x[j, -2]",
    "y[:, -j] = x[:, j]", "y[j:i, j:i] = x[j:i, i : i + 1]", "y[j - 1 : i, 2] = x[j:i, 1]", "y[i, -j:] = x[j, -j:]",
    "y[i - 12 : j, 1] = x[:j, 0]", "y[i, i:j] = 4.0",
    "y[i, -3:] = x[-3:, j]", "y[-4:-1, i] += x[i, 1:4]", "y[i, 1:5][::2] = x[i, 3:5]",
    "y[i, 2:] = np.where(x[i, 2:] > 1, y[j, 2:], x[2:, j])", "y[i, x[i] > 1] = 3.0", "y[1:, i][x[i, 1:] > 1] = 3.0",
    "y[i, 1:][[0, 2]] = x[i, 1:3]", "np.maximum(x[i, 1:], 1, out=y[i, 1:])",
]  # fmt: skip


def _in_loop(statement: str) -> str:
    helper = "def row(x, i):\n    return x[i, 1:4]\n\n\n"
    head = "def body(x):\n    y = x * 0\n    for i in range(2, len(x) - 1):\n        j = i - 1\n"
    return f"{helper}{head}        {statement}\n    return y\n"


@pytest.fixture(autouse=True)
def _no_loop_is_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "MOST_UNROLLED", 0)


def _agrees(folder: Path, source: str, shape: tuple[int, ...]) -> None:
    """Compare a port with its body."""
    made = write_source(folder, source, f"rng.random({shape})", to="traced_xla")
    names: dict[str, Any] = {"np": np}
    exec(source, names)
    port = import_text("looping", made.port).body  # once, as XLA would compile it again
    for seed in range(3):
        x = np.random.default_rng(seed).random(shape) * 2
        np.testing.assert_allclose(port(x), names["body"](x), rtol=1e-9)


@pytest.mark.parametrize("read", READS)
def test_a_key_with_tensors_selects_the_right_elements_in_a_loop(read: str, tmp_path: Path) -> None:
    _agrees(tmp_path, _in_loop(f"y[i, j] += ({read}).sum() * i"), (7, 7))


@pytest.mark.parametrize("write", WRITES)
def test_a_write_at_a_key_with_tensors_is_right(write: str, tmp_path: Path) -> None:
    _agrees(tmp_path, _in_loop(write), (7, 7))


def test_parts_of_a_cube_are_written_to(tmp_path: Path) -> None:
    written = "y[i, 1:j, :] = x[j, 1:j, ::-1]; y[:, i, j] = x[:, j, i]; y[i, ..., 2:4] += x[i, 0, 2:4]"
    _agrees(tmp_path, _in_loop(written), (5, 5, 5))


LOOPS = [
    "for t in range(1, len(x)):\n        y[t] = 0.3 * x[t] + 0.7 * y[t - 1]\n    return y",
    "for t in range(1, len(x)):\n        y[t] = max(y[t - 1], x[t] * y[t - 1])\n    return y[-1], len(y)",
    "s = x[0]\n    for t in range(len(x)):\n        if x[t] > s:\n            s = s + x[t] ** 2\n    return s",
    "if x[0] > 0.5:\n        y = np.sin(x) * x\n    return y / (1 + x)",
    "return (np.sin(x) if x[0] > 0.5 else np.cos(x) * y) * x",
]


@pytest.mark.parametrize("loop", LOOPS)
def test_the_gradient_of_a_loop_or_a_condition_runs_it_again(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the port compares the gradient with finite differences; here, it is compared with `traced`."""
    source = f"import numpy as np\n\n\ndef body(x):\n    y = x.copy()\n    {loop}\n"
    made = write_source(tmp_path, source, "rng.random(9)", to="traced_xla")
    run_its_test(made, tmp_path, monkeypatch)
    usual = import_text("looping", write_source(tmp_path, source, "rng.random(9)").port).body
    compiled = import_text("looping", made.port).body
    x = tf.constant(np.random.default_rng(1).random(9))

    def gradient(function: Any, x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = tf.nest.flatten(function(x))[0]
        return tape.gradient(result, x)

    expected = gradient(usual, x)
    assert np.any(expected)
    for call in (gradient, tf.function(gradient), tf.function(gradient, jit_compile=True)):
        np.testing.assert_allclose(call(compiled, x), expected, rtol=1e-9)


GROWN = "if x[i] > 0.5:\n            kept.append(x[i])"
REFUSED = {
    "kept = []": f"{{}}\n    for i in range(len(x)):\n        {GROWN}\n    return np.array(kept)",
    "return np.array([one for one in x if one > 0.5])": "{}",
}
"""Bodies by the line that is refused."""


@pytest.mark.parametrize("line", REFUSED)
def test_what_xla_silently_computes_wrong_is_refused(line: str, tmp_path: Path) -> None:
    source = f"import numpy as np\n\n\ndef body(x):\n    y = x * 0\n    {REFUSED[line].format(line)}\n"
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, source, "rng.random(9)", to="traced_xla")
    assert line_of(refused.value) == line


@pytest.mark.parametrize("how", ["eager", "graph", "compiled"])
def test_a_gradient_of_the_gradient_of_a_loop_is_right(how: str) -> None:
    """The function is `x ** 3`, with a term outside of the loop, so that a missing part of the gradient shows."""

    @np_compiled
    def cube(x: tf.Tensor, unused: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y = tf.ones_like(x)
        y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), (0, y), maximum_iterations=3)[1]
        return tf.cast(y, tf.int32), y

    def gradients(x: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as third, tf.GradientTape() as second:
            third.watch(x)
            second.watch(x)
            with tf.GradientTape(persistent=True) as first:
                first.watch(x)
                y = cube(x, x)[1] + x**2
            found = [first.gradient(y, x)]
            found.append(second.gradient(first.gradient(y, x), x))
        return [*found, third.gradient(found[-1], x)]

    call = gradients if how == "eager" else tf.function(gradients, jit_compile=how == "compiled")
    x = np.linspace(0.5, 2, 4, dtype=np.float32)
    expected = [3 * x**2 + 2 * x, 6 * x + 2, np.full(4, 6)]
    np.testing.assert_allclose(call(tf.constant(x)), expected, rtol=1e-5)


def test_the_gradient_of_a_compiled_loop_has_the_slope_of_each_output_and_complex_numbers() -> None:
    def two(x: tf.Tensor, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        body = lambda i, y: (i + 1, y * tf.cast(x, z.dtype) + z)  # noqa: E731
        y = tf.while_loop(lambda i, _: i < 3, body, (0, z), maximum_iterations=3)[1]
        return y, tf.math.real(y) * x

    def slopes(function: Any) -> list[tf.Tensor]:
        x, z = tf.Variable([0.5, 2.0], dtype=tf.float64), tf.constant([1 + 2j, 3 - 1j], tf.complex128)
        with tf.GradientTape() as tape:
            tape.watch(z)
            first, second = function(x, z)
            total = tf.reduce_sum(3 * tf.math.imag(first) + 5 * second)
        return tape.gradient(total, [x, z])

    for found, expected in zip(slopes(np_compiled(two)), slopes(two), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_input_that_is_a_number_or_has_no_gradient_is_passed_on(tmp_path: Path) -> None:
    source = "def body(x, n, c):\n    for t in range(len(x)):\n        x = x * c + n\n    return x\n"
    made = write_source(tmp_path, source, "rng.random(5)", "np.arange(5)", "0.5", to="traced_xla")
    body = import_text("looping", made.port).body
    x, n = np.linspace(0, 1, 5), np.arange(5)
    expected = x / 32 + n * (1 - 1 / 32) * 2
    np.testing.assert_allclose(body(x, n, 0.5), expected)
    np.testing.assert_allclose(body(tf.constant(x), n=tf.constant(n), c=0.5), expected)
    with tf.GradientTape() as tape:
        tape.watch(given := tf.constant(x))
        result = body(given, tf.constant(n), tf.constant(0.5, tf.float64))
    np.testing.assert_allclose(tape.gradient(result, given), np.full(5, 1 / 32))


@np_compiled
def _cubed(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(1):
        x = x**3
    return x


def test_a_compiled_loop_has_its_gradient_in_a_branch() -> None:
    """TensorFlow does not find the inputs of a custom gradient that a branch of `tf.cond` calls."""

    @tf.function
    def branch(x: tf.Tensor) -> tf.Tensor:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: _cubed(x), lambda: x)

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = branch(x)
    np.testing.assert_allclose(tape.gradient(result, x), [3.0, 12.0])


def test_a_number_is_written_to_as_a_whole(tmp_path: Path) -> None:
    _agrees(tmp_path, "def body(x):\n    y = np.zeros(())\n    y[...] = x.sum()\n    return y\n", (3,))


@pytest.mark.parametrize("loop", ["range(i)", "range(1, i)", "range(i, 0, -2)", "range(i, n)"])
def test_a_loop_over_a_range_of_tensors_has_a_counter(loop: str, tmp_path: Path) -> None:
    source = (
        "def body(x):\n    n, s = len(x), x[0] * 0\n    for i in range(n):\n"
        f"        for j in {loop}:\n            if j != 3:\n                s = s + x[j] * i\n    return s\n"
    )
    _agrees(tmp_path, source, (6,))


@pytest.mark.parametrize(
    "statement", ["y[i:0:-1, j] = 1.0", "y[i, j] = x[i, :i:2].sum()", "y[i, j] = x[i::-1, 1].sum()"]
)
def test_a_step_between_tensors_is_refused_where_it_is_written(statement: str, tmp_path: Path) -> None:
    """In a loop, XLA selects the wrong elements, without an error."""
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, _in_loop(statement), "rng.random((7, 7))", to="traced_xla")
    assert line_of(refused.value) == statement
