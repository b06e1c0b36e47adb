"""What becomes of the ports of one op file: the process that `corpus.py`, `npbench.py` and `callbacks.py` start.

    python benchmarks/ported.py examples/corpus/losses/dice.py [--forms traced,numba_op] [--time]

Each form is the file that `pyopbench port` writes, after its own test has passed, imported and compared with NumPy on
draws that nobody has seen: so what is wrong here is silently wrong. A form of a body of TensorFlow ops is the body in
the graph. Prints a JSON line for each form, and with `--time` one with the seconds of a call at each size.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from pyopbench.engine.port import write_port
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import LONGEST_REASON, PyopbenchError, WrongResult, describe_error
from pyopbench.model.files import load_file
from pyopbench.model.op import SEED, Op
from pyopbench.model.own_target import Target, own_ops, read_target
from pyopbench.ops.load import load_variants, make_inputs
from pyopbench.ops.own.load import load_own, register_own_ops
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.arrays import as_array, as_given, as_tuple
from pyopbench.ports.rebinding import arrange
from pyopbench.worker.prepare.checks import Reference, check_gradients, check_unchanged, check_values, make_reference
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap
from pyopbench.worker.requests import write_port as answer_in_this_process

FORMS = ("traced", "numba_op", "traced_xla")
BODY_FORMS = ("native", "autograph", "xla")
"""Of a body of TensorFlow ops, which needs no file."""

SEEDS = (*range(3), *range(100, 105))
"""Of the draws; tests of ports have seen some of the first three."""

FURTHER_SIZES = 2
"""So many sizes, from the smallest, are tried with all seeds; the others with the first three."""

TEST_SECONDS = 120.0
BLOCKS = 7
BLOCK_SECONDS = 3e-3
"""Interleaved blocks of calls, whose median counts: enough to see a gain of a tenth, not to decide a port."""


def main(arguments: Sequence[str]) -> int:
    """Examine the forms of an op; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args(arguments)
    results, sys.stdout = sys.stdout, sys.stderr  # a body may print
    tf.get_logger().setLevel("ERROR")
    np.seterr(all="ignore")
    try:
        target = read_target(str(options.path), (), ())
        op = load_own(target)
    except Exception as error:  # noqa: BLE001 - code of others may raise anything
        print(json.dumps({"failed": describe_error(error)}), file=results)
        return 1
    right: dict[str, Callable[..., Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for form in BODY_FORMS if op.is_on_tensors else options.forms.split(","):
            outcome, function = examine(op, target, form, Path(folder))
            if outcome["became"] == "right" and function is not None:
                right[form] = function
            print(json.dumps({"form": form, **outcome}), file=results, flush=True)
        if options.time:
            register_own_ops(own_ops(target))
            seconds = {size: seconds_of_a_call(op, right, size) for size in op.sizes}
            print(json.dumps({"seconds": seconds}), file=results)
    return 0


def examine(op: Op, target: Target, form: str, folder: Path) -> tuple[dict[str, Any], Callable[..., Any] | None]:
    """Return what becomes of a form, and its function of tensors.

    Returns:
        `became`: `right`, `wrong`, `refused` if nothing can be written, or `failed`; `at` and `reason` unless it is
        right; `unknown_sizes`: does it also work where no size is known?
    """
    try:
        function = _body(op, form) if op.is_on_tensors else _written(op, target, form, folder)
    except PyopbenchError as error:
        # A port whose own test finds it wrong is not written: that fault is found, and not silent.
        became = "failed" if isinstance(error, WrongResult) else "refused"
        return _outcome(became, str(error.received), error), None
    except Exception as error:  # noqa: BLE001 - likewise, and a defect of the writer counts too
        return _outcome("failed", "while it is written", error), None
    at = ""
    try:
        for at, reference in trials(op):  # noqa: B007 - for the message
            check(op, function, reference)
    except WrongResult as error:
        return _outcome("wrong", at, error), None
    except Exception as error:  # noqa: BLE001 - likewise
        return _outcome("failed", at, error), None
    return {"became": "right", "unknown_sizes": takes_unknown_sizes(op, function)}, function


def _outcome(became: str, at: str, error: Exception) -> dict[str, Any]:
    reason = error.message if isinstance(error, PyopbenchError) else describe_error(error)
    return {"became": became, "at": at, "reason": " ".join(reason.split())[:LONGEST_REASON]}


def _body(op: Op, form: str) -> Callable[..., Any]:
    variant = load_variants()[form]
    case = Case(op.name, form, NO_GRADIENT, "forward", "call", op.dtypes[0], op.sizes[0])
    return wrap(variant.build(op, case), variant, case.mode)


def _written(op: Op, target: Target, form: str, folder: Path) -> Callable[..., Any]:
    """Write a port as the command `pyopbench port` does, with its test, and import it."""
    out = folder / f"{op.name}_{form}.py"
    write_port(target, form, out, TEST_SECONDS, ask=lambda request: answer_in_this_process(request, lambda event: None))
    function = getattr(load_file(out, out.stem), PORTS.file_of(op, form, op.dtypes[0]).function)
    if op.own is not None and op.own.is_random:
        function = partial(function, seed=SEED)
    return tf.function(arrange(op.numpy, function), jit_compile=form == "traced_xla" or None)  # type: ignore[no-any-return]


def trials(op: Op) -> Iterator[tuple[str, Reference]]:
    """Yield the draws of each size and the edge cases of a corpus body, each with what NumPy makes of it.

    A draw is left out if the body refuses it, or returns another dtype than usual, which no callback lets through.
    """
    (dtype,) = op.dtypes
    for place, size in enumerate(op.sizes):
        for seed in SEEDS if place < FURTHER_SIZES else SEEDS[:3]:
            inputs = make_inputs(op, size, dtype, seed)
            yield from _trial(op, f"{size:,} {op.size_unit}, seed {seed}", inputs)
    edges = getattr(sys.modules.get(f"pyopbench_own_{op.name}"), "EDGES", {})
    for label, arrays in edges.items():
        yield from _trial(op, f"edge case {label}", tuple(as_array(one) for one in arrays))


def _trial(op: Op, label: str, inputs: tuple[Any, ...]) -> Iterator[tuple[str, Reference]]:
    try:
        dtypes = [str(as_array(one).dtype) for one in as_tuple(op.numpy(*as_given(inputs)))]
        reference = make_reference(op, inputs, op.dtypes[0], np.random.default_rng(1))
    except Exception:  # noqa: BLE001 - code of others may raise anything
        return
    if dtypes == [str(one.dtype) for one in reference.outputs]:
        yield label, reference


def check(op: Op, function: Callable[..., Any], reference: Reference) -> None:
    """Compare values, inputs afterwards, and gradients where the op has one by hand.

    Raises:
        WrongResult: something differs.
    """
    (dtype,) = op.dtypes
    tensors = constants(reference.inputs)
    check_values(op, as_tuple(function(*tensors)), reference, dtype)
    check_unchanged("input", tensors, reference.inputs)
    if op.differentiable and reference.gradients is not None:
        forward, backward = forward_and_backward(op, function, tensors, constants(reference.output_gradients))
        forward()
        check_gradients(op, backward(), reference, dtype)


def takes_unknown_sizes(op: Op, function: Callable[..., Any]) -> bool:
    """Is the function right in a graph that knows ranks only?"""
    _, reference = next(trials(op))
    tensors = constants(reference.inputs)
    signature = [tf.TensorSpec([None] * len(one.shape), one.dtype) for one in tensors]
    try:
        check_values(op, as_tuple(tf.function(function, input_signature=signature)(*tensors)), reference, op.dtypes[0])
    except Exception:  # noqa: BLE001 - any failure means no
        return False
    return True


def seconds_of_a_call(op: Op, forms: Mapping[str, Callable[..., Any]], size: int) -> dict[str, float]:
    """Return the median seconds of a call of NumPy, of the callback and of each form, interleaved."""
    (dtype,) = op.dtypes
    inputs = make_inputs(op, size, dtype, 0)
    given, tensors = as_given(inputs), constants(inputs)
    variant = load_variants()["numpy_function"]
    case = Case(op.name, variant.name, NO_GRADIENT, "forward", "call", dtype, size)
    callback = wrap(variant.build(op, case), variant, case.mode)
    calls: dict[str, Callable[[], Any]] = {"numpy": lambda: op.numpy(*given)} if not op.is_on_tensors else {}
    calls["numpy_function"] = lambda: callback(*tensors)
    calls |= {name: lambda function=function: function(*tensors) for name, function in forms.items()}  # type: ignore[misc]
    repeats = {name: _repeats(call) for name, call in calls.items()}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    rng = random.Random(size)
    for _ in range(BLOCKS):
        for name in rng.sample(list(calls), len(calls)):
            began = time.perf_counter()
            for _ in range(repeats[name]):
                calls[name]()
            seconds[name].append((time.perf_counter() - began) / repeats[name])
    return {name: statistics.median(blocks) for name, blocks in seconds.items()}


def _repeats(call: Callable[[], Any]) -> int:
    call()
    began = time.perf_counter()
    call()
    return max(1, int(BLOCK_SECONDS / max(time.perf_counter() - began, 1e-6)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
