"""The requests of a parent: one JSON object a line is read, and answered with events, one JSON object a line.

The first request has the own ops of the run with it, under `own`, where there are some; `HANDLERS` lists what can be
asked. Between requests the process sleeps in a read. Before each step that may hang or crash the marker names the case,
so that the parent knows which one it was; events show that there is life. The standard output of the process belongs to
the parent; what bodies print goes to the log.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import tensorflow as tf

from pyopbench.model import machine
from pyopbench.model.case import EMPTY, GPU, Axes, Case, Failure
from pyopbench.model.child_process import Marker
from pyopbench.model.discover import KERNELS
from pyopbench.model.errors import BadInput, describe_error
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target, own_ops, usual_baseline
from pyopbench.model.variant import Variant
from pyopbench.ops.kernels import cuda, register
from pyopbench.ops.kernels.compiler import CannotCompile, compiler, library_of
from pyopbench.ops.load import (
    describe,
    describe_variants,
    load_ops,
    load_parts,
    load_variant,
    load_variants,
    why_unloadable,
)
from pyopbench.ops.own.explain import explain
from pyopbench.ops.own.load import load_own, register_own_ops
from pyopbench.ops.port_file import PORTS
from pyopbench.ops.variants.numpy_ports import check_compiled, why_no_numba
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.port import CHECKED_SIZES, write_test
from pyopbench.worker import environment, require
from pyopbench.worker.copies import count_copies, measure_copies, open_device
from pyopbench.worker.group import Emit, WarmGroups
from pyopbench.worker.pipeline.measure import describe_pipelines
from pyopbench.worker.plan import make_plan, plan_parts
from pyopbench.worker.prepare.prepare import OutOfMemory, prepare
from pyopbench.worker.values import compare_values


def write_port(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the text of a port and of its test, or say why there is none.

    Under `refused` is what cannot be written, with what works in its place, file and line; under `error` is what is
    wrong with the op.
    """
    target, variant, module = Target.from_plain(request["op"]), str(request["variant"]), str(request["module"])
    try:
        op = load_own(target)
    except BadInput as error:
        return {"error": error.as_plain()}
    callback = usual_baseline([op.name], own_ops(target))
    try:
        if variant.startswith("numba_op"):
            check_compiled(op, variant)
        made = PORTS.module_of(op, variant, op.dtypes[0], callback)
        test = write_test(op, target, variant, module, made)
    except CannotPort as refusal:
        return {"refused": {"why": refusal.why, "fix": refusal.fix, "place": refusal.place}}
    except BadInput as error:
        return {"error": error.as_plain()}
    except Exception as error:  # noqa: BLE001 - a body may raise anything while it is traced
        return {"refused": {"why": explain(error, op), "fix": "", "place": None}}
    return {
        "port": made.text,
        "function": made.function,
        "test": test,
        "not_run": made.not_run,
        "notes": made.notes,
        "dataset": made.dataset,
        "op": op.name,
        "dtype": op.dtypes[0],
        "sizes": op.quick_sizes[:CHECKED_SIZES],
        "callback": callback,
    }


def _why_not_compiled(source: Path) -> str | None:
    try:
        library_of(source)
    except CannotCompile as error:
        return error.sentence
    return None


SIGN_OF_LIFE_SECONDS = 1.0
"""How often the parent hears that timing goes on; it counts a longer silence of one case, which lasts seconds."""

MOST_LOG_BYTES = 16 << 20
"""What bodies print goes to the disk; beyond this it is thrown away, so that they cannot fill it."""


