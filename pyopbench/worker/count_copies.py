"""What a call with new inputs copies between host and device, from and to every place.

Where something lives before a call, and where it is used after it, are told apart:

    inputs   where the inputs are made; in the backward pass their gradients are used there
    result   where the outputs are used, by one more op; in the backward pass their gradients are made there
    pinned   the device scope that the op is called in; a gradient is left where TensorFlow puts it
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import tensorflow as tf

from pyopbench.model.case import SIMULATED, Case
from pyopbench.model.errors import Unsupported, WrongResult
from pyopbench.model.failures import describe_error, failure_of
from pyopbench.model.op import Body, Op
from pyopbench.model.places import ROUTES, UNPINNED, Route
from pyopbench.ops.kernels.compiler import CannotCompile
from pyopbench.ops.kernels.simulated_device import SCOPES, Counts, listed, simulate
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare import gpu
from pyopbench.worker.prepare.checks import Reference, check_gradients, check_values, reference_of
from pyopbench.worker.prepare.segments import forward_and_backward, wrap

PIN_SCOPES = {UNPINNED: None, **SCOPES}
"""Where an op is pinned, and the device scope of it."""

REPETITIONS = 2
"""How often a call is counted: what differs from one to the next is said to vary."""

Emit: TypeAlias = Callable[[Mapping[str, Any]], None]
CountCopies: TypeAlias = Callable[[Callable[[], Any]], tuple[Any, Counts]]
"""Calls something and returns its result with what was copied meanwhile."""


def copies_on_route(case: Case, pinned: str, inputs: str, result: str) -> dict[str, int]:
    """Count one call of a case with new inputs, on one route.

    Args:
        case: forward or forward_backward, in mode eager or call; its placement says which device it is counted on.
        pinned: one of `places.PINS`.
        inputs: where the inputs are, one of `places.PLACES`.
        result: where the result is used.

    Returns:
        Copies `to_device` and `to_host`.

    Raises:
        WrongResult: what came out is not the reference's.
        Unsupported: the device is not there, TensorFlow refuses the call, or the count differs from call to call.
    """
    count = counting(case.placement)
    (call,) = _calls(case, pinned, [Route(inputs, result)])
    row = _row(call, count)
    if "refused" in row:
        raise Unsupported(row["refused"])
    if row["varies"]:
        raise Unsupported("how much is copied differs from call to call")
    return {way: row[way][0] for way in ("to_device", "to_host")}


def _calls(case: Case, pinned: str, routes: Sequence[Route]) -> list[_Call]:
    op, variant = load_op(case.op), load_variant(case.variant)
    function = wrap(variant.build(op, case), variant, case.mode, PIN_SCOPES[pinned])
    reference = reference_of(case.op, case.size, case.dtype)
    return [_Call(op, case, function, reference, route) for route in routes]


@dataclass(frozen=True)
class _Call:
    """A case on one route."""

    op: Op
    case: Case
    function: Body
    reference: Reference
    route: Route

    def fresh(self) -> Callable[[], tuple[Sequence[Any], Sequence[Any]]]:
        """Return the call with inputs that are new: made where the route says, which is not counted.

        It returns the outputs and the gradients.
        """
        inputs = _made(self.reference.inputs, self.route.inputs)
        if self.case.direction == "forward":
            return lambda: (_use(as_tuple(self.function(*inputs)), self.route.result), ())
        gradients = _made(self.reference.output_gradients, self.route.result)
        forward, backward = forward_and_backward(self.op, self.function, inputs, gradients)

        def both() -> tuple[Sequence[Any], Sequence[Any]]:
            outputs = _use(as_tuple(forward()), self.route.result)
            found = [tf.convert_to_tensor(gradient) for gradient in as_tuple(backward()) if gradient is not None]
            return outputs, _use(found, self.route.inputs)

        return both

    def check(self, outputs: Sequence[Any], gradients: Sequence[Any]) -> None:
        """Compare what came out with NumPy: counts of a wrong result would be of something else.

        Raises:
            WrongResult: it is not the reference's.
        """
        check_values(self.op, outputs, self.reference, self.case.dtype)
        if self.case.direction != "forward":
            if len(gradients) != len(self.op.differentiable):
                raise WrongResult(f"{len(gradients)} gradients for {len(self.op.differentiable)} inputs")
            check_gradients(self.op, gradients, self.reference, self.case.dtype)


def _row(call: _Call, count: CountCopies) -> dict[str, Any]:
    row: dict[str, Any] = call.route._asdict()
    try:
        call.check(*call.fresh()())  # traces, compiles and makes constants, which happens once
        # Allocations do not count: threads that race for memory let those differ.
        found = [_copies(count(call.fresh())[1]) for _ in range(REPETITIONS)]
    except WrongResult as error:
        if not load_variant(call.case.variant).is_attempt_for(call.op):
            raise
        return {**row, "refused": describe_error(error)}
    except Exception as error:  # noqa: BLE001 - a body may raise anything, TensorFlow refuses in many ways
        return {**row, "refused": describe_error(error)}
    return {**row, **found[0], "varies": any(one != found[0] for one in found)}


def _copies(counts: Counts) -> dict[str, list[int]]:
    """Return copies and bytes each way."""
    return {
        "to_device": [counts.to_device, counts.to_device_bytes],
        "to_host": [counts.to_host, counts.to_host_bytes],
    }


def _made(arrays: Sequence[Any], place: str) -> tuple[Any, ...]:
    with tf.device(SCOPES[place]):
        return tuple(tf.constant(array) for array in arrays)


def _use(tensors: Sequence[Any], place: str) -> Sequence[Any]:
    """Use tensors by one op on a place, which waits for them and copies what is elsewhere; return the tensors."""
    with tf.device(SCOPES[place]):
        for tensor in tensors:
            tf.identity(tensor)
    return tensors


def open_device(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the device of a placement: what TensorFlow sees, and why the device is not there if so.

    It has to be the first request to a worker, because TensorFlow looks for devices only once.
    """
    try:
        counting(request["placement"])
    except (CannotCompile, Unsupported) as error:
        return {"devices": listed(), "reason": getattr(error, "sentence", error.message)}
    return {"devices": listed(), "reason": ""}


def counting(placement: str) -> CountCopies:
    """Return what counts the copies of a call on `gpu` or `simgpu`.

    Raises:
        CannotCompile: the simulated device cannot be compiled.
        Unsupported: there is no such device.
    """
    if placement == SIMULATED:
        return simulate().count
    gpu.require_gpu()
    return gpu.count_copies


def count_copies(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request to count a case on every route: a row for each, or the failure.

    A row has `inputs` and `result`, and either `refused` with the reason, or `to_device` and `to_host` (copies and
    bytes), and whether that `varies` from call to call.
    """
    case = Case.from_id(request["case"])
    emit({"event": "at", "case": case.id})
    try:
        count = counting(case.placement)
        return {"rows": [_row(call, count) for call in _calls(case, UNPINNED, ROUTES)]}
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {"failure": dataclasses.asdict(failure_of(case, error, None))}
