"""Loads own ops out of the files and modules that a command line names; what goes wrong there points at its line."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pyopbench.model.discover import require_known
from pyopbench.model.errors import BadInput, describe_error
from pyopbench.model.op import Op, OwnOp
from pyopbench.model.own_target import OwnOps, Target
from pyopbench.ops.own.complete import complete
from pyopbench.ops.own.explain import file_of, place_in
from pyopbench.ports.extract.module import place_of_user, register_copied

OWN_OPS: dict[str, Target] = {}
"""The own ops of the run of this process by name, which only a worker has.

A worker is a process of one run, whose parent sends them with its first request. So they are set once, by
`register_own_ops`, and ops can be loaded by name wherever a case names one.
"""


def register_own_ops(own: OwnOps) -> None:
    """Have own ops found by name in this process, once."""
    if OWN_OPS:
        raise RuntimeError(f"a worker is of one run, and has its own ops already: {', '.join(OWN_OPS)}")
    OWN_OPS.update(own)


@cache
def load_own(target: Target) -> Op:
    """Return an own op; why it cannot be loaded is said with the line of the user's file where there is one."""
    try:
        return _load(target)
    except BadInput as error:
        raise type(error)(
            f"{target.text}: {error.message}", received=error.received, legal=error.legal, hint=error.hint
        ) from error
    except Exception as error:
        raise _broken(target, error) from error


def _load(target: Target) -> Op:
    module = target.load()
    folder = Path(str(module.__file__)).parent if module.__file__ else Path()
    if target.function:
        function = getattr(module, target.function, None)
        if not callable(function):
            require_known("function", [target.function], _functions(module))
        found: Any = OwnOp(
            inputs=tuple(_values(target)),
            numpy=function,
            source=target.text,
            keywords=target.keywords,
            as_python=True,
        )
    else:
        found = getattr(module, "OP", None)
    if isinstance(found, Op) and found.name == target.name:
        return found
    if not isinstance(found, OwnOp):
        raise BadInput(
            "the file does not define an op",
            received=f"OP is {type(found).__name__}" if hasattr(module, "OP") else "no OP",
            hint=f"end it with OP = OwnOp(...), or OP = Op(name={target.name!r}, ...); "
            f"or name a function in it: {target.place}:FUNCTION --input EXPR",
        )
    register_copied(str(module.__file__), found.copied)
    return complete(replace(found, seed_with=target.seed_with or found.seed_with), target.name, folder)


def _functions(module: ModuleType) -> list[str]:
    return sorted(name for name, value in vars(module).items() if callable(value) and not name.startswith("_"))


def _values(target: Target) -> list[Any]:
    """Return the example inputs of a command line; what draws them begins anew in every process."""
    scope = {"np": np, "rng": np.random.default_rng(0)}
    return [
        np.load(one, allow_pickle=False) if one.endswith(".npy") else _evaluated(one, scope)
        for one in target.expressions
    ]


def _evaluated(expression: str, scope: dict[str, Any]) -> Any:
    try:
        return eval(compile(expression, "--input", "eval"), scope)
    except Exception as error:
        raise BadInput(
            f"--input cannot be evaluated: {describe_error(error)}",
            received=repr(expression),
            hint="it has to be a Python expression with np and rng; try it in Python",
        ) from error


def _broken(target: Target, error: Exception) -> BadInput:
    place = place_of_user(place_in(error, _files(target)))
    where = f"{place[0]}:{place[1]}" if place else target.text
    return BadInput(
        f"{where}: {describe_error(error)}",
        received=f"the op {target.name}",
        hint="fix it and try again",
    )


def _files(target: Target) -> set[str]:
    if target.is_file:
        return {target.place}
    module = sys.modules.get(target.place)
    function = getattr(module, target.function, None)
    files = {getattr(module, "__file__", None), file_of(function) if callable(function) else None}
    return {file for file in files if file}
