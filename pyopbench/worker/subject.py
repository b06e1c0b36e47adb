"""What probes are made of: the nouns `Probe` and `Subject`, and what a probe can find.

A probe tries one thing with one variant on the TensorFlow that is running. It returns what it saw where that works,
lets TensorFlow's own error through where it fails, and raises `Differs` where something wrong comes without an error.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.failures import describe_error
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.kernels.compiler import library_of
from pyopbench.ops.kernels.load_library import load_custom_ops
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.late_keras import import_tensorflow

FRESH_PEER = "fresh"
"""The peer in which no callback is ever made: what a server or another program is to a model."""

PEER_SECONDS = 60.0
"""How long a peer may take for one call, its start included; less than a worker may be silent."""


@dataclass(frozen=True)
class Raised(Exception):
    """What a function raised in a peer; `told` in one line, `words` as they were."""

    told: str
    words: str

    def __str__(self) -> str:
        return self.words


def call_in_peer(peer: str, libraries: Sequence[str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a peer and return its result; all of them have to be what pickle knows.

    Args:
        peer: its name; it is started where it is not there yet.
        libraries: files of custom ops that the process has to load before.
        function: of a module, by which the peer finds it.
        arguments: for the function.

    Raises:
        Raised: the function raised, or the process ended or was silent for too long.
    """
    try:
        done, result = _pool(peer).submit(_guarded, tuple(libraries), function, arguments).result(PEER_SECONDS)
    except (BrokenProcessPool, TimeoutError) as error:
        _pool.cache_clear()
        told = f"the other process ended, or was silent for {PEER_SECONDS:g} s: {type(error).__name__}"
        raise Raised(told, f"{told}: {error}") from error
    if not done:
        raise Raised(*result)
    return result


@cache
def _pool(peer: str) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), import_tensorflow)


