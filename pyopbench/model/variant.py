"""A variant: one way of writing an op in TensorFlow, and which of them are written as source by `pyopbench port`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pyopbench.model.case import DEVICES, MODES, Case
from pyopbench.model.op import Body, Op

PORTABLE = ("traced", "traced_xla", "numba_op")
"""Variants that are made of a NumPy body as it is, and that can be written as source."""

BRIDGE = "numpy_function"
"""The variant that calls the unchanged body on arrays; a body of `tf.py_function` then takes arrays."""

BATCHED = {"traced_map": "map", "numpy_whole": "whole", "numba_op_loop": "loop"}
"""Ports that take a batch, and how: `map`, the port of one example under `tf.vectorized_map`; `whole`, the body called
once with the batch; or `loop`, over the examples in one op."""

BATCHED_PORTS = {"traced": "traced_map", "numba_op": "numba_op_loop"}
"""Ports that take a batch, by the port of one example."""

WRITABLE = (*PORTABLE, BRIDGE, *BATCHED)
"""All that `--to` takes."""

Role: TypeAlias = Literal["candidate", "attempt", "own_attempt", "by_name", "control", "body_alone", "empty", "twin"]
"""What a variant is measured for.

- `candidate`: written for the op; it is measured in every run, and a failure is an error.
- `attempt`: made automatically from another body (XLA of the TF body, TensorFlow ops of the NumPy body) and measured in
  every run; if it fails or differs, it is `unsupported` with that reason.
- `own_attempt`: an attempt for own ops, and for others only if you name it.
- `by_name`: measured only if you name it.
- `control`: another variant under a second name, as it is or slowed down, to check what pyopbench finds.
- `body_alone`: the body of a callback without the callback.
- `empty`: a graph that does nothing, to compare graphs of copies with.
- `twin`: an A/A control: a variant measured a second time, in a few groups of every run, to see the noise.
"""


@dataclass(frozen=True)
class Variant:
    """One way of writing an op in TensorFlow.

    `build` is `(op, case) -> callable over tensors`, with the gradient of `case` attached.
    """

    name: str  # of its file or in its table, and the key everywhere
    summary: str  # one line for people
    body: str  # the attribute of `Op` that it needs: numpy, tensor, python or kernel
    # `callback` if Python runs inside the graph; of a part, the kind of what it is a part of.
    kind: Literal["callback", "port"]
    # Rank of the work to get there from a callback, from 0. A choice prefers the least effort, unless more is clearly
    # faster (docs/decisions/0003-few-launches.md explains each rank).
    effort: int
    build: Callable[[Op, Case], Body]
    gradients: tuple[str, ...]  # names of the mechanisms it supports, the default first
    modes: tuple[str, ...] = MODES
    placements: tuple[str, ...] = DEVICES
    function_options: Mapping[str, object] = field(default_factory=dict)  # arguments of the `tf.function` around it
    role: Role = "candidate"
    stretch: float = 0.0  # of a control: how much longer each block lasts, as a share, by waiting
    unsupported: Callable[[Op, Case], str | None] = lambda op, case: None  # why this combination is not supported

    @property
    def is_callback(self) -> bool:
        """Is it a way of writing the op in which Python runs inside the graph?"""
        return self.kind == "callback" and not self.is_part

    @property
    def is_port(self) -> bool:
        """Is it a way of writing the op without Python in the graph?"""
        return self.kind == "port" and not self.is_part

    @property
    def is_part(self) -> bool:
        """Is it measured next to variants to understand their numbers, and no way of writing the op?"""
        return self.role in ("body_alone", "empty", "twin")

    @property
    def is_usual(self) -> bool:
        """Is it measured for every op by a run that names no variants?"""
        return self.role in ("candidate", "attempt")

    def is_usual_for(self, op: Op) -> bool:
        """Is it measured for this op by a run that names no variants?"""
        return self.is_usual or (self.role == "own_attempt" and op.is_own)

    @property
    def is_attempt(self) -> bool:
        """Is it made out of a body that was written for something else?"""
        return self.role in ("attempt", "own_attempt")

    def is_attempt_for(self, op: Op) -> bool:
        """Did nobody write it for this op, so that where it fails or differs it is `unsupported` and no error?"""
        return self.is_attempt or (op.own is not None and self.body in op.own.tried)


def port_words(words: Sequence[str], variant: str, out: str) -> list[str]:
    """Return the command line that writes a port of the op that `words` name, with its inputs, into the file `out`."""
    return ["pyopbench", "port", *words, "--to", variant, "--out", out]
