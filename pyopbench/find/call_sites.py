"""Finds where a Python source hands a Python function to a TensorFlow graph, and what can go wrong there."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass

from pyopbench.find import context
from pyopbench.find.context import Parallel
from pyopbench.find.source import FUNCTIONS, UNKNOWN, ProgramSource
from pyopbench.model.function_source import own_nodes

COMMON_RISKS = (
    "not serializable: a SavedModel stores its key, not its function",
    "XLA, TFLite and a server in another process cannot run it",
    "it holds the GIL while its body runs",
)
"""What holds for every callback: limitations in the docstrings of tf.py_function and tf.numpy_function (2.21)."""


@dataclass(frozen=True)
class Risk:
    """What can go wrong with a callback, and not with every one.

    Attributes:
        name: as programs have it.
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
        "seed the generator inside the body, or draw with tf.random and pass the numbers in",
    )


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


def find_risks(source: ProgramSource, node: ast.expr, traits: Traits) -> Iterator[Risk]:
    """Yield the risks that this callback has and not every one.

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
            yield PARALLEL
        elif traits.parallel == "perhaps":
            yield PERHAPS_PARALLEL
    elif traits.gradient == "none":
        yield NO_GRADIENT
    elif traits.gradient == "tape":
        yield ONE_GRADIENT
        if traits.context == "loop":
            yield FAILS_IN_LOOP
    if call is not None and _is_stateless(call):
        yield STATELESS
    if not _is_shaped(source, node):
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


def _is_shaped(source: ProgramSource, node: ast.expr) -> bool:
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


def _writes_to_input(source: ProgramSource, call: ast.Call) -> bool:
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


def _draws(source: ProgramSource, node: ast.expr) -> str:
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


def _bodies(source: ProgramSource, node: ast.expr, functions: dict[str, ast.FunctionDef]) -> Iterator[ast.AST]:
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


CALLBACKS = {
    "py_function": "py_function",
    "eager_py_func": "py_function",
    "EagerPyFunc": "py_function",
    "numpy_function": "numpy_function",
    "py_func": "py_func",
    "py_func_common": "py_func",
    "py_func_stateless": "py_func",
    "PyFunc": "py_func",
    "PyFuncStateless": "py_func",
}
"""The last name of each function that makes a callback, in TensorFlow's public and inner modules, and its kind.

Read in tensorflow/python/ops/script_ops.py and gen_script_ops.py of 2.21; `contrib.eager.py_func` was py_function's
name in TensorFlow 1.
"""

TENSORFLOW_NAMES = re.compile(r"_?(tf|tensorflow)(_compat)?(_?v?\d)?|script_ops|raw_ops")
"""Names that people give TensorFlow, for a file that got it from another module."""

DISTINCT = {"py_function", "numpy_function"}
"""Names that mean TensorFlow's wherever they come from; Numba's functions have a `py_func` as well."""

WORD = re.compile(rb"py_func|numpy_function|PyFunc")
"""What every file that calls one of `CALLBACKS` holds, so that no other one has to be searched."""


@dataclass(frozen=True)
class CallSite:
    """A place in a source that makes a callback.

    Attributes:
        file: as it was given or found.
        line, column: from 1.
        function: the functions and classes around it, joined by dots.
        kind: `py_function`, `numpy_function` or `py_func`.
        form: `call`, `decorator`, `partial` (bound by functools.partial and not called in the file) or `passed` (handed
            to another function).
        certain: False where the name alone says that it is TensorFlow's.
        context: `tf.data`, `loss`, `Keras metric`, `Keras layer`, `loop` or `plain`.
        gradient: `custom_gradient`, `override_map`, `defun`, `tape`, `none`, or `is one` inside a custom gradient.
        body: what is called back, in the words of the source.
        risks: those that not every callback has; the others are `COMMON_RISKS`.
        cell, cell_line: of a notebook, whose `line` is that of its file: number of the code cell, line in it, from 1.
    """

    file: str
    line: int
    column: int
    function: str
    kind: str
    form: str
    certain: bool
    context: str
    gradient: str
    body: str
    risks: tuple[Risk, ...]
    cell: int | None = None
    cell_line: int | None = None


@dataclass(frozen=True)
class CallbackNode:
    """A callback among the nodes of a file: the call, decorator or name, what it is, and what it was found as."""

    node: ast.expr
    kind: str
    form: str
    path: str

    @property
    def call(self) -> ast.Call | None:
        """The call that holds the arguments, if there is one."""
        return self.node if isinstance(self.node, ast.Call) else None


def find_sites(
    code: bytes,
    file: str,
    elsewhere: Callable[[str], str] = str,
    used_elsewhere: Mapping[str, Set[str]] | None = None,
) -> list[CallSite]:
    """Return the call sites of a source, in the order of their lines.

    Args:
        code: the file as it is on disk; its coding line is honoured.
        file: how to name it.
        elsewhere: what the dotted path of something in another module stands for there, or the path itself.
        used_elsewhere: context -> names of functions of this file that others use there.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is not Python, as `ast.parse` says it.
    """
    source = ProgramSource.of(parse(code), elsewhere)
    around = context.look_around(source, used_elsewhere)
    sites = [_describe(source, around, found, file) for found in find_callbacks(source)]
    return sorted(sites, key=lambda site: (site.line, site.column))


def parse(code: bytes) -> ast.Module:
    """Parse a source; what Python would warn about in it is the business of its authors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def find_callbacks(source: ProgramSource) -> list[CallbackNode]:
    """Return the callbacks of a parsed file; a partial that is called under a name counts where it is called."""
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    decorators = {
        decorator
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in node.decorator_list
    }
    found = [found for call in calls for found in _find_in_call(source, call, decorators)]
    bare = [node for node in decorators if not isinstance(node, ast.Call)]
    found += [
        CallbackNode(node, kind, "decorator", source.path(node)) for node in bare if (kind := _kind(source, node))
    ]
    return [one for one in found if one.form != "partial" or one.node not in _called_partials(source, found)]


