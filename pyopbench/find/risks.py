"""What can go wrong with a callback, as far as its source shows: gradient, shape, parallel calls, random numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pyopbench.find.context import Surroundings
from pyopbench.find.source import FUNCTIONS, UNKNOWN, Function, ProgramSource
from pyopbench.find.values import ValueFlow, is_of_self, last_name

COMMON_RISKS = (
    "not serializable: a SavedModel stores its key, not its function",
    "XLA, TFLite and a server in another process cannot run it",
    "it holds the GIL while its body runs",
)
"""Risks of every callback: limitations in the docstrings of tf.py_function and tf.numpy_function (2.21)."""


@dataclass(frozen=True)
class Risk:
    """A risk that this callback has, but not every callback, and what to do about it without a port."""

    name: str
    text: str
    fix: str


PARALLEL = Risk(
    "parallel",
    "parallel calls of the pipeline wait for the GIL",
    "batch before the callback, or measure processes and ports with `pyopbench pipeline`",
)
NO_GRADIENT = Risk(
    "no_gradient",
    "no gradient: backpropagation gives None",
    "wrap it in tf.custom_gradient, or use a port, which is differentiable",
)
ONE_GRADIENT = Risk(
    "first_order_only",
    "gradient from the tape, once: second order is None",
    "if you need second order, give it a tf.custom_gradient of TensorFlow ops, or port it",
)
FAILS_IN_LOOP = Risk(
    "gradient_in_loop",
    "its gradient fails in a loop: KeyError",
    "call it once for the whole batch outside the loop, or port it",
)
STATELESS = Risk(
    "stateless",
    "stateful=False: equal calls may be merged, unused ones dropped",
    "keep stateful=False only if the body depends on nothing but its inputs",
)
NO_SHAPE = Risk(
    "no_shape",
    "output shape unknown: no set_shape or ensure_shape",
    "call set_shape or tf.ensure_shape on its result",
)
COMPILED = Risk(
    "jit_compile",
    "jit_compile=True around it: XLA refuses it",
    "move it out of the compiled function, or port it",
)
WRITES = Risk(
    "writes_to_input",
    "its body writes to its input, which in a graph is the tensor's own memory",
    "let the body copy its input before it writes",
)


def random_numbers(drawn: str) -> Risk:
    """Return the risk of a body that draws random numbers by a function of this name."""
    return Risk(
        "draws",
        f"its body draws random numbers ({drawn}): tf.random.set_seed does not seed them",
        "seed the generator inside the body, or draw with a tf.random.Generator and pass the numbers in",
    )


def find_risks(
    values: ValueFlow, around: Surroundings, node: ast.expr, kind: str, body: ast.AST | None
) -> Iterator[Risk]:
    """Yield the risks of this callback that not every callback has.

    Args:
        values: of its file.
        around: the same.
        node: the call, decorator or name that makes the callback.
        kind: as in `CallSite`.
        body: the expression or function that is called back.
    """
    source, context, gradient = values.source, around.context(node), around.gradient(node, kind)
    call = node if isinstance(node, ast.Call) else None
    bodies = [] if body is None else values.sources(body)
    has_outputs = call is None or not _has_no_outputs(source, call)
    if context == "Keras metric":
        pass  # nothing flows back through a metric
    elif context == "tf.data":
        if around.is_parallel(node):
            yield PARALLEL
    elif not has_outputs:
        pass  # there is nothing for a gradient to come from
    elif gradient == "none":
        yield NO_GRADIENT
    elif gradient == "tape":
        yield ONE_GRADIENT
        if context == "loop":
            yield FAILS_IN_LOOP
    if call is not None and _is_stateless(call):
        yield STATELESS
    if has_outputs and not any(_gives_shape(outer, inner) for outer, inner in values.uses(node)):
        yield NO_SHAPE
    if any(_is_compiled(scope) for scope in source.scopes(node)):
        yield COMPILED
    if call is not None and kind != "py_function" and _writes_to_input(values, bodies):
        yield WRITES
    drawn = _draws(values, bodies)
    if drawn:
        yield random_numbers(drawn)


def _is_stateless(call: ast.Call) -> bool:
    values = [keyword.value for keyword in call.keywords if keyword.arg == "stateful"] + call.args[3:4]
    return any(isinstance(value, ast.Constant) and value.value is False for value in values)


TOUT = 2
"""Position of the dtypes of the outputs (script_ops.py of TensorFlow 2.21)."""


def _has_no_outputs(source: ProgramSource, call: ast.Call) -> bool:
    """Does a callback return nothing? Its dtypes are an empty list then."""
    place = TOUT + (source.path(call.func) == "functools.partial")
    named = [keyword.value for keyword in call.keywords if keyword.arg == "Tout"]
    dtypes = next(iter([*named, *call.args[place : place + 1]]), None)
    return isinstance(dtypes, ast.List | ast.Tuple) and not dtypes.elts


SHAPING = {"set_shape": "", "ensure_shape": "x", "reshape": "tensor"}
"""Functions that set a tensor's shape, with the name of the parameter for the tensor; empty for a method."""


