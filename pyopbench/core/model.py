"""The nouns of pyopbench. Plain data; nothing here imports TensorFlow, pandas or anything that measures.

`Op` and `Variant` belong to the measuring half (they hold callables), as `Gradient` in `catalogue/gradients.py` does;
`Axes`, `Case` and `Failure` are plain data that both halves exchange, through JSON. What the judging half makes of it
is in `judge/decision.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pyopbench.core.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

DIRECTIONS = ("forward", "backward", "forward_backward")
MODE_SUMMARIES = {
    "eager": "a plain call",
    "call": "one call of a tf.function",
    "node": "one more such op inside a graph: the slope over graphs of k copies, without Grappler",
}
MODES = tuple(MODE_SUMMARIES)
DTYPES = ("float32", "float64")
GPU = "gpu"
SIMULATED = "simgpu"
PLACEMENTS = ("cpu", GPU, SIMULATED)
"""Where an op runs: on the CPU, on a GPU, or on a simulated device, where copies are counted and nothing is timed."""
NO_GRADIENT = "none"
"""The gradient of a forward case: the op is built without one, as it would be served."""

CASE_DTYPE = "dtype"
"""Stands in `Op.outputs` for an output that has the dtype of the case."""

FLOOR_DTYPE = "float32"
"""The dtype in which the floor of every bridge is measured: what crosses is bytes, whatever they stand for."""
FLOOR_SUFFIX = "_floor"
"""`native_floor` is native with nothing to do, `numpy_function_floor` the bridge of numpy_function, and so on."""
FLOOR_IN = "floor_consume"
FLOOR_OUT = "floor_produce"
FLOOR_OUT_ALIGNED = "floor_produce_aligned"
FLOOR_OPS = (FLOOR_IN, FLOOR_OUT, FLOOR_OUT_ALIGNED)

NATIVE = "native"
"""The variant whose floor is what one call costs without a callback."""

BASELINE = "py_function_numpy"
"""The callback that most teams have today."""

MINIMUM_EFFECT = 0.03
"""Differences below 3% come and go with the layout of code and memory; nobody ports an op for them."""

MECHANISMS = ("autodiff", "tape", "custom_gradient", "override_map", "override_map_ops", "defun")
"""Names of the gradient mechanisms; `catalogue/gradients.py` has what they are."""

Role: TypeAlias = Literal["candidate", "attempt", "own_attempt", "by_name", "control", "body_alone", "floor"]
KINDS = ("callback", "port")
ROLES: dict[str, str] = {
    "candidate": "somebody wrote it for the op: it is measured in every run, and where it fails that is an error",
    "attempt": "tried without anybody having written it for the op, in every run (XLA of the TF body, NumPy rebound): "
    "where it fails or differs it is `unsupported` with that reason",
    "own_attempt": "an attempt that is made for own ops, and for others only where it is named",
    "by_name": "measured only where it is named",
    "control": "another variant under a second name, as it is or slowed down: by name, to see what pyopbench finds",
    "body_alone": "the body of a callback without the callback, measured beside it",
    "floor": "a variant with nothing to do, measured beside it",
}
"""What a variant is measured for."""

Body: TypeAlias = Callable[..., Any]
GradientBody: TypeAlias = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Own:
    """What an op that a user brings has beside what every op has.

    Attributes:
        py_function: the body of the current `tf.py_function` as it stands, on eager tensors, where that is what there
            is instead of a NumPy body; `Op.numpy` then is it between two conversions, for the reference alone.
        tried: names of bodies that nobody wrote for this op: where they fail that is no error.
        fixed_sizes: True if it exists only at `Op.sizes`, because its inputs are examples.
    """

    py_function: Body | None = None
    tried: frozenset[str] = frozenset()
    fixed_sizes: bool = False

    @property
    def ported(self) -> tuple[str, ...]:
        """The bodies that ports are made from without anybody writing them: the user's, by the names of `Op`."""
        return ("numpy",) if self.py_function is None else tuple(sorted(self.tried))


