"""What becomes of the functions of one of Numba's test modules as ports, held against NumPy.

The process that `benchmarks/outside/numba_bodies.py` starts for each module; it writes lines as
`benchmarks/bodies/examine.py` does, a form for each function.

    python benchmarks/outside/examine_numba_bodies.py test_linalg.py --lines FILE
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import os
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import tensorflow as tf

from bodies.examine import Trial
from bodies.find import SEEDS
from bodies.line_file import line_file
from bodies.written_files import became_of_file
from outside.judging import judge, load, trial_of, trials_of
from pyopbench.model.errors import BadInput
from pyopbench.model.op import Op
from pyopbench.model.own_target import read_target
from pyopbench.ops.load import make_inputs
from pyopbench.ops.port_file import port_call

SIZES = (4, 6)

CANDIDATES = {
    "matrix": "rng.uniform(-2, 3, (size, size))",
    "vector": "rng.uniform(-2, 3, size)",
    "whole numbers": "rng.integers(0, 4, size)",
    "booleans": "rng.random(size) < 0.5",
    "1": "",
    "0": "",
    "(2, -1)": "",
    "None": "",
}
"""What an argument may be, in the order in which it is tried: an input, or a constant of the call."""

MOST_ARGUMENTS = 4

OP_FILE = """import numpy as np
from pyopbench import OwnOp
{imports}

{source}

{caller}
def inputs(size, rng):
    return ({made},)


OP = OwnOp(inputs=inputs, sizes={sizes}, numpy={body}, differentiable=())
"""
"""In a temporary folder, with the function as it stands: what a user would have."""

CALLER = """
def called({inputs}):
{lines}
"""
"""Around a function that takes constants or returns nothing."""

INPUTS = "abcd"


@dataclass(frozen=True)
class Call:
    """A function with what each of its arguments is: names of `CANDIDATES`."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    returns: bool

    def text(self) -> str:
        """Return the op file of it."""
        kinds = [one for one in self.arguments if CANDIDATES[one]]
        names = iter(INPUTS)
        given = [next(names) if CANDIDATES[one] else one for one in self.arguments]
        inputs = list(INPUTS[: len(kinds)])
        name = self.function.__name__
        call = f"{name}({', '.join(given)})"
        lines = [f"return {call}"]
        if not self.returns:
            lines = [*(f"{one} = {one}.copy()" for one in inputs), call, f"return {', '.join(inputs)}"]
        indented = "\n".join(f"    {line}" for line in lines)
        is_plain = self.returns and given == inputs
        return OP_FILE.format(
            imports=_imports(self.function),
            source=textwrap.dedent(inspect.getsource(self.function)),
            caller="" if is_plain else CALLER.format(inputs=", ".join(inputs), lines=indented),
            made=", ".join(CANDIDATES[one] for one in kinds),
            sizes=SIZES,
            body=name if is_plain else "called",
        )


def _imports(function: Callable[..., Any]) -> str:
    """Return a line that imports the names of its module that a function uses."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names = sorted(used & set(function.__globals__) - {"np", function.__name__})
    return f"from {function.__module__} import {', '.join(names)}" if names else ""


def main(arguments: Sequence[str]) -> int:
    """Examine a module and write its lines; returns the exit code."""
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    with line_file(arguments, __doc__, "the name of a module of numba.tests") as (options, write):
        for line in examined(options.path.stem, options.without):
            write(line)
    return 0


def examined(name: str, without: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield for each function of a module, and each way to call it, its name and then what became of it."""
    module = importlib.import_module(f"numba.tests.{name}")
    yield {"body": name}
    with tempfile.TemporaryDirectory() as folder:
        for function in functions_of(module):
            for form, arguments in ways_to_call(function):
                if form not in without:
                    yield {"begun": form, "kind": "function"}
                    yield {"form": form, "kind": "function", **_became(function, arguments, Path(folder))}


def functions_of(module: Any) -> list[Callable[..., Any]]:
    """Return the plain functions at the top level of a module that are defined there."""
    found = [one for one in vars(module).values() if inspect.isfunction(one) and one.__module__ == module.__name__]
    return [one for one in found if "<" not in one.__qualname__]


