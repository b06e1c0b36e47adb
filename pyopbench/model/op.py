"""An op, written once in every body that it has, and what an op of your own adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pyopbench.model.case import DTYPES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

CASE_DTYPE = "dtype"
"""Stands in `Op.outputs` for an output that has the dtype of the case."""


SEED = 0
"""What a body that draws random numbers is seeded with before each call, and a port of it."""

FLOATING = ("float16", "float32", "float64")
"""Dtypes of outputs that a gradient flows back through."""

Body: TypeAlias = Callable[..., Any]
"""Arrays or tensors by position, of any shapes -> one, or a tuple of them."""

GradientBody: TypeAlias = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]
"""`(inputs, outputs, output_gradients) -> gradients`. An output gradient has the shape and dtype of its floating
output, a gradient those of its differentiable input."""


@dataclass(frozen=True)
class Own:
    """What a user's own op has in addition to what every op has.

    With `py_function`, `Op.numpy` is that body between two conversions, and serves only as the reference. If it
    computes with NumPy alone, `Op.numpy` is a copy of it that takes arrays, and is a NumPy body like any.
    """

    py_function: Body | None = None  # the body of the current `tf.py_function`, on eager tensors, without a NumPy body
    computes_on_arrays: bool = False
    refused: Any = None  # the `CannotPort` that prevents a copy, although the body computes with arrays as well
    tried: frozenset[str] = frozenset()  # bodies that nobody wrote for this op, so that their failure is no error
    fixed_sizes: bool = False  # it exists only at `Op.sizes`, because its inputs are examples
    is_random: bool = False  # the body draws random numbers, so that it is seeded before each call
    keywords: tuple[str, ...] = ()  # names of the last inputs, which the user's function takes by name


@dataclass(frozen=True)
class Op:
    """One operation, written once in every body that it has.

    Every body takes the arrays or tensors of `make_inputs` as positional arguments and returns one array or a tuple.

    Attributes:
        make_inputs: `(size, dtype, rng) -> tuple of ndarrays`, of any shapes; `size` counts what `size_unit` says, and
            floating inputs are of `dtype`, `float32` or `float64`.
        numpy: the NumPy body; also the reference that every variant is checked against: in shapes, dtypes and values.
        numpy_gradient: `(inputs, outputs, output_gradients) -> gradients`; one gradient of an output for each
            floating output, one result for each differentiable input, in order, NumPy arrays throughout.
        tensor_gradient: the gradient in TensorFlow ops, in the form of `numpy_gradient`.
        kernel: C++ source of a custom op, in the form that `pyopbench.ops.kernels.register` describes.
        largest: for a body that is slow by design (a loop over elements), the largest size it is measured at.
        not_ported: variants that cannot be written for this op, each with the reason: finding it out takes seconds.
    """

    name: str  # of the file that defines the op, and the key everywhere
    summary: str  # one line for people
    source: str  # where the op or its formula comes from
    make_inputs: Callable[[int, str, np.random.Generator], tuple[Array, ...]]
    numpy: Body
    sizes: tuple[int, ...]  # of a full run, ascending
    quick_sizes: tuple[int, ...]  # of `--quick`; a subset of `sizes`
    size_unit: str = "elements"  # what a size counts, in the plural
    dtypes: tuple[str, ...] = DTYPES
    outputs: tuple[str, ...] = (CASE_DTYPE,)  # a dtype for each output, `CASE_DTYPE` for that of the case
    differentiable: tuple[int, ...] = (0,)  # positions of the inputs that have a gradient
    numpy_gradient: GradientBody | None = None
    tensor: Body | None = None  # in TensorFlow ops
    tensor_gradient: GradientBody | None = None
    python: Body | None = None  # with Python control flow on tensors, for AutoGraph; None without control flow
    kernel: Path | None = None
    largest: Mapping[str, int] = field(default_factory=dict)
    not_ported: Mapping[str, str] = field(default_factory=dict)
    # For each dtype the largest allowed error, relative to the largest magnitude of the reference.
    tolerance: Mapping[str, float] = field(default_factory=lambda: {"float32": 1e-5, "float64": 1e-12})
    own: Own | None = None

    @property
    def is_own(self) -> bool:
        """Is it a user's own op, for which ports are tried automatically?"""
        return self.own is not None

    @property
    def py_function(self) -> Body | None:
        """The body of an own op's `tf.py_function`, if it has that instead of a NumPy body."""
        return None if self.own is None else self.own.py_function

    @property
    def is_on_tensors(self) -> bool:
        """Is the NumPy body only the reference, because the user's computes with TensorFlow?"""
        return self.own is not None and self.own.py_function is not None and not self.own.computes_on_arrays

    def exists_at(self, size: int) -> bool:
        """Can inputs of this size be made? An op of one size, or of examples, has only its own sizes."""
        fixed = len(self.sizes) == 1 or (self.own is not None and self.own.fixed_sizes)
        return not fixed or size in self.sizes

    @property
    def has_gradient(self) -> bool:
        """Is a gradient defined? If not, the current callback has none."""
        return bool(self.differentiable) and not self.lacks_gradient

    @property
    def lacks_gradient(self) -> bool:
        """Is it differentiable without a gradient being defined? Only an own op can be."""
        brings = self.numpy_gradient is not None or self.tensor_gradient is not None or self.is_on_tensors
        return bool(self.differentiable) and self.is_own and not brings

    def output_dtypes(self, dtype: str) -> tuple[str, ...]:
        """Return the dtype of each output for a case of `dtype`."""
        return tuple(dtype if output == CASE_DTYPE else output for output in self.outputs)

    @property
    def floating_outputs(self) -> tuple[int, ...]:
        """The positions of the outputs that a gradient flows back through."""
        return tuple(i for i, output in enumerate(self.outputs) if output == CASE_DTYPE or output in FLOATING)


