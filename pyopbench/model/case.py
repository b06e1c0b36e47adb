"""The nouns that both halves exchange, through JSON: `Case`, `Axes`, `Failure`, and the words that they are made of.

Plain data; nothing here imports TensorFlow, pandas or anything that measures. `Op` (`model/op.py`), `Variant`
(`model/variant.py`) and `Gradient` (`ops/gradients.py`) hold callables and belong to the measuring half. What the
judging half makes of it is in `judge/decision.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from pyopbench.model.errors import BadInput, Elided, Unsupported, WrongResult, describe_error

MOST_KEPT = 65_536
"""Cases that are kept as they were read from their ids, which results hold again and again: 30 MB."""

DIRECTIONS = ("forward", "backward", "forward_backward")
MODE_SUMMARIES = {
    "eager": "a plain call",
    "call": "one call of a tf.function",
    "node": "one op inside a graph: the time of k copies less that of an empty graph, per copy; Grappler off",
}
MODES = tuple(MODE_SUMMARIES)
THREADS = "threads"
"""Mode `threads:N` is calls of a `tf.function` from N threads at once, as a server makes them."""
PIPELINE = "pipeline"
"""Mode `pipeline:ARRANGEMENT` is elements that come out of a `tf.data` pipeline, in which the body of the op stands as
`model/arrangement.py` names it; `pipeline:body threads=2` is calls of the body alone."""
DTYPES = ("float32", "float64")
CPU: Literal["cpu"] = "cpu"
GPU: Literal["gpu"] = "gpu"
SIMULATED = "simgpu"
DEVICES = (CPU, GPU)
"""Where something can be timed."""
PLACEMENTS = (*DEVICES, SIMULATED)  # on a simulated device copies are counted, and nothing is timed
ID = re.compile(
    rf"([^/]+/){{4}}({THREADS}:[1-9][0-9]{{0,3}}|{PIPELINE}:[^:/]+|(?!({THREADS}|{PIPELINE})[:/])[^/]+)/[^/]+/"
    "[1-9][0-9]{0,17}/[^/]+"
)
"""The id of a case; modes `threads` and `pipeline` have a parameter."""
NO_GRADIENT = "none"
"""The gradient of a forward case: the op is built without one, as it would be served."""


CONTROL_SUFFIX = "_twin"
"""`numpy_function_twin` is numpy_function a second time: whatever is measured between the two is noise."""

EMPTY = "empty_graph"
"""The part that a cost inside a graph is taken from: a graph with the arguments of the others that does nothing."""

BASELINE = "py_function_numpy"
"""The current callback of built-in ops, which stored results are compared with, and of what a py_function calls."""

OWN_BASELINE = "numpy_function"
"""The current callback of a user's own op, where nobody says which one the program has: the cheapest that calls it."""

REQUIREMENTS = ("savedmodel", "xla", "second_order", "distributed", "tflite", "gpu")
"""What a port may have to be able to do; `worker/require.py` tries all but `gpu`."""

MINIMUM_EFFECT = 0.03
"""Differences below 3% come and go with the layout of code and memory; nobody ports an op for them."""

UNLIMITED = 1_000_000
"""Launches, and rounds of a launch, of a run that only its budget limits."""

Until: TypeAlias = Literal["decided", "resolved", "end"]
"""When a run stops before its launches, rounds or budget are used up: once no answer is open, once each comparison is
resolved or out of reach as well, or never."""

MECHANISMS = ("autodiff", "tape", "custom_gradient", "override_map", "override_map_ops", "defun")
"""Names of the gradient mechanisms; `ops/gradients.py` has what they are."""


