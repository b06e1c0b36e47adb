"""What can go wrong with a callback, in words, as far as its source shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pyopbench.find.scan.context import Parallel
from pyopbench.find.scan.names import FUNCTIONS, Source, own_nodes

COMMON = (
    "not serializable: a SavedModel stores its key, not its function",
    "XLA, TFLite and a server in another process cannot run it",
    "it holds the GIL while its body runs",
)
"""What holds for every callback: limitations in the docstrings of tf.py_function and tf.numpy_function (2.21)."""

SHAPING = {"set_shape", "ensure_shape", "reshape"}


@dataclass(frozen=True)
class Traits:
    """What is known of a callback already, as in `CallSite`; and does its pipeline make parallel calls?"""

    kind: str
    context: str
    gradient: str
    parallel: Parallel


def op_of(call: ast.Call | None, kind: str) -> str:
    """Return the op that a callback becomes in a graph (script_ops.py of TensorFlow 2.21, `_internal_py_func`)."""
    if kind == "py_function":
        return "EagerPyFunc"
    return "PyFuncStateless" if call is not None and _is_stateless(call) else "PyFunc"


def find_risks(source: Source, node: ast.expr, traits: Traits) -> Iterator[str]:
    """Yield the risks that this callback has and not every one, in words.

    Args:
        source: the file.
        node: the call, decorator or name that makes the callback.
        traits: what is known of it.
    """
    call = node if isinstance(node, ast.Call) else None
    if traits.context == "Keras metric":
        pass  # nothing flows back through a metric
    elif traits.context == "tf.data":
        if traits.parallel == "yes":
            yield "parallel calls of the pipeline wait for the GIL"
        elif traits.parallel == "perhaps":
            yield "if the pipeline makes parallel calls (num_parallel_calls), they wait for the GIL"
    elif traits.gradient == "none":
        yield "no gradient: backpropagation gives None"
    elif traits.gradient == "tape":
        yield "gradient from the tape, once: second order is None"
        if traits.context == "loop":
            yield "its gradient fails in a loop: KeyError"
    if call is not None and _is_stateless(call):
        yield "stateful=False: equal calls may be merged, unused ones dropped"
    if not _is_shaped(source, node):
        yield "output shape unknown: no set_shape or ensure_shape"
    if any(_is_compiled(scope) for scope in source.scopes(node)):
        yield "jit_compile=True around it: XLA refuses it"
    if call is not None and traits.kind != "py_function" and _writes_to_input(source, call):
        yield "its body writes to its input, which in a graph is the tensor's own memory"
    drawn = _draws(source, node)
    if drawn:
        yield f"its body draws random numbers ({drawn}): tf.random.set_seed does not seed them"


def _is_stateless(call: ast.Call) -> bool:
    if getattr(call.func, "attr", getattr(call.func, "id", "")) in {"py_func_stateless", "PyFuncStateless"}:
        return True
    values = [keyword.value for keyword in call.keywords if keyword.arg == "stateful"] + call.args[3:4]
    return any(isinstance(value, ast.Constant) and value.value is False for value in values)


def _is_shaped(source: Source, node: ast.expr) -> bool:
    """Is a shape set anywhere in the function around it, or on the way out of the expression?"""
    around = next((scope for scope in source.scopes(node) if not isinstance(scope, ast.Lambda)), source.tree)
    inside = own_nodes(around) if isinstance(around, ast.Module) else ast.walk(around)
    calls = (inner for inner in inside if isinstance(inner, ast.Call))
    return any(getattr(call.func, "attr", getattr(call.func, "id", "")) in SHAPING for call in calls)


def _is_compiled(scope: ast.AST) -> bool:
    calls = (one for one in getattr(scope, "decorator_list", ()) if isinstance(one, ast.Call))
    return any(
        keyword.arg in {"jit_compile", "experimental_compile"}
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for call in calls
        for keyword in call.keywords
    )


def _writes_to_input(source: Source, call: ast.Call) -> bool:
    """Does the body, where it stands in the same file, assign to a part of one of its parameters?"""
    name = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
    for node in ast.walk(source.tree):
        if isinstance(node, FUNCTIONS) and getattr(node, "name", None) == name and name:
            parameters = {argument.arg for argument in node.args.args}
            stored = {inner.id for inner in ast.walk(node) if _is_stored(inner) and isinstance(inner, ast.Name)}
            return any(_target(inner) in parameters - stored for inner in ast.walk(node))
    return False


RANDOM = ("numpy.random.", "random.", "tensorflow.random.")
"""Begin the paths of what draws; `default_rng` and its like begin a generator of their own."""

SEEDING = ("seed", "get_state", "set_state", "getstate", "setstate")


def _draws(source: Source, node: ast.expr) -> str:
    """Return what a body calls to draw random numbers, itself or in functions of the file; empty for none.

    A generator that comes from elsewhere is not seen.
    """
    functions = {one.name: one for one in ast.walk(source.tree) if isinstance(one, ast.FunctionDef)}
    waiting, seen = list(_bodies(source, node, functions)), set[ast.AST]()
    while waiting:
        body = waiting.pop(0)
        seen.add(body)
        for inner in ast.walk(body):
            if isinstance(inner, ast.Call):
                path = source.path(inner.func)
                if path.startswith(RANDOM) and path.rpartition(".")[2] not in SEEDING:
                    return ast.unparse(inner.func)
            if isinstance(inner, ast.Name) and functions.get(inner.id, body) not in (*seen, *waiting):
                waiting.append(functions[inner.id])
    return ""


def _bodies(source: Source, node: ast.expr, functions: dict[str, ast.FunctionDef]) -> Iterator[ast.AST]:
    above = source.parents.get(node)
    if isinstance(above, ast.FunctionDef) and node in above.decorator_list:
        yield above
    elif isinstance(node, ast.Call):
        for given in (*node.args[:1], *(one.value for one in node.keywords if one.arg == "func")):
            if isinstance(given, ast.Lambda):
                yield given
            elif isinstance(given, ast.Name | ast.Attribute):
                name = given.id if isinstance(given, ast.Name) else given.attr
                if name in functions:
                    yield functions[name]


def _is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _target(node: ast.AST) -> str:
    """Return the name that a subscript which is assigned to begins with."""
    if isinstance(node, ast.Subscript) and _is_stored(node) and isinstance(node.value, ast.Name):
        return node.value.id
    return ""