def ways_to_call(function: Callable[..., Any]) -> list[tuple[str, int]]:
    """Return a name, and how many arguments are given, for each way to call a function."""
    parameters = inspect.signature(function).parameters.values()
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = sum(one.default is one.empty for one in positional)
    ways = {function.__name__: max(needed, min(1, len(positional)))}
    if len(positional) > ways[function.__name__]:
        ways[f"{function.__name__} with all arguments"] = len(positional)
    return list(ways.items())


def _became(function: Callable[..., Any], arguments: int, folder: Path) -> dict[str, Any]:
    call = call_of(function, arguments)
    if call is None:
        return {"became": "not tried", "reason": f"no candidates for {arguments} arguments fit, or it gives no array"}
    number = len(list(folder.iterdir()))
    path = folder / f"called_{number}_{function.__name__.strip('_')}.py"
    path.write_text(call.text(), encoding="utf-8")
    facts = {"arguments": ", ".join(call.arguments)}
    try:
        op = load(path)
    except BadInput as error:
        return {"became": "not tried", "reason": error.message, **facts}
    trials = [*trials_of(op, range(SEEDS), op.sizes), *edge_trials(op)]
    (dtype,) = op.dtypes
    file = judge(op, lambda: tf.function(port_call(op, "traced", dtype)), trials)
    if file["became"] == "right":
        with tempfile.TemporaryDirectory() as scratch:
            file = became_of_file(op, read_target(str(path), [], []), "traced", Path(scratch))
    return {"became": file["became"], "trials": len(trials), "file": file, **facts}


def call_of(function: Callable[..., Any], arguments: int) -> Call | None:
    """Return the first combination of candidates, with an array among them, that a function takes for an array."""
    if not 0 < arguments <= MOST_ARGUMENTS:
        return None
    for kinds in itertools.product(CANDIDATES, repeat=arguments):
        if any(CANDIDATES[one] for one in kinds):
            found = [_returned(function, kinds, size) for size in SIZES]
            if None not in found:
                return Call(function, kinds, returns=found[0] == "array")
    return None


def _returned(function: Callable[..., Any], kinds: Sequence[str], size: int) -> str | None:
    """Return `array` or `nothing` where a function takes arguments, None where it does not, or gives something else."""
    rng = np.random.default_rng(0)
    scope = {"rng": rng, "size": size}
    given = [eval(CANDIDATES[one] or one, scope) for one in kinds]
    before = [np.array(one) for one in given if isinstance(one, np.ndarray)]
    try:
        returned = function(*given)
    except Exception:  # noqa: BLE001 - the combination is not for it
        return None
    if returned is None:
        after = [one for one in given if isinstance(one, np.ndarray)]
        changed = any(not np.array_equal(one, other) for one, other in zip(before, after, strict=True))
        return "nothing" if changed else None
    several = returned if isinstance(returned, tuple | list) else [returned]
    numbers = (np.ndarray, np.generic, bool, int, float, complex)
    is_array = bool(several) and all(
        isinstance(one, numbers) and np.asarray(one).dtype.kind in "biufc" for one in several
    )
    return "array" if is_array else None


def edge_trials(op: Op) -> Iterator[Trial]:
    """Yield edge cases of the inputs of an op that its body takes."""
    (dtype,) = op.dtypes
    arrays = make_inputs(op, op.sizes[-1], dtype, 7)
    edges = {
        "NaN": [_with(one, np.nan, 2) for one in arrays],
        "one NaN in the first array": [
            _with(one, np.nan, one.size) if place == 0 else one for place, one in enumerate(arrays)
        ],
        "infinities": [_with(_with(one, np.inf, 3), -np.inf, 4) for one in arrays],
        "ties": [np.round(one) if one.dtype.kind == "f" else one for one in arrays],
        "zeros": [np.zeros_like(one) for one in arrays],
        "negative": [-np.abs(one) if one.dtype.kind in "fi" else one for one in arrays],
        "one row": [one[:1] for one in arrays],
        "no row": [one[:0] for one in arrays],
    }
    for label, inputs in edges.items():
        yield from trial_of(op, tuple(inputs), f"edge case {label}")


def _with(array: Any, value: float, every: int) -> Any:
    """Return a copy in which one of so many elements is another one; arrays that cannot hold it stay."""
    found = np.array(array)
    if found.dtype.kind == "f":
        found.reshape(-1)[1 % max(found.size, 1) :: every] = value
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