@dataclass(frozen=True)
class Op:
    """One operation, written once in every body that it has.

    Every body takes the arrays or tensors of `make_inputs` as positional arguments and returns one array or a tuple.

    Attributes:
        name: the name of the file that holds the op, and the key everywhere.
        summary: one line for people.
        source: where the op or its formula comes from.
        make_inputs: `(size, dtype, rng) -> tuple of ndarrays`; `size` counts what `size_unit` says.
        numpy: the NumPy body; also the reference that every variant is checked against.
        sizes: the sizes of a full run, ascending.
        quick_sizes: the sizes of `--quick`; a subset of `sizes`.
        size_unit: what a size counts, in the plural ("elements", "matrices", "active sites").
        dtypes: floating dtypes that the op is offered in.
        outputs: a dtype name for each output, `CASE_DTYPE` for the dtype of the case.
        differentiable: positions of the inputs that have a gradient; empty if the op has none.
        numpy_gradient: `(inputs, outputs, output_gradients) -> gradients`; one gradient of an output for each
            floating output, one result for each differentiable input, in order, NumPy arrays throughout.
        tensor: the body in TensorFlow ops.
        tensor_gradient: the gradient in TensorFlow ops, in the form of `numpy_gradient`.
        python: a body with Python control flow on tensors, for AutoGraph; None where there is no control flow.
        kernel: C++ source of a custom op, in the form that `pyopbench.catalogue.kernels.register` tells.
        numba: `() -> (body, gradient)`, compiled by Numba, in the form of `numpy` and `numpy_gradient`; called only
            where Numba is there.
        largest: for a body that is slow by nature (a loop over elements), the largest size it is given.
        tolerance: for each dtype the largest error, relative to the largest magnitude of the reference.
        bytes_moved: `(size, dtype) -> bytes` read and written by a perfect forward pass; None where nobody counted.
        flops: `size -> count` of arithmetic operations of a forward pass, a transcendental as one; None likewise.
        own: what only an op has that a user brings, for which ports that cost nothing are tried; None for an op of the
            catalogue.
    """

    name: str
    summary: str
    source: str
    make_inputs: Callable[[int, str, np.random.Generator], tuple[Array, ...]]
    numpy: Body
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    bytes_moved: Callable[[int, str], int] | None
    flops: Callable[[int], int] | None
    size_unit: str = "elements"
    dtypes: tuple[str, ...] = DTYPES
    outputs: tuple[str, ...] = (CASE_DTYPE,)
    differentiable: tuple[int, ...] = (0,)
    numpy_gradient: GradientBody | None = None
    tensor: Body | None = None
    tensor_gradient: GradientBody | None = None
    python: Body | None = None
    kernel: Path | None = None
    numba: Callable[[], tuple[Body, GradientBody | None]] | None = None
    largest: Mapping[str, int] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=lambda: {"float32": 1e-5, "float64": 1e-12})

    own: Own | None = None

    @property
    def is_own(self) -> bool:
        """Does a user bring it, so that ports are tried that nobody wrote?"""
        return self.own is not None

    @property
    def py_function(self) -> Body | None:
        """The body of an own op's `tf.py_function`, where that is what there is instead of a NumPy body."""
        return None if self.own is None else self.own.py_function

    def is_tried(self, body: str) -> bool:
        """Did nobody write this body for the op, so that its failure is no error?"""
        return self.own is not None and body in self.own.tried

    def exists_at(self, size: int) -> bool:
        """Can inputs of this size be made? An op of one size, or of examples, has only its own sizes."""
        fixed = len(self.sizes) == 1 or (self.own is not None and self.own.fixed_sizes)
        return not fixed or size in self.sizes

    @property
    def has_gradient(self) -> bool:
        """Does anything say what the gradient is? If not, the current callback has none."""
        return bool(self.differentiable) and not self.lacks_gradient

    @property
    def lacks_gradient(self) -> bool:
        """Is it differentiable, and does nothing say what the gradient is? Only an own op can be so."""
        brings = (self.numpy_gradient, self.tensor_gradient, self.py_function)
        return bool(self.differentiable) and self.is_own and all(one is None for one in brings)

    def output_dtypes(self, dtype: str) -> tuple[str, ...]:
        """Return the dtype of each output for a case of `dtype`."""
        return tuple(dtype if output == CASE_DTYPE else output for output in self.outputs)

    @property
    def floating_outputs(self) -> tuple[int, ...]:
        """The positions of the outputs that a gradient flows back through."""
        return tuple(i for i, output in enumerate(self.outputs) if output == CASE_DTYPE or output.startswith("float"))


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
    placement: str = "cpu"

    @property
    def id(self) -> str:
        """The stable key, for example `sinh/native/none/forward/call/float32/1000/cpu`."""
        return "/".join(str(part) for part in self.parts)

    @property
    def parts(self) -> tuple[str | int, ...]:
        """The fields in the order of `id`."""
        return (self.op, self.variant, self.gradient, self.direction, self.mode, self.dtype, self.size, self.placement)

    @classmethod
    def from_id(cls, key: str) -> Case:
        """Read a case back from its `id`.

        Raises:
            BadInput: the key does not have eight parts with a whole number from 1 in the seventh.
        """
        parts = key.split("/")
        if len(parts) != 8 or not all(parts) or not re.fullmatch("[1-9][0-9]{0,17}", parts[6]):
            raise BadInput(
                "not the id of a case",
                received=repr(key),
                legal="op/variant/gradient/direction/mode/dtype/size/placement",
                next_step="`pyopbench list --cases` shows ids",
            )
        op, variant, gradient, direction, mode, dtype, size, placement = parts
        return cls(op, variant, gradient, direction, mode, dtype, int(size), placement)

    @property
    def group(self) -> str:
        """The key of the cases that are measured interleaved with this one: all but variant and gradient.

        Backward and forward+backward share a group, because one timed pass with a stamp in between gives both.
        """
        family = "forward" if self.direction == "forward" else "gradient"
        return "/".join((self.op, family, self.mode, self.dtype, str(self.size), self.placement))


