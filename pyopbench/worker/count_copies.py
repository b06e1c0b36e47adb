"""What a call copies between host and device: one case, pinned to one place, from and to every place.

Where something lives before a call, and where it is used after it, are told apart:

    inputs   where the inputs are made; in the backward pass their gradients are used there
    result   where the outputs are used, by one more op; in the backward pass their gradients are made there
    pinned   the device scope that the op is called in; a gradient is left where TensorFlow puts it

Calls are counted with inputs that are new (`fresh`), as in a training loop, and with those of the call before (`warm`):
eager tensors keep the copy that was made of them on the other device, and the second call copies nothing.
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
from pyopbench.model.places import DEVICE, HOST, ROUTES, UNPINNED, Route
from pyopbench.ops.kernels.compiler import CannotCompile
from pyopbench.ops.kernels.simulated_device import SCOPES, Counts, is_on_device, listed, simulate
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare import gpu
from pyopbench.worker.prepare.checks import Reference, check_gradients, check_values, reference_of
from pyopbench.worker.prepare.segments import forward_and_backward, wrap

PIN_SCOPES = {UNPINNED: None, **SCOPES}
"""Where an op is pinned, and the device scope of it."""

REPETITIONS = 2
"""How often each state is counted: what differs from one call to the next is said to vary."""

Emit: TypeAlias = Callable[[Mapping[str, Any]], None]
CountCopies: TypeAlias = Callable[[Callable[[], Any]], tuple[Any, Counts]]
"""Calls something and returns its result with what was copied meanwhile."""


@dataclass(frozen=True)
class CallResult:
    """What a call has returned: outputs and gradients, and the places that they were left on before they were used."""

    outputs: tuple[Any, ...]
    gradients: tuple[Any, ...]
    outputs_on: tuple[str, ...]
    gradients_on: tuple[str, ...]


def rows_of(case: Case, pinned: str, count: CountCopies) -> list[dict[str, Any]]:
    """CountCopies a case on every route.

    Args:
        case: forward or forward_backward, in mode eager or call.
        pinned: one of `places.PINS`.
        count: counts what one call copies.

    Returns:
        One row for each route, as plain data: `inputs`, `result`, and either `refused` with the reason, or what a
        `fresh` and a `warm` call copied, whether that `varies`, and where the results were left: `outputs_on` and
        `gradients_on`.

    Raises:
        WrongResult: what came out is not the reference's.
        Exception: whatever building the case raises.
    """
    return [_row(call, count) for call in _calls(case, pinned, ROUTES)]


def copies_on_route(case: Case, pinned: str, inputs: str, result: str) -> dict[str, int]:
    """Count one call of a case with new inputs, on one route.

    Args:
        case: as in `rows_of`; its placement says which device it is counted on.
        pinned: one of `places.PINS`.
        inputs: where the inputs are, one of `places.PLACES`.
        result: where the result is used.

    Returns:
        Copies `to_device`, `to_host` and `on_device`.

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
    return {way: copies for way, (copies, _) in row["fresh"].items()}


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

    def fresh(self) -> Callable[[], CallResult]:
        """Return the call with inputs that are new: made where the route says, which is not counted."""
        inputs = _made(self.reference.inputs, self.route.inputs)
        if self.case.direction == "forward":
            return lambda: self._forward(inputs)
        gradients = _made(self.reference.output_gradients, self.route.result)
        forward, backward = forward_and_backward(self.op, self.function, inputs, gradients)
        return lambda: self._both(forward, backward)

    def _forward(self, inputs: Sequence[Any]) -> CallResult:
        outputs = as_tuple(self.function(*inputs))
        places = tuple(map(place_of, outputs))
        _use(outputs, self.route.result)
        return CallResult(outputs, (), places, ())

    def _both(self, forward: Callable[[], Any], backward: Callable[[], Any]) -> CallResult:
        outputs = as_tuple(forward())
        outputs_on = tuple(map(place_of, outputs))
        _use(outputs, self.route.result)
        found = as_tuple(backward())
        gradients = [gradient for gradient in found if gradient is not None]
        dense = tuple(map(tf.convert_to_tensor, gradients))
        gradients_on = tuple(map(place_of, dense))
        _use(dense, self.route.inputs)
        return CallResult(outputs, dense, outputs_on, gradients_on)

    def check(self, result: CallResult) -> None:
        """Compare what came out with NumPy: counts of a wrong result would be of something else.

        Raises:
            WrongResult: it is not the reference's.
        """
        check_values(self.op, result.outputs, self.reference, self.case.dtype)
        if self.case.direction != "forward":
            if len(result.gradients) != len(self.op.differentiable):
                raise WrongResult(f"{len(result.gradients)} gradients for {len(self.op.differentiable)} inputs")
            check_gradients(self.op, result.gradients, self.reference, self.case.dtype)


