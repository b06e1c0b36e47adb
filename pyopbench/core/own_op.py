"""A team's own op: what its file ends with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopbench.core.op import Body, GradientBody


@dataclass(frozen=True)
class OwnOp:
    """An op of your own, in every body that you have. Only inputs and one body are needed.

    Every body takes the inputs as positional arguments and returns one array or a tuple of arrays, of any dtype and of
    shapes that may depend on the data; text comes and goes as `bytes`.

    Attributes:
        inputs: one example, a tuple of arrays (any shapes, any dtypes); a list of such examples; or, with `sizes`,
            `(size, rng) -> tuple of arrays` with a `numpy.random.Generator`.
        numpy: the body of the current callback, on NumPy arrays.
        py_function: the body of the current `tf.py_function`, on eager tensors; in place of `numpy`.
        tensor: the op in TensorFlow ops.
        python: the op with Python control flow on tensors, for AutoGraph.
        numpy_gradient: `(inputs, outputs, output_gradients) -> gradients` in NumPy: one for each differentiable input,
            of its shape and dtype, from one for each floating output, of the shape and dtype of that.
        tensor_gradient: the same in TensorFlow ops.
        numba: the body compiled by Numba (or to be compiled, if it is a plain function).
        kernel: path of a C++ file, relative to the file of the op.
        differentiable: positions of the inputs that have a gradient, from 0; by default the floating ones, if an output
            is floating and does not jump where the inputs are moved a little; empty for an op that has none.
        sizes: ascending, with `inputs` that is a function; otherwise a size is the number of elements of an
            example's largest input.
        size_unit: what a size counts, in the plural.
        tolerance: largest error of a variant, relative to the largest magnitude of the reference (1e-5 is a hundred
            thousandth); None for what is usual in the dtype.
        summary: one line for people.
        source: where the op comes from.
        keywords: names of the last inputs, where the body takes them by name.
        as_python: the body takes text as `str` and lists as lists, where the inputs have them: what tensors hold of
            them is turned back before each call.
        seed_with: a statement that seeds what the body draws from, `{seed}` in it replaced by a number, such as
            `np.random.seed({seed})`: it runs before each call, in the module of the body, and is timed with it.

    What is wrong with it is found when a worker loads it, and raised as `BadInput` with the line of the file.
    """

    inputs: Any
    numpy: Body | None = None
    py_function: Body | None = None
    tensor: Body | None = None
    python: Body | None = None
    numpy_gradient: GradientBody | None = None
    tensor_gradient: GradientBody | None = None
    numba: Body | None = None
    kernel: str | Path | None = None
    differentiable: tuple[int, ...] | None = None
    sizes: tuple[int, ...] = ()
    size_unit: str = "elements"
    tolerance: float | None = None
    summary: str = ""
    source: str = ""
    keywords: tuple[str, ...] = ()
    as_python: bool = False
    seed_with: str = ""