@dataclass(frozen=True)
class Axes:
    """What a run is asked to cover; an empty tuple means the default.

    Attributes:
        ops: names; empty for all.
        variants: names; empty for all that are not measured by name only.
        gradients: mechanisms; empty for each variant's usual one, `("all",)` for every one that it can have.
        directions, modes, dtypes, placements: as in `Case`.
        sizes: sizes for every op; empty for the op's own.
        quick: the op's quick sizes in place of all its own.
        parts: with each callback that runs forward in a `tf.function`, also its body alone and its bridge's floor.
    """

    ops: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()
    directions: tuple[str, ...] = DIRECTIONS
    modes: tuple[str, ...] = ("call",)
    dtypes: tuple[str, ...] = ("float32",)
    placements: tuple[str, ...] = ("cpu",)
    sizes: tuple[int, ...] = ()
    quick: bool = False
    parts: bool = True


@dataclass(frozen=True)
class Variant:
    """One way of writing an op in TensorFlow.

    Attributes:
        name: the name of the file that holds the variant, and the key everywhere.
        summary: one line for people.
        body: the `Op` attribute that it needs (`numpy`, `tensor`, `python`, `kernel`, `numba`).
        kind: `callback` if Python runs inside the graph, `port` if it no longer does; of a part, the kind of what it is
            a part of.
        role: what it is measured for, one of `ROLES`.
        effort: rank of the work to get there from a callback, 0 least: a choice begins with the least, and goes to more
            only where that is clearly faster (docs/decisions/0003-few-launches.md gives the reasons of each rank).
        build: `(op, case) -> callable over tensors`, with the gradient of `case` attached.
        gradients: names of the mechanisms that it can have, the usual one first.
        modes: modes that it can run in.
        placements: placements that it can run on.
        function_options: keyword arguments of the `tf.function` that wraps it.
        op: of a floor, the op that it is measured with in place of the case's, at its smallest size.
        stretch: of a control, how much longer each timed block lasts than its calls take, as a share (0.05 is 5%), by
            waiting.
        unsupported: `(op, case) -> reason` why this combination cannot be, or None.

    Raises:
        BadInput: kind or role is unknown, or `op` or `stretch` is given to a role that has none.
    """

    name: str
    summary: str
    body: str
    kind: Literal["callback", "port"]
    effort: int
    build: Callable[[Op, Case], Body]
    gradients: tuple[str, ...]
    modes: tuple[str, ...] = MODES
    placements: tuple[str, ...] = ("cpu", GPU)
    function_options: Mapping[str, object] = field(default_factory=dict)
    role: Role = "candidate"
    op: Op | None = None
    stretch: float = 0.0
    unsupported: Callable[[Op, Case], str | None] = lambda op, case: None

    def __post_init__(self) -> None:
        """Refuse a value that no question below would answer."""
        _require(self, "kind", self.kind in KINDS, " or ".join(KINDS))
        _require(self, "role", self.role in ROLES, ", ".join(ROLES))
        _require(self, "op", (self.op is not None) == self.is_floor, "an op for a floor, and None for anything else")
        may_wait = self.role in ("control", "floor")
        _require(self, "stretch", not self.stretch or may_wait, "0, except for a control and the floor of one")

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
        """Is it measured beside callbacks to tell where their time goes, and no way of writing the op?"""
        return self.is_body_alone or self.is_floor

    @property
    def is_body_alone(self) -> bool:
        """Is it the body of a callback, without the callback?"""
        return self.role == "body_alone"

    @property
    def is_floor(self) -> bool:
        """Is it a variant with nothing to do?"""
        return self.role == "floor"

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
        return self.is_attempt or op.is_tried(self.body)

    @property
    def has_parts(self) -> bool:
        """Is it a callback whose body and bridge can be measured alone? What an attempt compiles is no such body."""
        return self.is_callback and not self.is_attempt

    @property
    def runs_python(self) -> bool:
        """Does the interpreter run its body? A callback over a body that Numba compiled only begins in Python."""
        return self.has_parts and self.body != "numba"


def _require(variant: Variant, name: str, holds: bool, legal: str) -> None:  # noqa: FBT001
    if not holds:
        raise BadInput(
            f"the variant {variant.name} has a {name} that it cannot have",
            received=f"{name}={getattr(variant, name)!r}, role={variant.role!r}",
            legal=legal,
            next_step="see `Variant` in the documentation of the API",
        )


@dataclass(frozen=True)
class Failure:
    """A case that was planned and has no number, or a hole in the matrix.

    Attributes:
        case: the id of the case.
        status: `unsupported` (cannot be), `wrong` (values or gradients differ), `elided` (TensorFlow does not execute
            what was to be timed), `raised`, `timeout`, `crashed`.
        reason: in words, with TensorFlow's own message where there is one.
        launch: the launch in which it was seen, or None if it was known before the first.
    """

    case: str
    status: Literal["unsupported", "wrong", "elided", "raised", "timeout", "crashed"]
    reason: str
    launch: int | None = None