def _row(call: _Call, count: CountCopies) -> dict[str, Any]:
    row: dict[str, Any] = call.route._asdict()
    try:
        call.check(call.fresh()())  # traces, compiles and makes constants, which happens once
        again = call.fresh()
        result, counts = count(again)
        fresh = [counts]
        for _ in range(1, REPETITIONS):
            again = call.fresh()
            fresh.append(count(again)[1])
        warm = [count(again)[1] for _ in range(REPETITIONS)]
    except WrongResult as error:
        if not load_variant(call.case.variant).is_attempt_for(call.op):
            raise
        return {**row, "refused": describe_error(error)}
    except Exception as error:  # noqa: BLE001 - a body may raise anything, TensorFlow refuses in many ways
        return {**row, "refused": describe_error(error)}
    return {
        **row,
        "fresh": _copies(fresh[-1]),
        "warm": _copies(warm[-1]),
        "varies": any(_copies(counts) != _copies(state[-1]) for state in (fresh, warm) for counts in state),
        "outputs_on": list(result.outputs_on),
        "gradients_on": list(result.gradients_on),
    }


def _copies(counts: Counts) -> dict[str, list[int]]:
    """Return copies and bytes each way, without allocations: threads that race for memory let those differ."""
    return {
        "to_device": [counts.to_device, counts.to_device_bytes],
        "to_host": [counts.to_host, counts.to_host_bytes],
        "on_device": [counts.on_device, counts.on_device_bytes],
    }


def _made(arrays: Sequence[Any], place: str) -> tuple[Any, ...]:
    with tf.device(SCOPES[place]):
        return tuple(tf.constant(array) for array in arrays)


def _use(tensors: Sequence[Any], place: str) -> None:
    """Use tensors by one op on a place, which waits for them and copies what is elsewhere."""
    with tf.device(SCOPES[place]):
        for tensor in tensors:
            tf.identity(tensor)


def place_of(tensor: Any) -> str:
    """Return where a tensor's memory is: `host` or `device`; `.device` says where TensorFlow would have it."""
    return DEVICE if is_on_device(tensor) else HOST


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
    """Answer a request to count a case, pinned to one place, on every route: its rows, or the failure."""
    case = Case.from_id(request["case"])
    emit({"event": "at", "case": case.id})
    try:
        op, reference = load_op(case.op), reference_of(case.op, case.size, case.dtype)
        rows = rows_of(case, request["pinned"], counting(case.placement))
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {"failure": dataclasses.asdict(failure_of(case, error, None))}
    return {"rows": rows, "arrays": arrays_of(op, reference)}


def arrays_of(op: Op, reference: Reference) -> dict[str, int]:
    """Return the bytes of what an op takes and gives, and of the gradients of both."""
    differentiable = [reference.inputs[i] for i in op.differentiable]
    sides = {
        "inputs": reference.inputs,
        "outputs": reference.outputs,
        "output_gradients": reference.output_gradients,
        "input_gradients": differentiable,
    }
    return {side: sum(array.nbytes for array in arrays) for side, arrays in sides.items()}
