"""Forms of a body that take a batch of examples at once: right or not, and what they gain over a loop over examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from bodies.blocks import gain_of
from pyopbench.model.op import Op
from pyopbench.ops.batched.examples import examples_of
from pyopbench.ops.batched.forms import LOOP, forms_of
from pyopbench.worker.prepare.batched_forms import batched_form
from pyopbench.worker.prepare.segments import constants

TRIED = ("numpy_whole", "numba_op_loop", "traced_map")
"""All batched forms but the loop that they are compared with."""


def in_batches(op: Op, batch: int, without: Sequence[str], *, timed: bool) -> Iterator[dict[str, Any]]:
    """Yield the name of each batched form, and then what became of it."""
    kinds = {form.name: form.kind for form in forms_of(op, op.dtypes[0], op.sizes[0]) if form.name in TRIED}
    for name, kind in kinds.items():
        if name not in without:
            yield {"begun": name, "kind": kind}
            yield {"form": name, "kind": kind, "batch": batch, **_become(op, name, batch, timed=timed)}


def _become(op: Op, name: str, batch: int, *, timed: bool) -> dict[str, Any]:
    found = batched_form(op, name, batch)
    if found.outcome != "right":
        became = "wrong" if found.outcome == "wrong" else "failed"
        return {"became": became, "at": f"a batch of {batch}", "reason": found.reason, "error": "", "cause": ""}
    return {"became": "right", **({"gains": [_gain(op, found.call, batch)]} if timed else {})}


def _gain(op: Op, call: Any, batch: int) -> float:
    """Return how many times as fast a form is as the loop over the examples of a batch in one callback."""
    loop = batched_form(op, LOOP, batch).call
    each = examples_of(op, op.sizes[0], op.dtypes[0], batch).each
    tensors = constants([np.stack(arrays) for arrays in zip(*each, strict=True)])
    functions = [tf.function(one, autograph=False) for one in (loop, call)]
    return gain_of(*(_called(function, tensors) for function in functions), seed=batch)


def _called(function: Any, tensors: Sequence[Any]) -> Any:
    def call() -> Any:
        found = function(*tensors)
        tf.nest.map_structure(lambda one: one.numpy(), found)  # on a CPU: waits for it

    call()
    return call