def plan(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the cases of `axes`: cases, skips, catalogue and environment, or a file's error.

    With `compile`, kernels that the cases need are compiled first, and those that cannot be are among the skips.
    """
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in request["axes"].items()
    }
    axes = Axes(**given)
    reason = why_unloadable()
    if reason:
        return {"error": reason}
    ops, variants = load_ops(), load_variants()
    if request["compile"]:
        _compile_ahead(axes, ops, variants, emit)
    made = make_plan(axes, ops, variants)
    parts = load_parts() if axes.parts else {EMPTY: load_variant(EMPTY)}
    components = plan_parts(made.cases, variants, parts)
    return {
        "cases": [case.id for case in (*made.cases, *components)],
        "skips": [dataclasses.asdict(skip) for skip in made.skips],
        "catalogue": {**_catalogue(axes, ops, variants), "parts": describe_variants(parts)},
        "environment": {**machine.describe(), **environment.software()},
    }


def _compile_ahead(axes: Axes, ops: dict[str, Op], variants: dict[str, Variant], emit: Emit) -> None:
    names = axes.variants or tuple(name for name, variant in variants.items() if variant.is_usual)
    if any(variants[name].body == "kernel" for name in names):
        chosen = [ops[name] for name in axes.ops or ops]
        register.compile_ahead(
            chosen, lambda source: emit({"event": "compiled", "source": source.name}), on_gpu=GPU in axes.placements
        )


def _catalogue(axes: Axes, ops: dict[str, Op], variants: dict[str, Variant]) -> dict[str, Any]:
    chosen = {name: op for name, op in ops.items() if not axes.ops or name in axes.ops}
    return describe(chosen, variants)


def verify(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request to check one case: the errors found, or the failure."""
    case = Case.from_id(request["case"])
    emit({"event": "at", "case": case.id})
    try:
        prepared = prepare(case, finite_differences=bool(request["finite_differences"]))
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {"failure": dataclasses.asdict(Failure.of(case, error, None))}
    return {"checked": dataclasses.asdict(prepared.checked)}


SMALL_KERNEL = "determinant.cc"
"""The kernel that compiles fastest."""


def examine(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Report what variants have and lack on this machine.

    Under `why_not` is for each thing why it cannot be used, null if it can; under `versions` what there is of it. A
    kernel is compiled, or was compiled before, because that alone shows that compiler and headers fit together.
    """
    why_not = {
        "kernels": _why_not_compiled(KERNELS / SMALL_KERNEL),
        "cuda": cuda.why_not(),
        "numba": why_no_numba(),
    }
    versions: dict[str, str] = {}
    if why_not["numba"] is None:
        try:
            import numba
        except Exception as error:  # noqa: BLE001 - of another version of NumPy, for one
            why_not["numba"] = f"Numba cannot be imported: {describe_error(error)}"
        else:
            versions["numba"] = numba.__version__
    if why_not["kernels"] is None:
        versions["kernels"] = compiler()[1]
    if why_not["cuda"] is None:
        versions["cuda"] = cuda.nvcc()[1].strip().splitlines()[-1]
    return {"why_not": why_not, "versions": versions}


WARM_GROUPS = WarmGroups()

HANDLERS: dict[str, Callable[[Mapping[str, Any], Emit], dict[str, Any]]] = {
    "plan": plan,
    "verify": verify,
    "examine": examine,
    "prepare": WARM_GROUPS.prepare,
    "sample": WARM_GROUPS.sample,
    "gpu_copies": measure_copies,
    "device": open_device,
    "count_copies": count_copies,
    "values": compare_values,
    "require": require.answer,
    "pipeline": describe_pipelines,
    "port": write_port,
}


@dataclasses.dataclass
class ParentPipe:
    """The worker's end of the pipe to its parent.

    `signed` is when the last event that says what is being timed was sent, on the monotonic clock.
    """

    answers: IO[str]
    log: IO[str]
    marker: Marker
    signed: float = 0.0
    process: int = dataclasses.field(default_factory=os.getpid)

    def emit(self, event: Mapping[str, Any]) -> None:
        """Send an event; of those that say what is being timed, only one now and then, as a sign of life."""
        if os.getpid() != self.process:  # a body has forked, and both sides have returned from it
            os.kill(os.getpid(), signal.SIGKILL)
        before = self.marker.get() if event["event"] == "at" else None
        if "case" in event:
            self.marker.set(event["case"])
            now = time.monotonic()
            if event["event"] == "timing" and now - self.signed < SIGN_OF_LIFE_SECONDS:
                return
            self.signed = now
            self._log_case(event["case"])
        try:
            self.answers.write(json.dumps(event) + "\n")
            self.answers.flush()
        except OSError:  # what broke the pipe is the case before, not the one that was just to be begun
            if before is not None:
                self.marker.set(before)
            raise

    def _log_case(self, case: str) -> None:
        """Write down that what the log says from here on belongs to a case."""
        with suppress(OSError):  # it is no file
            if os.fstat(self.log.fileno()).st_size > MOST_LOG_BYTES:
                os.ftruncate(self.log.fileno(), 0)
                os.lseek(self.log.fileno(), 0, os.SEEK_SET)
        with suppress(OSError):  # a full disk costs the last words of a crash, and nothing else
            self.log.write(f"{case}\n")
            self.log.flush()


def serve(requests: IO[str], parent: ParentPipe) -> None:
    """Answer every request until the parent closes its end."""
    emit = parent.emit

    tf.get_logger().setLevel("ERROR")
    # TensorFlow itself is never garbage, and looking through it takes a tenth of a second each time.
    gc.collect()
    gc.freeze()
    versions = {"tensorflow": tf.__version__, "numpy": np.__version__}
    emit({"event": "ready", "environment": {**environment.of_launch(), **versions}})
    for request in map(json.loads, requests):
        if "own" in request:
            register_own_ops(own_ops(*map(Target.from_plain, request["own"])))
        emit(_answer(request, emit))


def _answer(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    try:
        return {"event": "done", **HANDLERS[request["do"]](request, emit)}
    except OutOfMemory as error:
        return {"event": "full", "case": error.case, "reason": error.reason}


def main() -> None:
    """Take standard input and output for the parent, and leave bodies an empty input and the log for their output."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    os.register_at_fork(after_in_child=partial(_leave_to_parent, (requests.fileno(), answers.fileno())))
    serve(requests, ParentPipe(answers, sys.stderr, Marker.inherited(os.environ)))


def _leave_to_parent(descriptors: Iterable[int]) -> None:
    """Take the pipes from a process that a body has forked: it could take requests, or hold them open for ever."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(null, descriptor)
    os.close(null)
