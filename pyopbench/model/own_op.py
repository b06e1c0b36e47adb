"""Your own op: what its file ends with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopbench.model.op import Body, GradientBody


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
