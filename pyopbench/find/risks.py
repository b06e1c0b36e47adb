"""What can go wrong with a callback, as far as its source shows: gradient, shape, parallel calls, random numbers."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from pyopbench.find.context import GROWING, Parallel, last_name
from pyopbench.find.source import FUNCTIONS, UNKNOWN, ProgramSource, Scope

COMMON_RISKS = (
    "not serializable: a SavedModel stores its key, not its function",
    "XLA, TFLite and a server in another process cannot run it",
    "it holds the GIL while its body runs",
)
"""Risks of every callback: limitations in the docstrings of tf.py_function and tf.numpy_function (2.21)."""


@dataclass(frozen=True)
class Risk:
    """A risk that this callback has, but not every callback.

    Attributes:
        name: for programs that read the results.
        text: in words.
        fix: what to do about it, without a port.
    """

    name: str
    text: str
    fix: str


PARALLEL = Risk(
    "parallel",
    "parallel calls of the pipeline wait for the GIL",
    "batch before the callback, or measure processes and ports with `pyopbench pipeline`",
)
PERHAPS_PARALLEL = Risk(
    "perhaps_parallel",
    "if the pipeline makes parallel calls (num_parallel_calls), they wait for the GIL",
    PARALLEL.fix,
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


@dataclass(frozen=True)
class Traits:
    """What is already known about a callback, as in `CallSite`; and does its pipeline make parallel calls?"""

    kind: str
    context: str
    gradient: str
    parallel: Parallel


def op_of(call: ast.Call | None, kind: str) -> str:
    """Return the op that a callback becomes in a graph (script_ops.py of TensorFlow 2.21, `_internal_py_func`)."""
    if kind == "py_function":
        return "EagerPyFunc"
    return "PyFuncStateless" if call is not None and _is_stateless(call) else "PyFunc"


def find_risks(results: Results, node: ast.expr, traits: Traits) -> Iterator[Risk]:
    """Yield the risks of this callback that not every callback has.

    Args:
        results: the uses of results in its file.
        node: the call, decorator or name that makes the callback.
        traits: what is known about it.
    """
    source = results.source
    call = node if isinstance(node, ast.Call) else None
    has_outputs = call is None or not _has_no_outputs(source, call)
    if traits.context == "Keras metric":
        pass  # nothing flows back through a metric
    elif traits.context == "tf.data":
        if traits.parallel == "yes":
            yield PARALLEL
        elif traits.parallel == "perhaps":
            yield PERHAPS_PARALLEL
    elif not has_outputs:
        pass  # there is nothing for a gradient to come from
    elif traits.gradient == "none":
        yield NO_GRADIENT
    elif traits.gradient == "tape":
        yield ONE_GRADIENT
        if traits.context == "loop":
            yield FAILS_IN_LOOP
    if call is not None and _is_stateless(call):
        yield STATELESS
    if has_outputs and not results.are_shaped(node):
        yield NO_SHAPE
    if any(_is_compiled(scope) for scope in source.scopes(node)):
        yield COMPILED
    if call is not None and traits.kind != "py_function" and _writes_to_input(source, call):
        yield WRITES
    drawn = _draws(source, node)
    if drawn:
        yield random_numbers(drawn)


def _is_stateless(call: ast.Call) -> bool:
    if getattr(call.func, "attr", getattr(call.func, "id", "")) in {"py_func_stateless", "PyFuncStateless"}:
        return True
    values = [keyword.value for keyword in call.keywords if keyword.arg == "stateful"] + call.args[3:4]
    return any(isinstance(value, ast.Constant) and value.value is False for value in values)


TOUT = 2
"""Position of the dtypes of the outputs (script_ops.py of TensorFlow 2.21)."""


def _has_no_outputs(source: ProgramSource, call: ast.Call) -> bool:
    """Does a callback return nothing? Its dtypes are an empty list then, or None for py_function."""
    place = TOUT + (source.path(call.func) == "functools.partial")
    named = [keyword.value for keyword in call.keywords if keyword.arg == "Tout"]
    dtypes = next(iter([*named, *call.args[place : place + 1]]), None)
    if isinstance(dtypes, ast.List | ast.Tuple):
        return not dtypes.elts
    return isinstance(dtypes, ast.Constant) and dtypes.value is None


SHAPING = {"set_shape": "", "ensure_shape": "x", "reshape": "tensor"}
"""Functions that set a tensor's shape, with the name of the parameter for the tensor; empty for a method."""

MEASURING = {"shape", "shape_n", "get_shape", "rank", "ndims", "size", "len", "dtype", "print", "isinstance"}
"""Functions that report something about a tensor, and do not return it."""


