"""Replaces callbacks by ports in the text of the user's source, so that everything around them keeps its layout."""

from __future__ import annotations

import ast
import difflib
import io
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import PurePosixPath

from pyopbench.advise.callbacks import KeptCall, Stage
from pyopbench.find.call_sites import CallbackNode, body_of, find_callbacks, parse
from pyopbench.find.source import ProgramSource
from pyopbench.model.arrangement import AUTOTUNE
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.syntax import Replacement, Source, has_unpacked, root_of


class CannotPlace(PyopbenchError):
    """A callback cannot be replaced by its port; the message says why."""

    exit_code = 1


@dataclass(frozen=True)
class Placement:
    """A port and the callback that it replaces.

    Attributes:
        line: of the call in the user's file.
        body: the name of the function that is called back.
        module, function: the names of the port's module, next to the user's file, and of the port in it.
        call: how the program calls it: inputs that are not tensors are converted, outputs become a list.
        port_dtypes: that the port returns.
        stops_gradient: does the callback have no gradient here, so that the port must not have one either?
        takes_list: does the function take a list of inputs and return a list of outputs, as that of an arrangement?
        converts_port: does the patch convert the port by AutoGraph?
    """

    line: int
    kind: str
    body: str
    module: str
    function: str
    call: KeptCall
    port_dtypes: Sequence[str]
    stops_gradient: bool
    takes_list: bool = False
    converts_port: bool = False


@dataclass(frozen=True)
class MapChange:
    """A change of a call of `Dataset.map`.

    Attributes:
        stage: the call.
        calls: its `num_parallel_calls`, or `AUTOTUNE`; 0 for the number of processes in the pool of a module.
        module, package: as in `Placement`.
    """

    stage: Stage
    calls: int
    module: str = ""
    package: str = ""


def replace_callbacks(code: bytes, placements: Sequence[Placement], maps: Sequence[MapChange] = ()) -> bytes:
    """Return a source with ports in place of callbacks on different lines, and with changed `Dataset.map` calls.

    Raises:
        CannotPlace: a callback or its `Dataset.map` is not found or cannot be changed.
    """
    try:
        text = decode_source(code)
        tree = parse(code)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise CannotPlace(f"its file cannot be parsed: {error}") from error
    source = ProgramSource.of(tree)
    file = Source.of(text, tree)
    edits: list[Replacement] = []
    imports: dict[str, None] = {}
    for one in placements:
        found = _found(source, one)
        edits.append(_edit(source, file, found, one))
        imports[f"from . import {one.module}" if one.call.package else f"import {one.module}"] = None
        if not _tensorflow(source, found.call, found.node) and "tf." in edits[-1][2]:
            imports["import tensorflow as tf"] = None
    changes: dict[ast.Call, MapChange] = {}
    for change in maps:
        node = _found_map(tree, change.stage)
        is_other = node in changes and changes[node] != change  # another callback of the same map
        changes[node] = MapChange(change.stage, AUTOTUNE) if is_other else change
    for node, change in changes.items():
        tf = _tensorflow(source, None, node)
        calls = str(change.calls)
        if not change.calls:
            imports[f"from . import {change.module}" if change.package else f"import {change.module}"] = None
            calls = f"{change.module}.usual_pool().processes"
        elif change.calls == AUTOTUNE:
            calls = f"{tf or 'tf'}.data.AUTOTUNE"
            imports |= {} if tf else {"import tensorflow as tf": None}
        edits.append(_parallel_edit(file, node, calls))
    if imports:
        edits.append(file.added_imports(list(imports), min(edits)[0]))
    after = file.replaced(0, len(file.data), edits)
    try:
        ast.parse(after)
    except SyntaxError as error:
        raise CannotPlace(f"the changed file cannot be parsed: {error.msg}") from error
    return _as_before(code, after)


