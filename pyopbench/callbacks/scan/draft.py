"""Writes the file of an op to start from: the body of a callback, out of the source that was scanned."""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyopbench.callbacks.record.recording import Example, Recorded, look_up
from pyopbench.callbacks.record.usage import Step
from pyopbench.callbacks.scan.call_sites import CallbackNode, find_callbacks, parse
from pyopbench.callbacks.scan.extract import Snippet, take_body
from pyopbench.callbacks.scan.names import Source
from pyopbench.core.discover import CATALOGUE, RESERVED, find, python_files
from pyopbench.core.errors import BadInput
from pyopbench.core.model import BASELINE, DTYPES
from pyopbench.core.paths import real_path
from pyopbench.core.portable import port_words
from pyopbench.results.open_file import SOURCE, read_bytes

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
        source = Source.of(parse(read_bytes(Path(os.path.realpath(path)), SOURCE)))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise BadInput(
            f"cannot read {path}: {error}",
            received=site,
            legal="FILE:LINE of a Python file",
            next_step="`pyopbench scan` shows where callbacks are",
        ) from error
    found = _find(source, site, line, column)
    body = take_body(source, found)
    name = _op_name(out.stem if out else f"my_{body.name.strip('_').lower()}", out)
    lines = found.node.lineno, found.node.end_lineno
    recorded = Recorded([]) if recording is None else look_up(recording, path, *lines)
    return _write(name, f"{path}:{found.node.lineno}", found, body, recorded)


def _read_site(site: str) -> tuple[Path, int, int | None]:
    match = re.fullmatch(r"(.+?):(\d{1,9})(?::(\d{1,9}))?", site)
    if match is None:
        raise BadInput(
            "not the location of a callback",
            received=repr(site),
            legal="FILE:LINE or FILE:LINE:COLUMN, as `pyopbench scan` lists them",
            next_step="for example --draft train.py:42",
        )
    return Path(match[1]), int(match[2]), int(match[3]) if match[3] else None


def _find(source: Source, site: str, line: int, column: int | None) -> CallbackNode:
    found = find_callbacks(source)
    here = [one for one in found if one.node.lineno == line and column in (None, one.node.col_offset + 1)]
    if not here and column is None:  # a line of a call that goes over several
        here = [one for one in found if one.node.lineno < line <= (one.node.end_lineno or 0)][-1:]
    if not here:
        legal = ", ".join(str(one) for one in sorted({one.node.lineno for one in found}))
        raise BadInput(
            "no callback starts there",
            received=site,
            legal=f"lines {legal}" if legal else "the file has no callback",
            next_step="`pyopbench scan FILE` lists them",
        )
    return here[0]


def _op_name(name: str, out: Path | None) -> str:
    taken = [path.stem for folder in ("ops", RESERVED["ops"]) for path in python_files(CATALOGUE / folder)]
    known = find("ops")
    if out is not None and name in known and real_path(known[name]) == real_path(out):
        taken.append(name)
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in taken:
        raise BadInput(
            "not a valid name for a new op",
            received=name,
            legal="lower-case letters, digits and underscores, starting with a letter; no built-in op has it",
            next_step="give another file with --out, for example --out my_op.py",
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
