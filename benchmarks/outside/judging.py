"""Ports of an op held against its NumPy body on many draws, so that what is silently wrong is told from what is found.

A port that is wrong on the first inputs is found by whoever checks it once. One that is right there and wrong later is
silently wrong: that is what these commands look for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from bodies.examine import Trial
from bodies.written_files import became_of_file, path_of
from pyopbench.model.errors import WrongResult
from pyopbench.model.failures import LONGEST_REASON
from pyopbench.model.modules import load_file
from pyopbench.model.op import Body, Op
from pyopbench.model.own_target import read_target
from pyopbench.ops.load import make_inputs
from pyopbench.ops.own.explain import explain
from pyopbench.ops.own.load import load_own
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.arrays import as_array, as_given, as_tuple
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.rebinding import arrange
from pyopbench.worker.prepare.checks import check_unchanged, check_values, make_reference
from pyopbench.worker.prepare.segments import constants

FIRST_FURTHER_SEED = 100
"""Seeds below are those of the inputs that forms and the tests of files have seen."""

FURTHER_DRAWS = 5
"""Inputs of each of the two smallest sizes that a file is held against after its own test has passed."""


def load(path: Path) -> Op:
    """Return the op of a file."""
    return load_own(read_target(str(path), [], []))


def trials_of(op: Op, seeds: Iterable[int], sizes: Sequence[int]) -> Iterator[Trial]:
    """Yield inputs of an op with what NumPy makes of them; those that the body refuses are left out."""
    (dtype,) = op.dtypes
    for size in sizes:
        for seed in seeds:
            yield from trial_of(op, make_inputs(op, size, dtype, seed), f"{size:,} {op.size_unit}, seed {seed}")


def trial_of(op: Op, inputs: tuple[Any, ...], label: str) -> Iterator[Trial]:
    """Yield one set of inputs with what NumPy makes of it.

    Nothing where the body refuses it, or returns another dtype than usual, which a callback does not let through.
    """
    try:
        dtypes = [str(as_array(one).dtype) for one in as_tuple(op.numpy(*as_given(inputs)))]
        reference = make_reference(op, inputs, op.dtypes[0], np.random.default_rng(1))
    except Exception:  # noqa: BLE001 - code of others may raise anything
        return
    if dtypes == [str(one.dtype) for one in reference.outputs]:
        yield Trial(label, reference, is_moved=False)


def judge(op: Op, build: Callable[[], Callable[..., Any]], trials: Iterable[Trial]) -> dict[str, Any]:
    """Return what becomes of a port: `right`, `wrong`, `refused` where it is built, or `failed` where it runs.

    Args:
        op: whose NumPy body is the reference.
        build: returns the function of tensors, or refuses.
        trials: inputs; those after the first are tried also where one has failed, because a value that is wrong counts
            for more than an error.

    Returns:
        `became`, `reason`, `at` (the inputs), and `is_silent` of what is wrong after it was right.
    """
    failed: dict[str, Any] | None = None
    checked = 0
    try:
        function = build()
    except Exception as error:  # noqa: BLE001 - code of others may raise anything
        return {"became": "refused", "at": "", "reason": reason_of(error, op)}
    for trial in trials:
        became = _judge_one(op, function, trial)
        if became["became"] == "wrong":
            return became | {"is_silent": checked > 0}
        if became["became"] == "right":
            checked += 1
        elif failed is None:
            failed = became
    return failed or {"became": "right"}


def _judge_one(op: Op, function: Callable[..., Any], trial: Trial) -> dict[str, Any]:
    try:
        tensors = constants(trial.reference.inputs)
        check_values(op, as_tuple(function(*tensors)), trial.reference, op.dtypes[0])
        check_unchanged("input", tensors, trial.reference.inputs)
    except WrongResult as error:
        return {"became": "wrong", "at": trial.label, "reason": error.message[:LONGEST_REASON]}
    except CannotPort as error:
        return {"became": "refused", "at": trial.label, "reason": reason_of(error, op)}
    except Exception as error:  # noqa: BLE001 - likewise
        return {"became": "failed", "at": trial.label, "reason": reason_of(error, op)}
    return {"became": "right"}


def judge_file(path: Path, variant: str, folder: Path) -> dict[str, Any]:
    """Return what becomes of the file that `pyopbench port` writes, of its own test, and of what it gives elsewhere.

    Args:
        path: of the op.
        variant: to write.
        folder: where the file is put; it exists.

    Returns:
        As `became_of_file`, and silently wrong if the test of the file passes and it differs on further draws.
    """
    target = read_target(str(path), [], [])
    op = load_own(target)
    written = became_of_file(op, target, variant, folder)
    if written["became"] != "right":
        return dict(written)
    function = PORTS.file_of(op, variant, op.dtypes[0]).function
    sizes = () if op.own is not None and op.own.fixed_sizes else op.sizes[:2]
    seeds = range(FIRST_FURTHER_SEED, FIRST_FURTHER_SEED + FURTHER_DRAWS)
    became = judge(op, lambda: _of_file(op, path_of(op, variant, folder), function), trials_of(op, seeds, sizes))
    return became | ({"is_silent": True} if became["became"] == "wrong" else {})


def _of_file(op: Op, path: Path, function: str) -> Body:
    module = load_file(path, path.stem)
    return tf.function(arrange(op.numpy, getattr(module, function)))  # type: ignore[no-any-return]


def reason_of(error: BaseException, op: Op) -> str:
    """Return why a port could not be built or run, on one line."""
    said = error.why if isinstance(error, CannotPort) else explain(error, op)
    return " ".join(said.split())[:LONGEST_REASON]
