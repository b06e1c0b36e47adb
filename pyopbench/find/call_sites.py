"""Finds where a Python source passes a Python function to a TensorFlow graph."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from pyopbench.find import context
from pyopbench.find.risks import Risk, find_risks
from pyopbench.find.source import UNKNOWN, ProgramSource
from pyopbench.find.values import ValueFlow

CALLBACKS = {
    "py_function": "py_function",
    "eager_py_func": "py_function",
    "numpy_function": "numpy_function",
    "py_func": "py_func",
    "py_func_common": "py_func",
}
"""The last name of each function that makes a callback, in TensorFlow's public and inner modules, and its kind.

Read in tensorflow/python/ops/script_ops.py of 2.21; `contrib.eager.py_func` was py_function's
name in TensorFlow 1.
"""

TENSORFLOW_NAMES = re.compile(r"_?(tf|tensorflow)(_compat)?(_?v?\d)?|script_ops")
"""Names that people give TensorFlow, for a file that got it from another module."""

DISTINCT = {"py_function", "numpy_function"}
"""Names that mean TensorFlow's wherever they come from; Numba's functions have a `py_func` as well."""

WORD = re.compile(rb"py_func|numpy_function")
"""What every file that calls one of `CALLBACKS` holds, so that no other one has to be searched."""


@dataclass(frozen=True)
class CallSite:
    """A place in a source that makes a callback.

    Attributes:
        line, column: from 1.
        function: the functions and classes around it, joined by dots.
        form: `call`, `decorator`, `partial` (bound by functools.partial and not called in the file) or `passed` (handed
            to another function, returned, or an item of a list or dict).
        certain: False where the name alone says that it is TensorFlow's.
        context: `tf.data`, `loss`, `Keras metric`, `Keras layer`, `loop` or `plain`.
        gradient: `custom_gradient`, `override_map`, `tape`, `none`, or `is one` inside a custom gradient.
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
    bases_elsewhere: Callable[[str], Set[str] | None] = lambda path: None,
) -> list[CallSite]:
    """Return the call sites of a source, in the order of their lines.

    Args:
        code: the file as it is on disk; its coding line is honoured.
        file: how to name it.
        elsewhere: of `ProgramSource`.
        used_elsewhere: of `context.look_around`.
        bases_elsewhere: the same.
    """
    values = ValueFlow(ProgramSource.of(parse(code), elsewhere))
    around = context.look_around(values, used_elsewhere, bases_elsewhere)
    sites = [_describe(values, around, found, file) for found in find_callbacks(values.source)]
    return sorted(sites, key=lambda site: (site.line, site.column))


def parse(code: bytes) -> ast.Module:
    """Parse a source; what Python would warn about in it is the business of its authors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def find_callbacks(source: ProgramSource) -> list[CallbackNode]:
    """Return the callbacks of a parsed file.

    A partial that is called by a name counts where it is called.
    """
    found = [one for node in ast.walk(source.tree) if (one := _find_callback(source, node)) is not None]
    called = _called_partials(source, found)
    return [one for one in found if one.form != "partial" or one.node not in called]


def _find_callback(source: ProgramSource, node: ast.AST) -> CallbackNode | None:
    """Return a node as a callback, if it is one."""
    above = source.parents.get(node)
    is_decorator = isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and node in above.decorator_list
    if isinstance(node, ast.Call):
        form, made = "call", node.func
        if not _kind(source, made) and source.is_partial(node):
            form, made = "partial", node.args[0]
    elif isinstance(node, ast.Name | ast.Attribute) and (is_decorator or _is_passed(source, node)):
        form, made = "passed", node
    else:
        return None
    kind = _kind(source, made)
    return CallbackNode(node, kind, "decorator" if is_decorator else form, source.path(made)) if kind else None


def _is_passed(source: ProgramSource, node: ast.expr) -> bool:
    """Is a name an argument, a default or returned, or an attribute or an item of something?"""
    above = source.parents.get(node)
    if isinstance(above, ast.keyword):
        above = source.parents[above]
    if isinstance(above, ast.Call):
        is_bound = source.is_partial(above) and node is above.args[0]
        return node is not above.func and not is_bound
    if isinstance(above, ast.List | ast.Tuple):
        return isinstance(above.ctx, ast.Load)
    if isinstance(above, ast.Assign) and node is above.value:  # a plain name is followed instead
        is_name = all(isinstance(one, ast.Name) for one in above.targets)
        return not is_name or isinstance(source.parents[above], ast.ClassDef)
    if isinstance(above, ast.arguments):
        return node in (*above.defaults, *above.kw_defaults)
    return isinstance(above, ast.Return | ast.Lambda) or (isinstance(above, ast.Dict) and node in above.values)


def _called_partials(source: ProgramSource, found: list[CallbackNode]) -> set[ast.AST]:
    """Return the calls of functools.partial whose name is called in the file."""
    source.partials.clear()
    for one in found:
        if one.form in {"call", "decorator"} and one.call and isinstance(one.call.func, ast.Name | ast.Call):
            source.path(one.call.func)
    return source.partials


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


def _describe(values: ValueFlow, around: context.Surroundings, found: CallbackNode, file: str) -> CallSite:
    body = body_of(values.source, found)
    return CallSite(
        file=file,
        line=found.node.lineno,
        column=found.node.col_offset + 1,
        function=values.source.qualified_name(found.node),
        kind=found.kind,
        form=found.form,
        certain=_is_tensorflow(found.path),
        context=around.context(found.node),
        gradient=around.gradient(found.node, found.kind),
        body=getattr(body, "name", "") or ("" if body is None else ast.unparse(body)),
        risks=tuple(find_risks(values, around, found.node, found.kind, body)),
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
