"""What becomes of one body: each form of it that nobody wrote, held against NumPy, and timed if asked for.

The process that `benchmarks/corpus.py` starts for each body: it writes one JSON line for the body and two for each
form, when that is begun and when it is done, so that a crash or a limit costs one form.

    python benchmarks/bodies/examine.py examples/corpus/losses/dice.py --lines FILE
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from bodies.blocks import gain_of
from bodies.causes import cause_of
from bodies.find import SEEDS
from bodies.line_file import line_file
from bodies.written_files import became_of_file
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Op
from pyopbench.model.own_target import OwnOps, Target, read_target
from pyopbench.model.portable import PORTABLE
from pyopbench.model.variant import Variant
from pyopbench.ops.load import load_variants, make_inputs
from pyopbench.ops.own.explain import explain
from pyopbench.ops.own.load import load_own, register_own_ops
from pyopbench.ports.arrays import as_array, as_tuple
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare.checks import Reference, check_gradients, check_unchanged, check_values, make_reference
from pyopbench.worker.prepare.gradient_check import difference_error
from pyopbench.worker.prepare.prepare import prepare
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap

CURRENT = "numpy_function"
"""The callback that gains are told against: the cheapest around the body as it stands, so that what a form gains is not
what another bridge would."""

MOVED_SIZES = 1
"""Sizes, from the smallest, at which gradients are held against differences where there is no reference."""


@dataclass(frozen=True)
class Trial:
    """One set of inputs, and what NumPy makes of it."""

    label: str
    reference: Reference
    is_moved: bool


def main(arguments: Sequence[str]) -> int:
    """Examine a body and write its lines; returns the exit code."""
    np.seterr(all="ignore")
    with line_file(arguments, __doc__) as (options, write):
        for line in examined(str(options.path), without=options.without, timed=options.time):
            write(line)
    return 0


def examined(
    path: str,
    *,
    without: Sequence[str] = (),
    timed: bool = False,
    files: Collection[str] = PORTABLE,
) -> Iterator[dict[str, Any]]:
    """Yield the facts of a body, and for each form of it its name and then what became of it.

    Args:
        path: its file.
        without: names of forms that are not tried.
        timed: say how fast right forms are, too.
        files: names of forms that are also written as a file, if they are right.
    """
    target = read_target(path, [], [])
    register_own_ops(OwnOps((target,)))
    op, name = load_own(target), target.name
    edges = edges_of(name)
    trials = list(_trials(op, edges))
    yield {
        "body": name,
        "summary": next(iter((sys.modules[f"pyopbench_own_{name}"].__doc__ or "").splitlines()), ""),
        "found_in": op.source,
        "sizes": list(op.sizes),
        "size_unit": op.size_unit,
        "edges": sorted(edges),
        "inputs": len(trials),
        "gradient": _witness(op),
    }
    for variant in forms_of(op):
        if variant.name not in without:
            yield {"begun": variant.name, "kind": variant.kind}
            became = _become(op, variant, trials, timed=timed)
            became |= file_in(op, target, variant.name, became) if variant.name in files else {}
            yield {"form": variant.name, "kind": variant.kind, **became}


def file_in(op: Op, target: Target, name: str, became: Mapping[str, Any]) -> dict[str, Any]:
    """Return under `file` what becomes of the file of a port that is right; nothing if it is not."""
    if became["became"] != "right":
        return {}
    with tempfile.TemporaryDirectory() as folder:
        return {"file": became_of_file(op, target, name, Path(folder))}


def edges_of(name: str) -> dict[str, tuple[Any, ...]]:
    """Return the edge cases of a body that is loaded."""
    found = getattr(sys.modules[f"pyopbench_own_{name}"], "EDGES", {})
    return {label: tuple(as_array(one) for one in arrays) for label, arrays in found.items()}


def forms_of(op: Op) -> list[Variant]:
    """Return the variants that are tried with a body that nobody wrote them for."""
    tried = [one for one in load_variants().values() if one.is_usual_for(op) and one.is_attempt_for(op)]
    return [one for one in tried if getattr(op, one.body) is not None]


def _witness(op: Op) -> str | None:
    """Return what vouches for gradients of ports, None where the body has none."""
    return None if not op.differentiable else "differences" if op.numpy_gradient is None else "its own"


def _trials(op: Op, edges: dict[str, tuple[Any, ...]]) -> Iterator[Trial]:
    (dtype,) = op.dtypes
    rng = np.random.default_rng(1)
    for place, size in enumerate(op.sizes):
        for seed in range(SEEDS):
            reference = make_reference(op, make_inputs(op, size, dtype, seed), dtype, rng)
            label = f"{size:,} {op.size_unit}, seed {seed}"
            yield Trial(label, reference, is_moved=place < MOVED_SIZES)
    for label, inputs in edges.items():
        yield Trial(f"edge case {label}", make_reference(op, inputs, dtype, rng), is_moved=False)


def _become(op: Op, variant: Variant, trials: Sequence[Trial], *, timed: bool) -> dict[str, Any]:
    case = Case(op.name, variant.name, NO_GRADIENT, "forward", "call", op.dtypes[0], op.sizes[0])
    reason = why_not(op, variant, case)
    if reason is not None:
        return {"became": "not tried", "reason": reason, "error": "", "cause": ""}
    at = "building"
    try:
        function = wrap(variant.build(op, case), variant, case.mode)
        for trial in trials:
            at = trial.label
            _check(op, variant, function, trial)
    except WrongResult as error:
        return {"became": "wrong", "at": at, "reason": error.message, "error": "WrongResult", "cause": ""}
    except Exception as error:  # noqa: BLE001 - a body in a form that nobody wrote may raise anything
        failed = {"became": "failed", "at": at, "reason": explain(error, op), "error": type(error).__name__}
        return {**failed, "cause": cause_of(error, op)}
    return {"became": "right", **(_times(op, variant, case) if timed else {})}


def _check(op: Op, variant: Variant, function: Any, trial: Trial) -> None:
    reference, (dtype,) = trial.reference, op.dtypes
    tensors = constants(reference.inputs)
    check_values(op, as_tuple(function(*tensors)), reference, dtype)
    check_unchanged("input", tensors, reference.inputs)
    if not op.differentiable or variant.is_callback:
        return
    if reference.gradients is not None:
        forward, backward = forward_and_backward(op, function, tensors, constants(reference.output_gradients))
        forward()
        check_gradients(op, backward(), reference, dtype)
    elif trial.is_moved and "autodiff" in variant.gradients:
        difference_error(op, function, reference)


def _times(op: Op, variant: Variant, case: Case) -> dict[str, Any]:
    """Return how many times as fast as the callback a form is at each size: medians of blocks by turns."""
    return {"gains": [_gain(case, size) for size in op.sizes]}


def _gain(case: Case, size: int) -> float:
    pair = [
        prepare(Case(case.op, name, NO_GRADIENT, "forward", "call", case.dtype, size))
        for name in (CURRENT, case.variant)
    ]
    return gain_of(*pair, seed=size)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