class Results:
    """The uses of the results of callbacks in a file.

    Followed are assignments, unpacking, loops, calls and operators, what functions of the file return and are called
    with, and what functions are mapped over. Functions are distinguished by their names alone.

    Attributes:
        source: the file.
    """

    def __init__(self, source: ProgramSource) -> None:
        self.source = source
        self._reads: defaultdict[tuple[object, str], list[ast.AST]] = defaultdict(list)
        self._functions: defaultdict[str, list[ast.AST]] = defaultdict(list)
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._reads[source.home(node), node.id].append(node)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                self._reads[None, node.attr].append(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._functions[node.name].append(node)

    def are_shaped(self, node: ast.expr) -> bool:
        """Is a shape set for the result of a callback?

        Args:
            node: the call, decorator or name that makes the callback.
        """
        around = {*self.source.scopes(node)}
        seen: set[ast.AST] = set()
        waiting: list[ast.AST] = [node]
        above = self.source.parents.get(node)
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and node in above.decorator_list:
            waiting = self._read_function(above)
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            for outer, inner in self.source.above(one):
                if _gives_shape(outer, inner):
                    return True
                waiting += self._bound_by(outer, inner, around)
                if not _passes_on(outer, inner):
                    break
        return False

    def _bound_by(self, outer: ast.AST, inner: ast.AST, around: set[Scope]) -> list[ast.AST]:
        """Return the expressions that are results too if `inner`, a part of `outer`, is one."""
        if isinstance(outer, ast.Assign) and inner is outer.value:
            return [read for target in outer.targets for read in self._read(target, outer.value)]
        if isinstance(outer, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            return self._read(outer.target, inner)
        if isinstance(outer, ast.For | ast.AsyncFor | ast.comprehension) and inner is outer.iter:
            return self._read(outer.target, inner)
        if isinstance(outer, ast.Return | ast.Yield):
            functions = [scope for scope in self.source.scopes(outer) if isinstance(scope, FUNCTIONS)]
            return self._read_function(functions[0]) if functions else []
        return self._read_parameters(outer, inner, around) if isinstance(outer, ast.Call) else []

    def _read(self, target: ast.AST, value: ast.AST) -> list[ast.AST]:
        """Return the reads of a target that a result is assigned to; for an item of a dict, all reads of the dict."""
        if isinstance(target, ast.Name):
            reads = self._reads[self.source.home(target), target.id]
            return [read for read in reads if getattr(read, "lineno", 0) >= target.lineno]
        if isinstance(target, ast.Attribute):
            text = ast.unparse(target)
            return [read for read in self._reads[None, target.attr] if ast.unparse(read) == text]
        if isinstance(target, ast.Subscript | ast.Starred):
            return self._read(target.value, value)
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        return [read for part in parts for read in self._read(part, value)]

    def _read_function(self, function: ast.AST) -> list[ast.AST]:
        """Return the places in the file at which a function is called, or passed to another one."""
        name = getattr(function, "name", "")
        return [*self._reads[self.source.parents.get(function), name], *self._reads[None, name]]

    def _read_parameters(self, call: ast.Call, inner: ast.AST, around: set[Scope]) -> list[ast.AST]:
        """Return the places at which functions that get a result, as an argument or by a map, read it."""
        if isinstance(call.func, ast.Attribute) and call.func.attr in GROWING and inner is not call.func:
            return self._read(call.func.value, inner)
        found: list[ast.AST] = []
        for function in self._functions[last_name(call.func)] if inner is not call.func else []:
            found += self._read_parameter(function, call, inner)
        for other in call.args:
            mapped = [other] if isinstance(other, ast.Lambda) else self._functions[last_name(other)]
            if other is not inner:
                found += [read for one in mapped if one not in around for read in self._read_all(one)]
        return found

    def _read_parameter(self, function: ast.AST, call: ast.Call, inner: ast.AST) -> list[ast.AST]:
        arguments = getattr(function, "args", None)
        if not isinstance(arguments, ast.arguments):
            return []
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args) if one.arg not in {"self", "cls"}]
        if isinstance(inner, ast.keyword):
            return [*self._reads[function, str(inner.arg)]]
        place = next((place for place, one in enumerate(call.args) if one is inner), len(names))
        return [*self._reads[function, names[place]]] if place < len(names) else []

    def _read_all(self, function: ast.AST) -> list[ast.AST]:
        arguments: ast.arguments = function.args  # type: ignore[attr-defined]
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        names = [one.arg for one in every if one is not None and one.arg not in {"self", "cls"}]
        return [read for name in names for read in self._reads[function, name]]


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