@dataclass(frozen=True)
class Case:
    """One thing to measure: strings and ints only, so that it means the same in every process and file."""

    op: str
    variant: str
    gradient: str
    direction: str
    mode: str
    dtype: str
    size: int
    placement: str = CPU

    @property
    def id(self) -> str:
        """The stable key, for example `sinh/native/none/forward/call/float32/1000/cpu`."""
        return "/".join(str(part) for part in self.parts)

    @property
    def parts(self) -> tuple[str | int, ...]:
        """The fields in the order of `id`."""
        return (self.op, self.variant, self.gradient, self.direction, self.mode, self.dtype, self.size, self.placement)

    @classmethod
    @lru_cache(maxsize=MOST_KEPT)
    def from_id(cls, key: str) -> Case:
        """Read a case back from its `id`; anything else is refused as `BadInput`."""
        if not ID.fullmatch(key):
            raise BadInput(
                "not the id of a case",
                received=repr(key),
                hint="op/variant/gradient/direction/mode/dtype/size/placement; `pyopbench run --list --json` shows ids",
            )
        op, variant, gradient, direction, mode, dtype, size, placement = key.split("/")
        return cls(op, variant, gradient, direction, mode, dtype, int(size), placement)

    @property
    def kind(self) -> str:
        """The mode without its parameter: `threads` of `threads:4`, and any other mode as it is."""
        return self.mode.partition(":")[0]

    @property
    def arrangement(self) -> str:
        """The key of an arrangement in mode `pipeline:ARRANGEMENT`; empty in any other mode."""
        return self.mode.partition(":")[2] if self.kind == PIPELINE else ""

    @property
    def threads(self) -> int | None:
        """How many threads call at once in mode `threads:N`; None in any other mode."""
        return int(self.mode.partition(":")[2]) if self.kind == THREADS else None

    @property
    def group(self) -> str:
        """The key of the cases that are measured interleaved with this one: all but variant, gradient and parameter.

        Backward and forward+backward share a group, because one timed pass with a stamp in between gives both. So do
        all numbers of threads, and all arrangements of a pipeline, which are compared with one another.
        """
        family = "forward" if self.direction == "forward" else "gradient"
        return "/".join((self.op, family, self.kind, self.dtype, str(self.size), self.placement))

    @property
    def runner(self) -> str:
        """The key, within a group, of what is timed for this case: backward and forward+backward share it."""
        return "/".join((self.variant, self.gradient, *self.mode.split(":")[1:]))

    @property
    def forward_pass(self) -> Case:
        """The case that is its forward pass alone."""
        return replace(self, direction="forward", gradient=NO_GRADIENT)


def by_placement(groups: Iterable[str]) -> dict[str, list[str]]:
    """Return groups by their placement, in their order: a process can measure only one placement."""
    found: dict[str, list[str]] = {}
    for group in groups:
        found.setdefault(group.rpartition("/")[2], []).append(group)
    return found


@dataclass(frozen=True)
class Axes:
    """What a run is asked to cover; an empty tuple means the default.

    `gradients` are mechanisms; empty for each variant's usual one, `("all",)` for every one that it can have.
    `directions`: empty for all that a mode has; mode node has no `backward`. `modes`: empty for `node`, or for `call`
    on a GPU, where `node` is not measured; if both devices are measured, the CPU has both modes.
    """

    ops: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()  # empty for all that are not measured by name only
    gradients: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    threads: tuple[int, ...] = ()  # that call at once, each number a mode `threads:N` besides `modes`
    dtypes: tuple[str, ...] = ("float32",)
    placements: tuple[str, ...] = (CPU,)
    sizes: tuple[int, ...] = ()  # empty for each op's own
    quick: bool = False  # the op's quick sizes in place of all its own
    parts: bool = True  # with each callback that runs forward in a graph, its body alone
    # The current callback; without `variants`, only it and the easiest hand-written port are then measured.
    in_use: str = ""


Status: TypeAlias = Literal["unsupported", "wrong", "elided", "raised", "timeout", "crashed"]
STATUSES: dict[type[BaseException], Status] = {
    Unsupported: "unsupported",
    WrongResult: "wrong",
    Elided: "elided",
    BaseException: "raised",
}
EXPECTED: tuple[Status, ...] = ("unsupported", "elided")  # no fault of a variant: counted, and not shown one by one


@dataclass(frozen=True)
class Failure:
    """A case that was planned and has no number, or a hole in the matrix.

    An `unsupported` case cannot exist; values or gradients of a `wrong` one differ; TensorFlow does not execute an
    `elided` one. `reason` has TensorFlow's own message where there is one; `launch` is None if it was known before the
    first.
    """

    case: str
    status: Status
    reason: str
    launch: int | None = None

    @classmethod
    def of(cls, case: Case, error: BaseException, launch: int | None) -> Failure:
        """Return the failure that an exception means for a case."""
        status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
        return cls(case.id, status, describe_error(error), launch)


def make_label(variant: str, gradient: str, gradients: Sequence[str]) -> str:
    """Return the label of a case: its variant, and after a `+` its gradient unless that is the first, the usual one."""
    is_usual = gradient == NO_GRADIENT or list(gradients[:1]) == [gradient]
    return variant if is_usual else f"{variant}+{gradient}"


def variant_in(label: str) -> str:
    """Return the variant of a label."""
    return label.partition("+")[0]


HOST, DEVICE = "host", "device"
"""Where the memory of a tensor can be."""
Route: TypeAlias = tuple[str, str]
"""Where the inputs of a call are, and where its result is used."""
ROUTES: tuple[Route, ...] = ((HOST, HOST), (HOST, DEVICE), (DEVICE, HOST), (DEVICE, DEVICE))
"""Every route, in the order of tables."""