def _find_in_call(source: ProgramSource, call: ast.Call, decorators: set[ast.expr]) -> Iterator[CallbackNode]:
    kind = _kind(source, call.func)
    if kind:
        yield CallbackNode(call, kind, "decorator" if call in decorators else "call", source.path(call.func))
        return
    made_by = source.path(call.func)
    if made_by == "functools.partial" and call.args and (kind := _kind(source, call.args[0])):
        yield CallbackNode(call, kind, "decorator" if call in decorators else "partial", source.path(call.args[0]))
        return
    if made_by in {f"{UNKNOWN}{name}" for name in ("hasattr", "getattr", "callable", "isinstance", "print")}:
        return
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(argument, ast.Name | ast.Attribute) and (kind := _kind(source, argument)):
            yield CallbackNode(argument, kind, "passed", source.path(argument))


def _called_partials(source: ProgramSource, found: list[CallbackNode]) -> set[ast.AST]:
    """Return the calls of functools.partial whose name is called in the file."""
    source.partials.clear()
    for one in found:
        if one.form in {"call", "decorator"} and one.call and isinstance(one.call.func, ast.Name):
            source.path(one.call.func)
    return set(source.partials)


def makes_callbacks(path: str) -> bool:
    """Does a dotted path stand for a function of TensorFlow that makes callbacks?"""
    return _is_tensorflow(path) and path.rpartition(".")[2] in CALLBACKS


def _kind(source: ProgramSource, node: ast.expr) -> str | None:
    path = source.path(node)
    base, _, last = path.rpartition(".")
    if last not in CALLBACKS or (path.startswith(UNKNOWN) and not base):
        return None
    if _is_tensorflow(path):
        return "py_function" if path.endswith("contrib.eager.py_func") else CALLBACKS[last]
    outer = [part for part in base.lstrip(UNKNOWN).split(".") if part not in {"compat", "v1", "v2"}]
    named = TENSORFLOW_NAMES.fullmatch(outer[-1]) if outer else None
    likely = last in DISTINCT and base.lstrip(UNKNOWN) not in {"self", "cls", "super"}
    return CALLBACKS[last] if named or likely else None


def _is_tensorflow(path: str) -> bool:
    return path.split(".", maxsplit=1)[0] in {"tensorflow", "tensorflow_core"}


def _describe(source: ProgramSource, around: context.Surroundings, found: CallbackNode, file: str) -> CallSite:
    context = around.context(found.node)
    gradient = around.gradient(found.node, op_of(found.call, found.kind), found.kind)
    traits = Traits(found.kind, context, gradient, around.is_parallel(found.node))
    return CallSite(
        file=file,
        line=found.node.lineno,
        column=found.node.col_offset + 1,
        function=source.qualified_name(found.node),
        kind=found.kind,
        form=found.form,
        certain=_is_tensorflow(found.path),
        context=context,
        gradient=gradient,
        body=_body(source, found),
        risks=tuple(find_risks(source, found.node, traits)),
    )


def body_of(source: ProgramSource, found: CallbackNode) -> ast.AST | None:
    """Return what is called back: the first argument, or the function that is decorated."""
    if found.form == "decorator":
        return source.parents.get(found.node)
    if found.call is None:
        return None
    positional = found.call.args[1:] if found.form == "partial" else found.call.args
    named = [keyword.value for keyword in found.call.keywords if keyword.arg == "func"]
    return next(iter([*named, *positional]), None)


def _body(source: ProgramSource, found: CallbackNode) -> str:
    body = body_of(source, found)
    if isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef):
        return body.name
    return "" if body is None else ast.unparse(body)