def _gives_shape(outer: ast.AST, inner: ast.AST) -> bool:
    """Does a call set the shape of one of its parts?"""
    if not isinstance(outer, ast.Call) or last_name(outer.func) not in SHAPING:
        return False
    name = last_name(outer.func)
    if name == "reshape" and any(isinstance(one, ast.Call) and last_name(one.func) == "shape" for one in outer.args):
        return False  # it is the shape of another tensor, which may be unknown too
    if isinstance(inner, ast.keyword):
        return inner.arg == SHAPING[name]
    return inner is outer.func or (name != "set_shape" and inner in outer.args[:1])


def _is_compiled(scope: ast.AST) -> bool:
    calls = (one for one in getattr(scope, "decorator_list", ()) if isinstance(one, ast.Call))
    return any(
        keyword.arg in {"jit_compile", "experimental_compile"}
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for call in calls
        for keyword in call.keywords
    )


def _writes_to_input(values: ValueFlow, bodies: list[ast.AST]) -> bool:
    """Does a body, if it is in the same file, assign to a part of one of its inputs, or add to it: `x += 1`?"""
    partials = [one for one in bodies if isinstance(one, ast.Call) and values.source.is_partial(one)]
    bound = {keyword.arg for partial in partials for keyword in partial.keywords}  # what these bind is no input
    first = sum(len(partial.args) - 1 for partial in partials)
    for function in _functions_of(values, bodies):
        inputs = [one.arg for one in function.args.args if one.arg not in {"self", "cls"}][first:]
        nodes = list(ast.walk(function))
        stores = [node for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)]
        arrays: list[ast.AST] = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
        names = {node.id for node in stores if isinstance(node, ast.Name) and node not in arrays}
        arrays += [node.value for node in stores if isinstance(node, ast.Subscript)]
        if {node.id for node in arrays if isinstance(node, ast.Name)} & {*inputs} - names - bound:
            return True
    return False


RANDOM = ("numpy.random.", "random.")
"""The paths begin with these of functions that draw, and that tf.random.set_seed does not seed."""

NOT_DRAWING = {"seed", "get_state", "set_state", "getstate", "setstate", "default_rng"}
"""Of these modules; nor does a class, which makes a generator of its own."""


def _draws(values: ValueFlow, bodies: list[ast.AST]) -> str:
    """Return the function with which a body, or a function of its file, draws random numbers; empty if none.

    A generator that comes from elsewhere is not recognised.
    """
    for body in bodies:
        if isinstance(body, ast.Name | ast.Attribute) and _is_drawing(values.source, body):
            return ast.unparse(body)
    waiting, seen = _functions_of(values, bodies), set[ast.AST]()
    while waiting:
        function = waiting.pop(0)
        if function in seen:
            continue
        seen.add(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _is_drawing(values.source, node.func):
                return ast.unparse(node.func)
            if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_of_self(node)):
                called = values.function(node)
                waiting += [called] if called is not None else []
    return ""


def _is_drawing(source: ProgramSource, function: ast.expr) -> bool:
    path = source.path(function)
    name = path.rpartition(".")[2]
    return path.startswith(RANDOM) and name not in NOT_DRAWING and not name[:1].isupper()


def _functions_of(values: ValueFlow, bodies: list[ast.AST]) -> list[Function]:
    """Return the functions of the file among what a body may be; an attribute of an imported module is none."""
    found: list[Function | None] = []
    for body in bodies:
        if isinstance(body, FUNCTIONS):
            found.append(body)
        elif isinstance(body, ast.Name) or (
            isinstance(body, ast.Attribute) and values.source.path(body).startswith(UNKNOWN)
        ):
            found.append(values.function(body))
    return [one for one in found if one is not None]
