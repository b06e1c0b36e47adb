"""Writes the file of an op to start from: the body of a callback, out of the source that was scanned."""

from __future__ import annotations

import ast
import builtins
import re
import shlex
import textwrap
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from pyopbench.find.call_sites import CallbackNode, body_of, find_callbacks, parse
from pyopbench.find.notebook import Notebook
from pyopbench.find.record import Example, Recorded, look_up
from pyopbench.find.scan import read_source
from pyopbench.find.source import FUNCTIONS, Function, ProgramSource
from pyopbench.find.usage import Step
from pyopbench.model.case import BASELINE, DTYPES
from pyopbench.model.discover import PLACES, RESERVED, find, names_in, python_files
from pyopbench.model.errors import BadInput
from pyopbench.model.function_source import (
    bindings,
    every_name,
    globals_read,
    import_of,
    names_bound,
    root_of,
    with_needs,
)
from pyopbench.model.paths import real_path
from pyopbench.model.portable import port_words


@dataclass(frozen=True)
class Snippet:
    """A function's source by itself.

    Attributes:
        name: what it is called here; a lambda gets a name.
        code: its source, without indentation and decorators; empty where the file has not got it.
        parameters: how many positional arguments it takes, or None for any number.
        imports: import statements that it needs.
        helpers: statements of the module that it needs, in their order.
        missing: names that it uses and that are neither of its module nor of Python: of a class, of an outer function.
        on_arrays: does it, or a lambda before it, take `.numpy()` of each tensor, so that it is a body on arrays?
    """

    name: str
    code: str = ""
    parameters: int | None = None
    imports: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    on_arrays: bool = False


def take_body(source: ProgramSource, found: CallbackNode) -> Snippet:
    """Return what a callback calls back, as source that stands by itself as far as parsing can make it so."""
    body = _resolve(source, body_of(source, found))
    behind, on_arrays = function_behind(body)
    if behind is not None:
        taken = _take_body(source, found, behind)
        if taken.code:
            return replace(taken, on_arrays=on_arrays)
    return _take_body(source, found, body)


def _resolve(source: ProgramSource, body: ast.AST | None) -> ast.AST | None:
    """Return what a name stands for, or a lambda in place of a partial, as far as that is clear; else the node."""
    followed = source.follow(body)
    if isinstance(followed, ast.Call) and source.is_partial(followed):
        return _as_lambda(source, followed) or body
    return followed if isinstance(followed, (*FUNCTIONS, ast.Attribute)) else body


def _as_lambda(source: ProgramSource, partial: ast.Call) -> ast.Lambda | None:
    """Return a lambda that does what a partial does; None where it would not be the same.

    A partial evaluates what it binds once and a lambda each time, so that only names and constants are bound. A method
    of `self` is left out, because its text cannot be taken along.
    """
    function, *values = partial.args
    values += [one.value for one in partial.keywords]
    root = root_of(function)
    is_named = isinstance(root, ast.Name) and root.id not in {"self", "cls"}
    if not is_named or None in {one.arg for one in partial.keywords} or not all(map(_is_fixed, values)):
        return None
    names, inputs = every_name(partial), "inputs"
    while inputs in names:
        inputs += "_"
    handed_on = [*map(ast.unparse, partial.args[1:]), f"*{inputs}", *map(ast.unparse, partial.keywords)]
    text = f"lambda *{inputs}: {ast.unparse(function)}({', '.join(handed_on)})"
    result = ast.parse(text, mode="eval").body
    assert isinstance(result, ast.Lambda)
    source.parents |= {child: node for node in ast.walk(result) for child in ast.iter_child_nodes(node)}
    source.parents[result] = source.parents[partial]
    return result


def _is_fixed(value: ast.expr) -> bool:
    """Is it a name, a constant, or a tuple of these, so that evaluating it again gives the same?"""
    if isinstance(value, ast.Tuple):
        return all(map(_is_fixed, value.elts))
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.operand, ast.Constant)
    return isinstance(value, ast.Constant | ast.Name)