def _as_before(before: bytes, after: str) -> bytes:
    """Return a text with the line ends and the encoding of the original file."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(before).readline)
    return (after.replace("\n", "\r\n") if b"\r\n" in before else after).encode(encoding)


def _found(source: ProgramSource, placement: Placement) -> CallbackNode:
    here = [
        one
        for one in find_callbacks(source)
        if one.kind == placement.kind and one.node.lineno <= placement.line <= (one.node.end_lineno or 0)
    ]
    if not here:  # a decorated function, which is called there
        decorated = [one for one in find_callbacks(source) if one.form == "decorator" and one.kind == placement.kind]
        here = [one for one in decorated if getattr(body_of(source, one), "name", None) == placement.body]
    if len(here) != 1:
        raise CannotPlace("its line must contain the call that makes the callback, and no other one")
    return here[0]


def _found_map(tree: ast.Module, stage: Stage) -> ast.Call:
    """Return the call of `Dataset.map` of a stage."""
    here = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == "map"
        and one.lineno <= stage.line <= (one.end_lineno or 0)
    ]
    if len(here) > 1:
        here = [one for one in here if (one.end_lineno, one.end_col_offset) == stage.end]
    if len(here) != 1:
        raise CannotPlace("the line of its `Dataset.map` must contain that call, and no other one")
    return here[0]


def _parallel_edit(file: Source, call: ast.Call, calls: str) -> Replacement:
    """Return the edit that sets `num_parallel_calls` of a map."""
    if has_unpacked(call):
        raise CannotPlace("its `Dataset.map` is called with unpacked arguments")
    given = [one.value for one in call.keywords if one.arg == "num_parallel_calls"] + call.args[1:2]
    if given:
        return *file.span(given[0]), calls
    _, end = max(file.span(one) for one in [*call.args, *(one.value for one in call.keywords)])
    # After a parenthesis that closes the last argument, such as that of a generator or of a tuple in the call.
    tail = file.data[end : file.span(call)[1] - 1]
    end += tail.rfind(b")") + 1 if b"#" not in tail else 0
    return end, end, f", num_parallel_calls={calls}"


def _edit(source: ProgramSource, file: Source, found: CallbackNode, placement: Placement) -> Replacement:
    port = f"{placement.module}.{placement.function}"
    if found.form == "decorator":
        function = body_of(source, found)
        if not isinstance(function, ast.FunctionDef) or len(function.decorator_list) > 1:
            raise CannotPlace("it is one of several decorators")
        if any(isinstance(scope, ast.ClassDef) for scope in source.scopes(function)[:1]):
            raise CannotPlace("it decorates a method")
        if ast.unparse(function.args) != ast.unparse(ast.arguments([], function.args.args, None, [], [], None, [])):
            raise CannotPlace("it decorates a function that has defaults, `*args` or keyword-only parameters")
        arguments = ", ".join(one.arg for one in function.args.args)
        call = _call(source, found, placement, port, f"[{arguments}]", [one.arg for one in function.args.args])
        indent = " " * function.col_offset
        text = f"def {function.name}({arguments}):\n{indent}    return {call}"
        (begin, _), (_, end) = file.span(found.node), file.span(function)
        return begin - 1, end, text  # with the @
    if found.form != "call" or found.call is None:
        raise CannotPlace("it is passed to another function, which calls it")
    return *file.span(found.node), _of_call(source, file, found, placement, port)


def _of_call(source: ProgramSource, file: Source, found: CallbackNode, placement: Placement, port: str) -> str:
    call = found.call
    assert call is not None
    if has_unpacked(call):
        raise CannotPlace("it is called with unpacked arguments")
    named = {one.arg: one.value for one in call.keywords}
    place = 0 if _calls_partial(source, call) else 1
    given = named.get("inp") or next(iter(call.args[place : place + 1]), None)
    if given is None:
        raise CannotPlace("its inputs are not written as arguments of the call")
    elements = None
    if isinstance(given, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in given.elts):
        elements = [file.text(*file.span(one)) for one in given.elts]
    return _call(source, found, placement, port, file.text(*file.span(given)), elements)


def needs_autograph(port: str) -> bool:
    """Does a port to TensorFlow ops have branches or loops, which may depend on tensors?"""
    functions = [one for one in ast.parse(port).body if isinstance(one, ast.FunctionDef)]
    return any(isinstance(node, ast.If | ast.While | ast.For) for one in functions for node in ast.walk(one))


def _calls_partial(source: ProgramSource, call: ast.Call) -> bool:
    """Is the called function a name bound to a `functools.partial`?"""
    source.partials.clear()
    source.path(call.func)
    return bool(source.partials)


def _call(  # noqa: PLR0913 - each is known where it is called
    source: ProgramSource,
    found: CallbackNode,
    placement: Placement,
    port: str,
    given: str,
    elements: Sequence[str] | None,
) -> str:
    """Return the call of the port, with conversions to the inputs and outputs of the callback."""
    tf = _tensorflow(source, found.call, found.node) or "tf"
    port = f"{tf}.autograph.to_graph({port})" if placement.converts_port else port
    if elements is None:
        plain = all(placement.call.are_tensors)
        inputs = f"*{given}" if plain else f"*[{tf}.convert_to_tensor(one) for one in {given}]"
    else:
        known = [*placement.call.are_tensors, *([False] * len(elements))][: len(elements)]
        inputs = ", ".join(
            one if is_tensor else f"{tf}.convert_to_tensor({one})"
            for one, is_tensor in zip(elements, known, strict=True)
        )
    call = f"{port}([{inputs}])" if placement.takes_list else f"{port}({inputs})"
    if placement.takes_list and len(placement.call.dtypes) == 1:
        call = f"{call}[0]"
    casts = any(one != other for one, other in zip(placement.call.dtypes, placement.port_dtypes, strict=False))
    floats = any(one.startswith(("float", "bfloat", "complex")) for one in placement.call.dtypes)
    if len(placement.call.dtypes) == 1:
        if casts:
            call = f"{tf}.cast({call}, {tf}.{placement.call.dtypes[0]})"
        if placement.stops_gradient and floats:
            call = f"{tf}.stop_gradient({call})"
        return f"[{call}]" if placement.call.is_list else call
    if casts:
        types = ", ".join(f"{tf}.{one}" for one in placement.call.dtypes)
        call = f"[{tf}.cast(one, dtype) for one, dtype in zip({call}, [{types}])]"
    if placement.stops_gradient and floats:
        return f"[{tf}.stop_gradient(one) for one in {call}]"
    return call if casts or placement.takes_list else f"list({call})"


def _tensorflow(source: ProgramSource, call: ast.Call | None, node: ast.AST) -> str:
    """Return the name of TensorFlow at the call of the callback; empty if only the function was imported."""
    root = root_of(call.func if call is not None else node)
    if isinstance(root, ast.Name) and source.path(root) in ("tensorflow", "tensorflow.compat.v1"):
        return root.id
    names = [name for name in ("tf", "tensorflow") if "tensorflow" in source.paths_of_module(name)]
    return names[0] if names else ""


def patch_text(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Return a patch for `git apply`, from the contents of files by their path from the root.

    New files are not in `before`.
    """
    pieces = []
    for name in sorted(after):
        path = PurePosixPath(name).as_posix()
        old, new = before.get(name), after[name]
        if old == new:
            continue
        lines = _diff(old or b"", new, "/dev/null" if old is None else f"a/{path}", f"b/{path}")
        head = [f"diff --git a/{path} b/{path}\n", *(["new file mode 100644\n"] if old is None else [])]
        pieces.append("".join([*head, *lines]))
    return "".join(pieces)


def _diff(old: bytes, new: bytes, old_name: str, new_name: str) -> list[str]:
    # Of UTF-8 and of everything else alike, as bytes: a patch of git is not of an encoding.
    before, after = ([line.decode("utf-8", "surrogateescape") for line in io.BytesIO(one)] for one in (old, new))
    lines = difflib.unified_diff(before, after, old_name, new_name)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