@dataclass(frozen=True)
class OwnOp:
    """Your own op, in every body that you have. You need only inputs and one body.

    Every body takes the inputs as positional arguments and returns one array or a tuple of arrays, of any dtype and of
    shapes that may depend on the data; text comes and goes as `bytes`.

    Attributes:
        inputs: one example, a tuple of arrays (any shapes, any dtypes); a list of such examples; or, with `sizes`, a
            function `(size, rng) -> tuple of arrays`, where `rng` is a `numpy.random.Generator`.
        numpy: the body of your current callback, on NumPy arrays.
        py_function: the body of your current `tf.py_function`, on eager tensors; give it instead of `numpy`. Where it
            computes with NumPy, even if it also uses operators on tensors, ports are made from it as from `numpy`.
        tensor: the op in TensorFlow ops.
        python: the op with Python control flow on tensors, for AutoGraph.
        numpy_gradient: `(inputs, outputs, output_gradients) -> gradients` in NumPy. There is one output gradient for
            each floating output, of its shape and dtype, and one gradient for each differentiable input, likewise; the
            only one may be returned by itself.
        tensor_gradient: the same in TensorFlow ops.
        kernel: path of a C++ file, relative to the file of the op.
        differentiable: positions of the inputs that have a gradient, from 0; empty if the op has none. Default: the
            floating inputs, if an output is floating and does not jump when the inputs change slightly.
        sizes: in ascending order, if `inputs` is a function. Otherwise the size of an example is the number of
            elements of its largest input.
        size_unit: what a size counts, in the plural.
        tolerance: largest allowed error of a variant, relative to the largest magnitude of the reference; None for
            the default of the dtype. Of complex numbers each part is compared.
        summary: one line for people.
        source: where the op comes from.
        copied: which lines of the file were copied from a program, as `advise` writes it: first line, number of lines,
            file of the program and line there. Messages then name the lines of the program.
        keywords: names of the last inputs, if the body takes them by name.
        as_python: True if the body takes text as `str` and lists as lists; tensors are converted back before each call.
        baseline: the variant that your program has today, such as `"py_function_numpy"`, for commands without
            --baseline. Write it as plain text, because it is read without running the file. Default:
            `numpy_function`, or `py_function_numpy` with `py_function`.
        seed_with: a statement that seeds the random numbers of the body, with `{seed}` for the number, such as
            `np.random.seed({seed})`. It runs before each call, in the module of the body, and is timed with it.

    A mistake in it is found when a worker loads it, and raised as `BadInput` with the line of the file.
    """

    inputs: Any
    numpy: Body | None = None
    py_function: Body | None = None
    tensor: Body | None = None
    python: Body | None = None
    numpy_gradient: GradientBody | None = None
    tensor_gradient: GradientBody | None = None
    kernel: str | Path | None = None
    differentiable: tuple[int, ...] | None = None
    sizes: tuple[int, ...] = ()
    size_unit: str = "elements"
    tolerance: float | None = None
    summary: str = ""
    source: str = ""
    copied: tuple[tuple[int, int, str, int], ...] = ()
    keywords: tuple[str, ...] = ()
    as_python: bool = False
    baseline: str = ""
    seed_with: str = ""