def function_behind(body: ast.AST | None) -> tuple[ast.expr | None, bool]:
    """Return the function that a lambda hands all of its parameters to, in order, and whether it takes arrays.

    `lambda i, n: augment(i.numpy(), n.numpy())` stands before `augment`, on arrays; `lambda x: f(x)` before `f`, on
    what the lambda gets. None for any other.
    """
    if not isinstance(body, ast.Lambda) or not isinstance(body.body, ast.Call) or body.body.keywords:
        return None, False
    call, parameters = body.body, [one.arg for one in (*body.args.posonlyargs, *body.args.args)]
    has_others = body.args.vararg or body.args.kwarg or body.args.kwonlyargs or body.args.defaults
    if has_others or not isinstance(call.func, ast.Name | ast.Attribute) or not parameters:
        return None, False
    given = [ast.unparse(one) for one in call.args]
    if given == [f"{name}.numpy()" for name in parameters]:
        return call.func, True
    return (call.func, False) if given == parameters else (None, False)


def _take_body(source: ProgramSource, found: CallbackNode, body: ast.AST | None) -> Snippet:
    if isinstance(body, ast.Lambda):
        return _take(source, found, body, "body")
    if isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef):
        return _take(source, found, body, body.name)
    imported = _take_imported(source, body)
    if imported is not None:
        return imported
    name = body.id if isinstance(body, ast.Name) else body.attr if isinstance(body, ast.Attribute) else ""
    function = source.function_named(found.node, name)
    if function is not None:
        return _take(source, found, function, name)
    return Snippet(name or "body")


def _take_imported(source: ProgramSource, body: ast.AST | None) -> Snippet | None:
    """Return a function that calls one that is imported, such as `np.sinh`."""
    root = None if body is None else root_of(body)
    statement = bindings(source.tree.body).get(root.id) if isinstance(root, ast.Name) else None
    if not (isinstance(statement, ast.Import | ast.ImportFrom) and isinstance(root, ast.Name) and body is not None):
        return None
    if not _is_absolute(statement):
        return None
    code = f"def body(*inputs):\n    return {ast.unparse(body)}(*inputs)"
    return Snippet("body", code, None, (import_of(statement, root.id),))


def _take(source: ProgramSource, found: CallbackNode, function: Function, name: str) -> Snippet:
    statements = _statements_seen(source, function)
    on_arrays = found.kind == "py_function" and _takes_arrays(source, function)
    needed, missing = _needed(function, statements)
    imports = [import_of(one, used) for used, one in needed.items() if isinstance(one, ast.Import | ast.ImportFrom)]
    helpers = {one: None for one in needed.values() if not isinstance(one, ast.Import | ast.ImportFrom)}
    in_order = sorted((one for one in helpers if one is not function), key=lambda one: one.lineno)
    return Snippet(
        name=name,
        code=_code(_on_arrays(function) if on_arrays else function, name),
        parameters=_parameters(function),
        imports=tuple(sorted(set(imports))),
        helpers=tuple(ast.unparse(one) for one in in_order),
        missing=tuple(sorted(missing)),
        on_arrays=on_arrays,
    )


def _takes_arrays(source: ProgramSource, function: Function) -> bool:
    """Is `.numpy()` of each parameter all that a function uses, and nothing of TensorFlow?"""
    parameters = _parameter_names(function)
    body = function.body if isinstance(function.body, list) else [function.body]
    names = [one for part in body for one in ast.walk(part) if isinstance(one, ast.Name)]
    uses = [one for one in names if one.id in parameters]
    on_tensors = any(source.path(one).startswith("tensorflow") for one in names)
    return bool(uses) and not on_tensors and all(_is_as_array(source.parents.get(source.parents[one])) for one in uses)


def _parameter_names(function: Function) -> set[str]:
    return {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} - {"self", "cls"}


def _is_as_array(node: ast.AST | None) -> bool:
    """Is it `name.numpy()`?"""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not (node.args or node.keywords)
    return is_call and node.func.attr == "numpy" and isinstance(node.func.value, ast.Name)  # type: ignore[union-attr]