def _passes_on(outer: ast.AST, inner: ast.AST) -> bool:
    """Is an expression a result if `inner`, a part of it, is one?"""
    if isinstance(outer, ast.Call):
        return last_name(outer.func) not in MEASURING
    if isinstance(outer, ast.Attribute):
        return outer.attr not in MEASURING
    if isinstance(outer, ast.Subscript):
        return inner is outer.value
    if isinstance(outer, ast.IfExp):
        return inner is not outer.test
    return isinstance(outer, ast.expr | ast.keyword | ast.comprehension)


def _is_compiled(scope: ast.AST) -> bool:
    calls = (one for one in getattr(scope, "decorator_list", ()) if isinstance(one, ast.Call))
    return any(
        keyword.arg in {"jit_compile", "experimental_compile"}
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for call in calls
        for keyword in call.keywords
    )


def _writes_to_input(source: ProgramSource, call: ast.Call) -> bool:
    """Does the body, if it is in the same file, assign to a part of one of its inputs?"""
    body, partials = _called_back(source, call)
    function = _function_of(source, body)
    if not isinstance(function, ast.FunctionDef):
        return False
    inputs = [one.arg for one in function.args.args if one.arg not in {"self", "cls"}]
    for partial in partials:  # what they bind is no input
        bound = {one.arg for one in partial.keywords}
        inputs = [one for one in inputs[len(partial.args) - 1 :] if one not in bound]
    stored = {inner.id for inner in ast.walk(function) if _is_stored(inner) and isinstance(inner, ast.Name)}
    return any(_target(inner) in {*inputs} - stored for inner in ast.walk(function))


RANDOM = ("numpy.random.", "random.", "tensorflow.random.")
"""The paths of functions that draw begin with these; `default_rng` and the like create a generator of their own."""

SEEDING = ("seed", "get_state", "set_state", "getstate", "setstate")


def _draws(source: ProgramSource, node: ast.expr) -> str:
    """Return the function with which a body, or a function of its file, draws random numbers; empty if none.

    A generator that comes from elsewhere is not recognised.
    """
    body, _ = _called_back(source, node)
    if isinstance(body, ast.Name | ast.Attribute) and _is_drawing(source, body):
        return ast.unparse(body)
    waiting, seen = [_function_of(source, body)], set[ast.AST]()
    while waiting:
        function = waiting.pop(0)
        if function is None or function in seen:
            continue
        seen.add(function)
        for inner in ast.walk(function):
            if isinstance(inner, ast.Call) and _is_drawing(source, inner.func):
                return ast.unparse(inner.func)
            if isinstance(inner, ast.Name | ast.Attribute):
                waiting.append(_own_function(source, inner))
    return ""


def _is_drawing(source: ProgramSource, function: ast.expr) -> bool:
    path = source.path(function)
    return path.startswith(RANDOM) and path.rpartition(".")[2] not in SEEDING


def _called_back(source: ProgramSource, node: ast.expr) -> tuple[ast.AST | None, list[ast.Call]]:
    """Return what a callback calls back, through names and partials, and these partials, the innermost first."""
    above = source.parents.get(node)
    if isinstance(above, ast.FunctionDef) and node in above.decorator_list:
        return above, []
    if not isinstance(node, ast.Call):
        return None, []
    place = int(source.is_partial(node))  # of the callback itself, whose first argument is TensorFlow's function
    given = [one.value for one in node.keywords if one.arg == "func"] + node.args[place : place + 1]
    return source.unbind(given[0]) if given else (None, [])


def _function_of(source: ProgramSource, body: ast.AST | None) -> ast.Lambda | ast.FunctionDef | None:
    """Return the function of the file that a body is."""
    if isinstance(body, ast.Lambda | ast.FunctionDef):
        return body
    if isinstance(body, ast.Attribute) and not source.path(body).startswith(UNKNOWN):
        return None  # of an imported module
    return _own_function(source, body, is_any=True) if isinstance(body, ast.Name | ast.Attribute) else None


def _own_function(
    source: ProgramSource, node: ast.Name | ast.Attribute, *, is_any: bool = False
) -> ast.FunctionDef | None:
    """Return the function of the file that a name stands for, or the method that an attribute of `self` does.

    Args:
        source: the file.
        node: the name or attribute.
        is_any: take a method of any other object, too.
    """
    if isinstance(node, ast.Name):
        function = source.function_named(node, node.id)
        return None if function is None or isinstance(source.parents[function], ast.ClassDef) else function
    is_own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
    return source.method_named(node, node.attr) if is_own or is_any else None


def _is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _target(node: ast.AST) -> str:
    """Return the name at the start of a subscript that is assigned to."""
    if isinstance(node, ast.Subscript) and _is_stored(node) and isinstance(node.value, ast.Name):
        return node.value.id
    return ""
