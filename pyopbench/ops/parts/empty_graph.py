"""A graph with the arguments of the graphs of copies that does nothing: it is taken off, and the copies are left."""

from __future__ import annotations

from typing import Any

from pyopbench.model.case import EMPTY, Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant


def _build(op: Op, case: Case) -> Body:
    def nothing(*arguments: Any) -> None:
        """Take the inputs, and the output gradients where there are any, and do nothing with them."""

    return nothing


VARIANT = Variant(
    name=EMPTY,
    summary="a graph with the same arguments that does nothing",
    body="numpy",
    kind="port",
    role="empty",
    effort=0,
    build=_build,
    gradients=(),
    modes=("node",),
    placements=("cpu",),
    function_options={"autograph": False},
)
