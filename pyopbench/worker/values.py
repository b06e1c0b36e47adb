"""What an op computes, kept in a file or compared with what another revision of it has kept there.

The inputs of the file are given to the body that is here: so that different values are not confused with different
inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyopbench.model.errors import WrongResult, describe_error
from pyopbench.model.op import Op
from pyopbench.ops.load import load_op
from pyopbench.worker.prepare.checks import Reference, make_reference, reference_of, require_equal

PARTS = ("inputs", "outputs", "output_gradients", "gradients")


def compare_values(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request to keep what an op computes in `save`, or to compare it with what is kept in `against`.

    Returns:
        `kind`: "" where nothing is different, or as in `store.types.ValueDifference`; and the `reason`.
    """
    op = load_op(request["op"])
    size, dtype = int(request["size"]), str(request["dtype"])
    emit({"event": "comparing"})
    if op.own is not None and op.own.is_random:
        return _difference("unknown", "the body draws random numbers")
    try:
        here = reference_of(op.name, size, dtype)
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return _difference("raised", describe_error(error))
    if "save" in request:
        _save(Path(request["save"]), here)
        return _difference("", "")
    return _compare(op, here, _read(Path(request["against"])), dtype)


def _compare(op: Op, here: Reference, there: Reference, dtype: str) -> dict[str, Any]:
    on_inputs = here
    inputs = _first_difference("input", here.inputs, there.inputs, 0.0)
    if inputs:
        try:
            on_inputs = make_reference(op, there.inputs, dtype, np.random.default_rng(0))
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            return _difference("raised", f"on the inputs of the first side: {describe_error(error)}")
    outputs = _first_difference("output", on_inputs.outputs, there.outputs, op.tolerance[dtype])
    if outputs or inputs:
        return _difference("outputs", outputs) if outputs else _difference("inputs", inputs)
    if (here.gradients is None) != (there.gradients is None):
        return _difference("gradients", "only one of the sides has a gradient in NumPy")
    gradients = _first_difference("gradient", here.gradients or (), there.gradients or (), op.tolerance[dtype])
    return _difference("gradients" if gradients else "", gradients)


def _first_difference(what: str, got: Sequence[Any], expected: Sequence[Any], tolerance: float) -> str:
    """Return the first place at which arrays differ, by more than a share of the largest magnitude; "" for none."""
    if len(got) != len(expected):
        return f"{len(got)} {what}s, and {len(expected)} on the first side"
    try:
        for place, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
            require_equal(f"{what} {place}", ours, theirs, tolerance)
    except WrongResult as error:
        return error.message
    return ""


def _difference(kind: str, reason: str) -> dict[str, Any]:
    return {"kind": kind, "reason": reason}


def _save(path: Path, reference: Reference) -> None:
    arrays: dict[str, Any] = {}
    for part in PARTS:
        for place, array in enumerate(getattr(reference, part) or ()):
            arrays[f"{array.dtype.name}|{part} {place}"] = _encoded(array)
    arrays["has gradients"] = np.array(reference.gradients is not None)
    np.savez(path, **arrays)


def _encoded(array: Any) -> Any:
    """Return what a file of NumPy's keeps as it is.

    Text is hexadecimal, since NumPy drops zeros at the end; a dtype of another library's, such as bfloat16, is float64.
    """
    if array.dtype.kind != "O":
        return array.astype(np.float64) if array.dtype.isbuiltin == 2 else array
    return np.array([bytes(item).hex() for item in array.ravel()], "U").reshape(array.shape)


def _read(path: Path) -> Reference:
    with np.load(path, allow_pickle=False) as stored:
        inputs, outputs, incoming, gradients = (tuple(_arrays(stored, part)) for part in PARTS)
        return Reference(inputs, outputs, incoming, gradients if stored["has gradients"] else None)


def _arrays(stored: Any, part: str) -> list[Any]:
    of_part = (name for name in stored.files if name.partition("|")[2].startswith(f"{part} "))
    names = sorted(of_part, key=lambda name: int(name.split()[-1]))
    return [_decoded(stored[name], name.partition("|")[0]) for name in names]


def _decoded(array: Any, dtype: str) -> Any:
    if dtype != "object":
        return array if array.dtype.name == dtype else array.astype(dtype)
    texts = [bytes.fromhex(str(item)) for item in array.ravel()]
    return np.array([*texts, None], object)[:-1].reshape(array.shape)