def _guarded(libraries: Sequence[str], function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[bool, Any]:
    try:
        for library in libraries:
            load_custom_ops(Path(library))
        return True, function(*arguments)
    except Exception as error:  # noqa: BLE001 - anything may be raised; not every error of TensorFlow can be pickled
        return False, (describe_error(error), f"{type(error).__name__}: {error}")


Status: TypeAlias = Literal["works", "fails", "silently wrong", "does not apply"]

VALUES = (-1.5, 0.5, 1.0, 2.0)
"""What the op is given: of both signs, and apart from 0, where every derivative of a cube is 0."""

TOLERANCE = 1e-4
"""Relative; wrong gradients lack a whole term, which is more than a tenth of each number here."""


class Fails(Exception):
    """What was tried fails, in the words of the probe; TensorFlow has none for it."""


class Differs(Exception):
    """Something else came out than should, and nothing said so: silently wrong."""


class Inapplicable(Exception):
    """There is nothing to try with this variant; the reason."""


@dataclass(frozen=True)
class Seen:
    """What a probe saw that works: a remark, and figures by name, with the unit in the name."""

    remark: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


def python_body(x: Any) -> Any:
    """Return x cubed, `(n,)`, behind an `if` on a tensor, for AutoGraph."""
    if tf.reduce_max(x) < 1e6:
        return x**3
    else:
        return x * x * x


@dataclass(frozen=True)
class Subject:
    """A variant that is probed.

    Attributes:
        variant: the variant.
        gradient: the mechanism that its gradient is attached by.
        folder: an empty folder for what the probe writes.
    """

    variant: Variant
    gradient: str
    folder: Path

    @cached_property
    def op(self) -> Op:
        """x**3, with every body that a variant may need; its second derivative is not 0."""
        return replace(load_op("cube"), python=python_body)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the op is given, as new arrays."""
        return (self.numbers,)

    @property
    def tensors(self) -> tuple[Any, ...]:
        """What the op is given, as new tensors."""
        return (self.x,)

    @property
    def given(self) -> tuple[tf.TensorSpec, ...]:
        """Shape and dtype of each input."""
        return (tf.TensorSpec([len(VALUES)], tf.float32),)

    def require_values(self, what: str, found: Any) -> None:
        """Check what was computed of the inputs, one tensor or array or a sequence of them.

        Raises:
            Differs: it is something else than should be.
        """
        (values,) = as_tuple(found)
        require_equal(what, values, self.expected)

    @property
    def x(self) -> Any:
        """The input as a new tensor, `(4,) float32`."""
        return tf.constant(VALUES, tf.float32)

    @property
    def numbers(self) -> Any:
        """The input as a new array, `(4,) float32`."""
        return np.array(VALUES, np.float32)

    @property
    def expected(self) -> Any:
        """The values of the op, `(4,) float64`."""
        return np.array(VALUES) ** 3

    @property
    def is_python(self) -> bool:
        """Does Python run in it each time the graph does, so that a body can be put in its place?"""
        return self.variant.runs_python

    @property
    def given_tensors(self) -> bool:
        """Is its body, where it is Python, given tensors rather than arrays?"""
        return self.variant.body in ("tensor", "python")

    @property
    def libraries(self) -> tuple[str, ...]:
        """The files of custom ops that another process has to load for it."""
        return (str(library_of(self.op.kernel)),) if self.variant.body == "kernel" and self.op.kernel else ()

    def require_python(self) -> None:
        """Check that Python runs in it.

        Raises:
            Inapplicable: it does not, or it is compiled by Numba.
        """
        if not self.variant.is_callback:
            raise Inapplicable("no Python runs in it when the graph runs")
        if not self.is_python:
            raise Inapplicable("its body is machine code; what calls it is numpy_function")

    def build(self, body: Body | None = None, gradient: str | None = None) -> Body:
        """Return the op in this variant, of tensors.

        Args:
            body: what to compute instead of the cube, of arrays or tensors as `given_tensors` tells.
            gradient: the mechanism of its gradient; the subject's own if None.
        """
        op = self.op if body is None else replace(self.op, **{self.variant.body: body})  # type: ignore[arg-type]
        name = self.gradient if gradient is None else gradient
        direction = "forward" if name == NO_GRADIENT else "forward_backward"
        built: Body = self.variant.build(op, self.case(name, direction))
        return built

    def case(self, gradient: str, direction: str) -> Case:
        """Return the case that it is built for."""
        return Case(self.op.name, self.variant.name, gradient, direction, "call", "float32", 1)

    def function(self, body: Body | None = None, gradient: str | None = None, **options: Any) -> Any:
        """Return `build` as a `tf.function`, with the variant's own options and `options`."""
        return tf.function(self.build(body, gradient), **{**self.variant.function_options, **options})

    def elsewhere(self, function: Callable[..., Any], *arguments: Any, peer: str = FRESH_PEER) -> Any:
        """Return what a module's function returns in another process, in which the custom op is loaded.

        Raises:
            Raised: it raised there.
        """
        return call_in_peer(peer, self.libraries, function, *arguments)


@dataclass(frozen=True)
class Probe:
    """Something to try with a variant.

    Attributes:
        summary: what is tried, in a few words.
        run: tries it; returns what it saw, raises `Differs` if what came out is silently wrong, `Inapplicable` if there
            is nothing to try, and anything else if it fails.
    """

    summary: str
    run: Callable[[Subject], Seen]


def load_subject(name: str, gradient: str, folder: Path) -> Subject:
    """Return the subject of a variant.

    Raises:
        Inapplicable: the variant cannot be here; with its reason.
    """
    subject = Subject(load_variant(name), gradient, folder)
    reason = subject.variant.unsupported(subject.op, subject.case(gradient, "forward_backward"))
    if reason:
        raise Inapplicable(reason)
    return subject


def require_equal(what: str, found: Any, expected: Any) -> None:
    """Check values or a gradient.

    Raises:
        Differs: they differ, or there are none; with what was found.
    """
    if found is None:
        raise Differs(f"{what} is None, without an error")
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape or not np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE):
        raise Differs(f"{what} is {_numbers(found)} and should be {_numbers(expected)}, without an error")


def _numbers(array: Any) -> str:
    return np.array2string(np.asarray(array, np.float64), precision=4, separator=", ", threshold=8)


def gradient_of(function: Body, x: Any) -> Any:
    """Return the gradient of the sum of `function(x) + x**2` by x: what lacks the function's part is 2 x."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x) + x * x
    return tape.gradient(y, x)


def first_derivative(x: Any = VALUES) -> Any:
    """Return the gradient that `gradient_of` should find for a cube, `(4,) float64`."""
    return 3 * np.array(x) ** 2 + 2 * np.array(x)
