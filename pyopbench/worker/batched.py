"""Answers requests for batched forms: which an op has, and whether one of them agrees with a loop over examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from pyopbench.model.case import Axes
from pyopbench.ops.batched.forms import LOOP, forms_of
from pyopbench.ops.load import load_op, load_ops, why_unloadable
from pyopbench.worker.plan import dtypes_of, sizes_of
from pyopbench.worker.prepare.batched_forms import batched_form

SIZES = 1
"""How many of an op's quick sizes are looked at unless some are named, the smallest first: a batch holds many of it."""


def describe(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request for the batched forms of some ops, as op, dtype, size and name; or the error of a file."""
    reason = why_unloadable()
    if reason:
        return {"error": reason}
    ops, names = load_ops(), request["variants"]
    axes = Axes(dtypes=tuple(request["dtypes"]), sizes=tuple(request["sizes"]), quick=True)
    forms = [
        {"op": name, "dtype": dtype, "size": size, "form": form.name}
        for name in request["ops"] or ops
        for dtype in dtypes_of(ops[name], axes)
        if dtype in ops[name].dtypes
        for size in sizes_of(ops[name], axes)[: len(axes.sizes) or SIZES]
        if ops[name].exists_at(size)
        for form in forms_of(ops[name], dtype, size)
        if form.name == LOOP or form.variant in names or not names
    ]
    return {"forms": forms}


def check(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request for one batched form of an op: what came of it, as in `BatchedForm`."""
    at = (request["op"], request["form"], request["dtype"], str(request["size"]))
    emit({"event": "at", "case": "/".join(at)})
    found = batched_form(
        load_op(request["op"]), request["form"], request["batch"], size=request["size"], dtype=request["dtype"]
    )
    checked = None if found.checked is None else dataclasses.asdict(found.checked)
    return {"outcome": found.outcome, "reason": found.reason, "checked": checked}
