"""Cost components, measured next to variants: bodies alone, and an empty graph.

An A/A control belongs to a variant too: the same code in a graph of its own, under a second name.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from pyopbench.model.case import CONTROL_SUFFIX, EMPTY, Case
from pyopbench.model.errors import Unsupported
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant


def twin_of(variant: Variant) -> Variant:
    """Return a variant as `<name>_twin`: whatever is measured between the two is noise."""
    name = variant.name + CONTROL_SUFFIX
    return replace(variant, name=name, summary=f"{variant.name} under a second name", role="twin")


def _build_numpy(op: Op, case: Case) -> Body:
    if op.is_on_tensors:
        raise Unsupported("the op has a py_function body, which needs TensorFlow")
    return op.numpy


def _build_nothing(op: Op, case: Case) -> Body:
    def nothing(*arguments: Any) -> None:
        """Take the inputs, and the output gradients where there are any, and do nothing with them."""

    return nothing


_body_alone = partial(Variant, kind="callback", role="body_alone", effort=0, gradients=(), modes=("call", "node"))
"""A body on its own: what a callback over it spends inside of it."""

COST_COMPONENTS = {
    # A graph with the arguments of the graphs of copies: it is taken off, and the copies are left.
    "empty_graph": Variant(
        name=EMPTY,
        summary="a graph with the same arguments that does nothing",
        body="numpy",
        kind="port",
        role="empty",
        effort=0,
        build=_build_nothing,
        gradients=(),
        modes=("node",),
        placements=("cpu",),
        function_options={"autograph": False},
    ),
    "numpy_alone": _body_alone(
        name="numpy_alone",
        summary="NumPy body called on arrays, without TensorFlow",
        body="numpy",
        build=_build_numpy,
    ),
    "tensor_alone": _body_alone(
        name="tensor_alone",
        summary="TensorFlow body called eagerly, on eager tensors",
        body="tensor",
        build=lambda op, case: op.tensor,  # type: ignore[arg-type,return-value]
    ),
}