def _on_arrays(function: Function) -> Function:
    """Return a copy of a function that takes `.numpy()` of each parameter, for arrays, which have no such method."""
    parameters = _parameter_names(function)

    class OnArrays(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            if _is_as_array(node) and node.func.value.id in parameters:  # type: ignore[attr-defined]
                return ast.Name(node.func.value.id, ast.Load())  # type: ignore[attr-defined]
            return self.generic_visit(node)

    changed: Function = OnArrays().visit(deepcopy(function))
    return changed


def _code(function: Function, name: str) -> str:
    if isinstance(function, ast.Lambda):
        arguments = ast.unparse(function.args)
        return f"def {name}({arguments}):\n    return {ast.unparse(function.body)}"
    bare = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(bare, ast.FunctionDef | ast.AsyncFunctionDef)
    bare.decorator_list = []
    _drop_self(bare.args)
    return textwrap.dedent(ast.unparse(bare))


def _drop_self(arguments: ast.arguments) -> None:
    if arguments.args and arguments.args[0].arg in {"self", "cls"}:
        del arguments.args[0]


def _parameters(function: Function) -> int | None:
    if function.args.vararg is not None:
        return None
    positional = [*function.args.posonlyargs, *function.args.args]
    own = [argument for argument in positional if argument.arg not in {"self", "cls"}]
    return len(own) - len(function.args.defaults)


def _needed(function: Function, statements: dict[str, ast.stmt]) -> tuple[dict[str, ast.stmt], set[str]]:
    """Return the statements of the module that a function uses, by name, and names that are found nowhere."""
    missing = set[str]()

    def needs(name: str) -> list[str]:
        read = _names_read(statements[name] if name else function)
        missing.update(one for one in read if one not in statements and not hasattr(builtins, one))
        return [one for one in sorted(read) if one in statements]

    *names, _ = with_needs("", needs)
    missing.update(name for name in names if not _is_absolute(statements[name]))
    return {name: statements[name] for name in names if name not in missing}, missing


def _names_read(node: ast.stmt | ast.Lambda) -> set[str]:
    """Return the names that a definition, without its decorators, or a statement reads; `self` is one of them."""
    bare = deepcopy(node)
    if isinstance(bare, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        _drop_self(bare.args)
    if isinstance(bare, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        bare.decorator_list = []
    return globals_read(ast.Expr(bare) if isinstance(bare, ast.Lambda) else bare)


def _statements_seen(source: ProgramSource, function: Function) -> dict[str, ast.stmt]:
    """Return the statements that a function can take along: of the module, and of the functions around it.

    Of the latter it is what they bind once, at their top level. A name that they share with the module is left out,
    because both cannot stand in one file.
    """
    of_module, around, bound = bindings(source.tree.body), dict[str, ast.stmt](), set[str]()
    for scope in source.scopes(function):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [one for node in scope.body for one in names_bound(node)]
            names += [one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)]
            at_top = {one: node for node in scope.body for one in names_bound(node) if not _is_compound(node)}
            around |= {name: node for name, node in at_top.items() if names.count(name) == 1 and name not in bound}
            bound |= {*names}
    kept = {name: node for name, node in of_module.items() if name not in bound}
    return kept | {name: node for name, node in around.items() if name not in of_module}


def _is_compound(statement: ast.stmt) -> bool:
    """Is it no statement that can stand at the top level of a file just as it is?"""
    return not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom | ast.FunctionDef)


def _is_absolute(statement: ast.stmt) -> bool:
    return not isinstance(statement, ast.ImportFrom) or statement.level == 0


OUTPUT_DTYPE = re.compile(r"\b(bool|string|(?:u?int|float|complex|bfloat)\d*)\b")
"""A dtype in the words of a source: `tf.float32`, `np.int64`, `"float32"`, `tf.TensorSpec(..., tf.bool)`."""


@dataclass(frozen=True)
class Draft:
    """An op file.

    Attributes:
        name: of the op and the file.
        code: what the file holds.
        todo: what is left to fill in before it measures the user's op, in words; the first lines are the file's too.
        baseline: the variant that is this callback.
        has_numpy: is its body one on arrays, which ports can be written of?
        recorded: what a recording says of the callback.
    """

    name: str
    code: str
    todo: tuple[str, ...]
    baseline: str
    has_numpy: bool
    recorded: Recorded


BASELINES = {"py_function": BASELINE, "numpy_function": "numpy_function", "py_func": "py_func"}
"""The variant that is a callback of each kind."""


def draft(site: str, out: Path | None, recording: Path | None = None) -> Draft:
    """Return an op file for the callback of a line.

    Args:
        site: `FILE:LINE` or `FILE:LINE:COLUMN`, as a scan lists it.
        out: the file that it is to go to, whose name is the op's; None to name it after the callback's body.
        recording: of a run of the program, for the shapes and dtypes that it passes; None to guess them.

    Raises:
        BadInput: there is no such file or callback, the name is not one of an op or is taken, or the recording has no
            inputs of this callback.
    """
    path, line, column = _read_site(site)
    try:
        code, notebook = read_source(path)
        source = ProgramSource.of(parse(code))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise BadInput(
            f"cannot read {path}: {error}",
            received=site,
            hint="`pyopbench scan` shows where callbacks are",
        ) from error
    found = _find(source, site, line, column, notebook)
    body = take_body(source, found)
    name = _op_name(out.stem if out else f"my_{body.name.strip('_').lower()}", out)
    lines = found.node.lineno, found.node.end_lineno
    recorded = Recorded([]) if recording is None else look_up(recording, path, *lines)
    return _write(name, f"{path}:{line if notebook else found.node.lineno}", found, body, recorded)


def _read_site(site: str) -> tuple[Path, int, int | None]:
    match = re.fullmatch(r"(.+?):(\d{1,9})(?::(\d{1,9}))?", site)
    if match is None:
        raise BadInput(
            "not the location of a callback",
            received=repr(site),
            hint="FILE:LINE or FILE:LINE:COLUMN, as `pyopbench scan` lists them; for example --draft train.py:42",
        )
    return Path(match[1]), int(match[2]), int(match[3]) if match[3] else None


def _find(source: ProgramSource, site: str, line: int, column: int | None, notebook: Notebook | None) -> CallbackNode:
    def line_of(number: int | None) -> int:  # in a notebook it is one of its file, as a scan lists them
        return number or 0 if notebook is None else notebook.place(number or 1).line

    found = find_callbacks(source)
    here = [one for one in found if line_of(one.node.lineno) == line and column in (None, one.node.col_offset + 1)]
    if not here and column is None:  # a line of a call that goes over several
        here = [one for one in found if line_of(one.node.lineno) < line <= line_of(one.node.end_lineno)][-1:]
    if not here:
        legal = ", ".join(str(one) for one in sorted({line_of(one.node.lineno) for one in found}))
        raise BadInput(
            "no callback starts there",
            received=site,
            legal=f"lines {legal}" if legal else None,
            hint="`pyopbench scan FILE` lists them" if legal else "the file has no callback",
        )
    return here[0]


def taken_names() -> list[str]:
    """Return the names that no op of a user can have: those of the package."""
    return [
        name
        for kind in ("ops", RESERVED["ops"])
        for path in python_files(PLACES[kind])
        for name in names_in(path, kind)
    ]


def _op_name(name: str, out: Path | None) -> str:
    taken = taken_names()
    known = find("ops")
    if out is not None and name in known and real_path(known[name]) == real_path(out):
        taken.append(name)
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in taken:
        raise BadInput(
            "not a valid name for a new op",
            received=name,
            hint="lower-case letters, digits and underscores, starting with a letter; no built-in op has it; "
            "give another file with --out, for example --out my_op.py",
        )
    return name


def _write(name: str, place: str, found: CallbackNode, body: Snippet, recorded: Recorded) -> Draft:
    call, examples = found.call, recorded.examples
    inputs = _count_inputs(call, found.form, body)
    floating = {dtype for dtype in _output_dtypes(_argument(call, "Tout", 2, found.form)) if dtype in DTYPES}
    dtype = floating.pop() if len(floating) == 1 else DTYPES[0]
    todo = tuple(_todo(body, is_recorded=bool(examples)))
    code = "\n".join(
        [
            *_head(name, place, found, body, todo),
            *_functions(body, inputs, dtype, examples),
            *_op(place, found.kind, body, examples),
        ]
    )
    has_numpy = bool(body.code) and not _is_on_tensors(found.kind, body)
    return Draft(name, code, todo, BASELINES[found.kind], has_numpy, recorded)


def _count_inputs(call: ast.Call | None, form: str, body: Snippet) -> int:
    given = _argument(call, "inp", 1, form)
    if isinstance(given, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in given.elts):
        return len(given.elts)
    return 1 if body.parameters is None else body.parameters


def _argument(call: ast.Call | None, name: str, place: int, form: str) -> ast.expr | None:
    if call is None:
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    positional = call.args[1:] if form == "partial" else call.args
    return named or next(iter(positional[place : place + 1]), None)


def _output_dtypes(tout: ast.expr | None) -> list[str]:
    """Return the dtype of each output, empty where the source does not spell it."""
    each = tout.elts if isinstance(tout, ast.List | ast.Tuple) else [tout]
    words = [OUTPUT_DTYPE.findall(ast.unparse(one)) if one is not None else [] for one in each]
    return [found[-1] if found else "" for found in words]


def _todo(body: Snippet, *, is_recorded: bool) -> list[str]:
    todo = [
        "replace the input values with yours; shapes and dtypes are from the recording"
        if is_recorded
        else "replace the inputs with yours: number, shapes, dtypes, values"
    ]
    if not body.code:
        todo.insert(0, "write the body: it is not in the file, or is created at run time")
    if body.missing:
        todo.insert(0, f"add what the body uses from elsewhere: {', '.join(body.missing)}")
    return [*todo, "add a gradient (numpy_gradient, or tensor_gradient) if your program has one"]


def _head(name: str, place: str, found: CallbackNode, body: Snippet, todo: tuple[str, ...]) -> list[str]:
    own = [
        "from typing import Any",
        "",
        "import numpy",
        *(["import tensorflow"] if found.kind == "py_function" else []),
    ]
    return [
        f'"""{name}: drafted from {place}, a tf.{found.kind}."""',
        "",
        "from __future__ import annotations",
        "",
        *own,
        *(line for line in body.imports if line not in own),
        "",
        "from pyopbench import OwnOp",
        "",
        "# Left to do:",
        *(f"# - {one}" for one in todo),
        "",
        *(f"{helper}\n" for helper in body.helpers),
    ]


def _functions(body: Snippet, inputs: int, dtype: str, examples: Sequence[Example]) -> list[str]:
    absent = f"def {body.name}(*inputs):\n    raise NotImplementedError('the body of the callback')"
    lines = ["", body.code or absent, "", ""]
    if examples:
        return [*lines, *_recorded(examples)]
    lines += [
        "def draw_inputs(size: int, rng: numpy.random.Generator) -> tuple[Any, ...]:",
        f'    """Return the inputs for a size: `(size,)` arrays of {dtype}, uniform in [0, 1)."""',
        f"    return tuple(rng.uniform(0.0, 1.0, size).astype({dtype!r}) for _ in range({inputs}))",
        "",
        "",
    ]
    return lines


def _recorded(examples: Sequence[Example]) -> list[str]:
    return [
        "EXAMPLES = [  # shape and dtype of each input, as the program passed them most often",
        *(f"    {list(one)!r}," for one in examples),
        "]",
        "",
        "",
        "def draw(shape: tuple[int, ...], dtype: str, rng: numpy.random.Generator) -> Any:",
        '    """Return an input: floats in [0, 1), whole numbers of 0 and 1, which are places of any array of two."""',
        '    if dtype == "string":',
        '        return numpy.full(shape, b"text", object)',
        "    if numpy.dtype(dtype).kind in 'biu':",
        "        return rng.integers(0, 256 if dtype == 'uint8' else 2, shape).astype(dtype)",
        "    return rng.random(shape).astype(dtype)",
        "",
        "",
    ]


def _op(place: str, kind: str, body: Snippet, examples: Sequence[Example]) -> list[str]:
    if examples:
        inputs = [
            "    inputs=[",
            "        tuple(draw(shape, dtype, numpy.random.default_rng(0)) for shape, dtype in example)",
            "        for example in EXAMPLES",
            "    ],",
        ]
    else:
        inputs = ["    inputs=draw_inputs,", "    sizes=tuple(10**exponent for exponent in range(7)),"]
    return [
        "OP = OwnOp(",
        f"    summary={f'the body of the {kind} at {Path(place).name}'!r},",
        f"    source={place!r},",
        *inputs,
        f"    {'py_function' if _is_on_tensors(kind, body) else 'numpy'}={body.name},",
        f"    baseline={BASELINES[kind]!r},",
        ")",
        "",
    ]


def _is_on_tensors(kind: str, body: Snippet) -> bool:
    return kind == "py_function" and not body.on_arrays


def next_steps(draft: Draft, out: Path) -> list[str]:
    """Return the commands that try a draft out, measure it, and write a port of it."""
    mine = shlex.quote(str(out))
    run = shlex.join(run_words(str(out), draft.baseline, draft.recorded.mix, draft.recorded.step))
    port = shlex.join(port_words([str(out)], "traced", str(out.with_name(f"{out.stem}_traced.py"))))
    return [f"pyopbench verify {mine}", run, *([port] if draft.has_numpy else [])]


def run_words(op: str, baseline: str | None, mix: Path | None, step: Step | None) -> list[str]:
    """Return the command that measures an op file with what is known of the program."""
    words = ["pyopbench", "run", op, "--quick", *([] if baseline is None else ["--baseline", baseline])]
    words += [] if mix is None else ["--mix", str(mix)]
    if step is None:
        return words
    return [*words, "--calls-per-step", f"{step.calls:.6g}", "--step-ms", f"{1000 * step.seconds:.6g}"]
