"""A body that takes one example, called for each example of a batch: by Python, or in a loop that Numba compiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyopbench.model.op import Body, GradientBody, Op
from pyopbench.ops.compiled import call_compiled
from pyopbench.ports.arrays import as_array, as_given, as_tuple, one_or_tuple
from pyopbench.ports.rebinding import rebind_helpers

LOOP = """
def loop({outputs}, {inputs}):
    for example in range(len({first})):
        {results} = body({rows})
        {lines}
"""
"""The loop over a batch for as many inputs and outputs as a body has: Numba compiles no loop over arrays of different
types, and so it is written out."""

CHECK = """if {result}.shape != {output}.shape[1:]:
            raise ValueError("the examples of a batch have outputs of different shapes")"""
"""Before a result is stored, because an array of one element would be spread over the place of more."""


def rows_of(batch: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the inputs of each example of a batch, in the form in which a callback gets them."""
    return [as_given([np.asarray(array)[place, ...] for array in batch]) for place in range(len(batch[0]))]


def stacked(outputs: Sequence[Sequence[Any]], dtypes: Sequence[str]) -> tuple[Any, ...]:
    """Return one array for each output, from the outputs of each example.

    Raises:
        ValueError: the examples have outputs of different shapes.
    """
    by_output = zip(*outputs, strict=True)
    return tuple(
        np.stack([as_array(one, dtype) for one in each]) for each, dtype in zip(by_output, dtypes, strict=True)
    )


def python_loop(body: Body, dtypes: Sequence[str]) -> Body:
    """Return a body over arrays with a leading axis that calls another one for each example."""

    def over_batch(*batch: Any) -> Any:
        return one_or_tuple(stacked([as_tuple(body(*row)) for row in rows_of(batch)], dtypes))

    return over_batch


def ragged_loop(body: Body, dtypes: Sequence[str], ragged: Sequence[bool]) -> Body:
    """Return a body like that of `python_loop`, for outputs whose first dimension differs from example to example.

    Args:
        body: takes one example.
        dtypes: of its outputs.
        ragged: for each output, whether its first dimension differs. It then is two of the results: the rows of all
            examples one behind another, and how many each example has, `(batch,)` int64.
    """

    def over_batch(*batch: Any) -> Any:
        each = [as_tuple(body(*row)) for row in rows_of(batch)]
        flat: list[Any] = []
        for outputs, dtype, is_ragged in zip(zip(*each, strict=True), dtypes, ragged, strict=True):
            arrays = [as_array(one, dtype) for one in outputs]
            if is_ragged:
                flat += [np.concatenate(arrays), np.array([len(one) for one in arrays], np.int64)]
            else:
                flat.append(np.stack(arrays))
        return one_or_tuple(flat)

    return over_batch


def gradient_loop(gradient: GradientBody, op: Op) -> GradientBody:
    """Return a gradient over arrays with a leading axis that calls that of one example for each."""

    def over_batch(inputs: Sequence[Any], outputs: Sequence[Any], incoming: Sequence[Any]) -> tuple[Any, ...]:
        dtypes = [np.asarray(inputs[place]).dtype.name for place in op.differentiable]
        rows = zip(rows_of(inputs), rows_of(outputs), rows_of(incoming), strict=True)
        return stacked([as_tuple(gradient(*row)) for row in rows], dtypes)

    return over_batch


def njit_loop(op: Op, dtypes: Sequence[str]) -> Body:
    """Return a body over arrays with a leading axis: body, helpers and the loop over examples compiled by Numba.

    The outputs are made before the loop, with the shapes that the first example of a batch gives.
    """
    import numba

    compiled = rebind_helpers(op.numpy, numba.njit)
    if not hasattr(compiled, "py_func"):  # it takes its arguments by name or as lists, which only Python hands over
        return python_loop(compiled, dtypes)
    loops: dict[tuple[int, ...], Callable[..., None]] = {}

    def over_batch(*batch: Any) -> Any:
        returned = call_compiled(compiled, [array[0] for array in batch])
        first = [as_array(one, dtype) for one, dtype in zip(as_tuple(returned), dtypes, strict=True)]
        outputs = [np.empty((len(batch[0]), *one.shape), one.dtype) for one in first]
        ranks = tuple(one.ndim for one in first)
        if ranks not in loops:
            written = _written(compiled, len(batch), ranks, of_tuple=isinstance(returned, tuple))
            loops[ranks] = numba.njit(written)
        loops[ranks](*outputs, *batch)
        return one_or_tuple(outputs)

    return over_batch


def _written(body: Any, inputs: int, ranks: Sequence[int], *, of_tuple: bool) -> Callable[..., None]:
    """Return the loop over a body, for outputs of some numbers of dimensions."""
    given = [f"input{i}" for i in range(inputs)]
    made = {f"output{i}": f"result{i}" for i in range(len(ranks))}
    lines = []
    for (output, result), rank in zip(made.items(), ranks, strict=True):
        lines += [CHECK.format(result=result, output=output)] if rank else []
        lines.append(f"{output}[example] = {result}")
    source = LOOP.format(
        outputs=", ".join(made),
        inputs=", ".join(given),
        first=given[0],
        results=", ".join(made.values()) + ("," if of_tuple and len(made) == 1 else ""),
        rows=", ".join(f"{name}[example]" for name in given),
        lines="\n        ".join(lines),
    )
    scope: dict[str, Any] = {"body": body}
    exec(source, scope)
    return scope["loop"]  # type: ignore[no-any-return]
