"""A body of TensorFlow ops as a function for the graph: `.numpy()` and conversions to arrays are left out.

A callback runs such a body eagerly, op by op and under the GIL. In the graph its ops run like all others, also if the
body draws by `tf.random`. Whether it computes the same there is decided by the test that is written next to it.
"""

from __future__ import annotations

import ast
from pathlib import Path

from pyopbench.advise.callbacks import Callback, recorded_arrays
from pyopbench.engine.port import port_tester
from pyopbench.find.source import ProgramSource
from pyopbench.model.files import write_atomically
from pyopbench.model.syntax import Source
from pyopbench.ports.extract.definitions import CannotPort, require_computing

IN_GRAPH = "in_graph"
TEST_SECONDS = 300.0

TENSORFLOW = "tensorflow"
CONVERSIONS = tuple(f"{TENSORFLOW}.{name}" for name in ("convert_to_tensor", "constant", "cast"))
"""A body that calls nothing else of TensorFlow computes with NumPy."""
ARRAYS = ("numpy.array", "numpy.asarray")

PORT = '''"""`{name}` of {place}, called in the graph instead of by tf.{kind}."""

{head}
{name}_{suffix} = tf.autograph.to_graph({name})
'''
TEST = '''"""Checks in a graph what `{module}.{name}` returned in the program for the same inputs."""

import base64
import zlib

import numpy
import numpy as np
import tensorflow as tf

import {module}

DRAWS = {draws}
"""Does the function draw random numbers? Then only dtypes and shapes are compared."""

{inputs}

{outputs}


def test_values():
    """The function returns in a graph what it returned in the program."""
    for arguments, expected in zip(RECORDED_INPUTS, RECORDED_OUTPUTS):
        tensors = [tf.constant(one) for one in arguments]
        found = tf.nest.flatten(tf.function({module}.{name}_{suffix}, autograph=False)(*tensors))
        assert len(found) == len(expected)
        for one, other in zip(map(np.asarray, found), expected):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            if DRAWS:
                continue
            if other.dtype.kind in "fc":
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * np.abs(other).max(initial=0))
            else:
                np.testing.assert_array_equal(one, other)


if __name__ == "__main__":
    test_values()
    print("passed: test_values")
'''


def graph_body_of(callback: Callback) -> str | None:
    """Return the source of a body for the graph, with all it needs.

    None if it computes without TensorFlow, or cannot be called there.

    In a graph NumPy would draw once, while it is traced. A gradient that the program may ask a `py_function` for must
    stay the same, and may not if conversions were left out.
    """
    if callback.kept is None or "random.seed" in callback.seed_with.replace("tf.random", ""):
        return None
    tree = ast.parse(callback.kept.source.text)
    source = ProgramSource.of(tree)
    called = {source.path(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    if not any(one.startswith(f"{TENSORFLOW}.") and one not in CONVERSIONS for one in called):
        return None
    remover = _ConversionRemover(source)
    functions = [remover.visit(one) if isinstance(one, ast.FunctionDef) else one for one in tree.body]
    if remover.count and callback.may_need_gradient:
        return None
    text = ast.unparse(ast.Module(functions, [])) if remover.count else callback.kept.source.text
    return text.strip()


class _ConversionRemover(ast.NodeTransformer):
    """Replaces `x.numpy()` and `np.array(x)` by `x`, and loops over an argument in comprehensions by `tf.unstack`."""

    def __init__(self, source: ProgramSource) -> None:
        self.source, self.count = source, 0
        self.parameters: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.parameters |= {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "numpy" and not node.args
        is_array = len(node.args) == 1 and not node.keywords and self.source.path(node.func) in ARRAYS
        is_literal = is_array and isinstance(node.args[0], ast.List | ast.Tuple | ast.Constant)
        self.generic_visit(node)
        if is_method or (is_array and not is_literal):
            self.count += 1
            return node.func.value if is_method and isinstance(node.func, ast.Attribute) else node.args[0]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.iter, ast.Name) and node.iter.id in self.parameters:
            self.count += 1
            node.iter = ast.parse(f"tf.unstack({node.iter.id})", mode="eval").body
        return node


def write_graph_body(callback: Callback, place: Path, module: str) -> tuple[str, str, str] | str:
    """Write a body for the graph and its test into a folder, unless they are there and have passed.

    Returns the names of the files and of the function, or why it cannot be called there.
    """
    text = graph_body_of(callback)
    assert text is not None
    assert callback.kept is not None
    try:
        require_computing(Source.of("", ast.parse(callback.kept.source.text)))
    except CannotPort as error:
        return error.why
    name = callback.kept.source.name
    names = f"{module}.py", f"test_{module}.py", f"{name}_{IN_GRAPH}"
    if (place / names[0]).exists():
        return names
    tensorflow, future = "import tensorflow as tf", "from __future__ import annotations\n"
    imports = "" if tensorflow in text.splitlines() else f"{tensorflow}\n"
    head = f"{future}\n{imports}{text.removeprefix(future).lstrip()}" if text.startswith(future) else imports + text
    named = {"name": name, "module": module, "suffix": IN_GRAPH}
    inputs, outputs = (recorded_arrays(callback, place.parent, which) for which in ("inputs", "outputs"))
    test = TEST.format(inputs=inputs, outputs=outputs, draws=bool(callback.seed_with), **named)
    port = PORT.format(head=f"{head}\n\n", place=callback.place, kind=callback.kind, **named)
    write_atomically(place / names[0], port.encode())
    write_atomically(place / names[1], test.encode())
    with port_tester() as run:
        result = run(place, f"test_{module}", TEST_SECONDS)
    if "failed" in result:
        lines = [line for line in result["error"].splitlines() if line.strip()]
        return f"it does not run in the graph as it does eagerly: {lines[-1].strip()[:200] if lines else ''}"
    return names
