"""The user's own pipeline: the dataset that their function makes, with the stage that calls the body replaced.

While the function runs, calls of `Dataset.map` and of TensorFlow's bridges are intercepted. The map in which a bridge
calls the body is the stage; the rest of the pipeline stays unchanged: reading, parsing, batches and `prefetch`.
"""

from __future__ import annotations

import inspect
import time
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import script_ops

from pyopbench.model.arrangement import AUTOTUNE, CURRENT, Arrangement
from pyopbench.model.errors import BadInput, PyopbenchError, Unsupported, WrongResult
from pyopbench.model.files import load_file
from pyopbench.model.own_target import Target
from pyopbench.ports.arrays import as_array
from pyopbench.ports.extract.module import place_of_user
from pyopbench.ports.rebinding import codes_reached
from pyopbench.worker.pipeline.arrangements import PipelineContext, calls_of, function_of, write_module
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.prepare.checks import require_equal

BRIDGE = "_internal_py_func"
"""The function that every bridge of `script_ops` calls in a graph, even through decorators that were applied before."""
CHECKED_STEPS, CHECKED_SECONDS = 3, 10.0
"""How many elements of the whole pipeline are compared for every arrangement, and how long making them may take."""
PREFETCHED = 2
"""Replaces `prefetch(AUTOTUNE)`, whose buffer would grow at each pause between blocks; a larger buffer does not make
elements come faster."""
ARRANGED = "pyopbench_arranged"
"""An attribute of the stage's dataset: if `batch` is called on it, the stage is moved behind the batch."""

Outputs = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class BodyCode:
    """How the body is recognised among the functions that callbacks call."""

    code: types.CodeType | None
    copied_from: frozenset[tuple[str, int]]  # files and lines of the program, if an op file has a copy of the body

    @classmethod
    def of(cls, body: Any) -> BodyCode:
        """Return what the body of an op is recognised by."""
        code = next(iter(codes_reached(body)), None)
        own = set() if code is None else _places_of(code)
        return cls(code, frozenset(found for one in own if (found := place_of_user(one)) is not None and found != one))

    def is_reached_by(self, function: Any) -> bool:
        """Is the body a function, or one that it calls?"""
        return any(code == self.code or self._is_copy_of(code) for code in codes_reached(function))

    def _is_copy_of(self, code: types.CodeType) -> bool:
        lines = {line for _, line in _places_of(code)}
        parts = Path(code.co_filename).parts
        return any(
            line in lines and parts[-len(Path(file).parts) :] == Path(file).parts for file, line in self.copied_from
        )


def _places_of(code: types.CodeType) -> set[tuple[str, int]]:
    return {(code.co_filename, line) for _, _, line in code.co_lines() if line is not None}


@dataclass(frozen=True)
class InMap:
    """The stage stays a map of elements."""

    outputs_of: Outputs | None  # replaces the callback, from inputs to outputs; None for the unchanged callback
    parallel: int


@dataclass(frozen=True)
class InBatches:
    """The stage gets batches."""

    arrange: Callable[..., tf.data.Dataset]  # of a dataset of batches, as `arrange` of a written file
    batch: int  # elements of a batch if the pipeline makes none after the stage


@dataclass(frozen=True)
class Slots:
    """The positions of inputs and outputs in the elements of a map that only calls the body."""

    inputs: tuple[int, ...]  # in the flat element
    results: tuple[tuple[str, int], ...]  # of each leaf: number of an output, or position in the flat element
    structure: Any  # of the result

    def take(self, *element: Any) -> list[Any]:
        """Return the inputs of an element, or of a batch of them."""
        flat = tf.nest.flatten(element)
        return [flat[place] for place in self.inputs]

    def put(self, outputs: Sequence[Any], *element: Any) -> Any:
        """Return the result of an element, or of a batch of them."""
        flat = tf.nest.flatten(element)
        leaves = [outputs[place] if kind == "output" else flat[place] for kind, place in self.results]
        return tf.nest.pack_sequence_as(self.structure, leaves)


class Program:
    """The pipeline of a user's function.

    Attributes:
        step_elements: how many elements one of its elements contains: the batch size, or 1.
        is_repeatable: does it give the same elements each time, so that values can be compared?
        place: file and line of the stage.
    """

    def __init__(self, text: str, elements: Elements) -> None:
        """Load the function, make its dataset twice and draw some elements from each."""
        with _failing_unchanged(text):
            self.text, self._elements = text, elements
            self._body = BodyCode.of(elements.op.numpy)
            self._path, _, self._name = text.rpartition(":")
            self._make = self._load(again=False)
            dataset, watch = self._made(None)
            if watch.stages != 1:
                raise _no_one_stage(text, watch)
            assert watch.place is not None
            self.place = watch.place
            self.step_elements = max(watch.batches[0] if watch.batches else 1, 1)
            self.reference = _steps_of(dataset)
            if not self.reference:
                raise BadInput(
                    "the dataset of your program is empty",
                    received=text,
                    hint="return the dataset that your training reads",
                )
            again = _steps_of(self._made(None)[0])
        self.is_repeatable = len(again) == len(self.reference) and all(map(_are_same, again, self.reference))
        may_shuffle = watch.is_shuffled or dataset.options().deterministic is False
        self.is_repeatable = self.is_repeatable and not may_shuffle

    def _load(self, *, again: bool) -> Callable[[], tf.data.Dataset]:
        """Return the user's function; with `again` from a new module, without graphs that it made before."""
        path = Path(self._path)
        if again:
            module = load_file(path, f"pyopbench_program_{path.stem}_{time.monotonic_ns()}")
        else:
            module = Target(f"program_{path.stem}", str(path)).load()
        found: Any = getattr(module, self._name, None)
        if not callable(found):
            names = sorted(name for name, value in vars(module).items() if inspect.isfunction(value))
            raise BadInput(
                "no such function in your program",
                received=self.text,
                legal=", ".join(names),
                hint="name the function that returns your tf.data.Dataset: --program train.py:make_dataset",
            )
        make: Callable[[], tf.data.Dataset] = found
        return make

    def _made(self, change: InMap | InBatches | None) -> tuple[tf.data.Dataset, _Watch]:
        watch = _Watch(self._body, self._elements.dtypes, change)
        with watch.installed():
            dataset = self._make()
        if not isinstance(dataset, tf.data.Dataset):
            raise BadInput(
                "the function of your program does not return a dataset",
                received=f"{self.text} returns {type(dataset).__name__}",
                legal="a tf.data.Dataset",
                hint="name a function without arguments that returns the dataset",
            )
        return dataset, watch

    def build(self, change: InMap | InBatches | None) -> tuple[tf.data.Dataset, int]:
        """Return the dataset with its stage changed, repeated endlessly, and how many elements are in its buffers."""
        dataset, watch = self._made(change)
        if change is not None and not watch.is_replaced:
            self._make = self._load(again=True)
            dataset, watch = self._made(change)
            if not watch.is_replaced:
                raise Unsupported("the stage calls the body in a tf.function whose graph is kept")
        # Unless the last stage is a `prefetch`, TensorFlow adds one and chooses its buffer (`inject_prefetch`).
        return dataset.repeat().prefetch(1), watch.prefetched + 1

    def check(self, drawn: Sequence[Sequence[Any]]) -> float:
        """Compare the first elements of the rearranged pipeline with those of the unchanged one.

        Returns:
            The largest error, relative to the largest expected magnitude.
        """
        case, largest = self._elements.case, 0.0
        tolerance = self._elements.op.tolerance[case.dtype]
        for step, (found, expected) in enumerate(zip(drawn, self.reference, strict=False)):
            if len(found) != len(expected):
                raise WrongResult(f"step {step} has {len(found)} components instead of {len(expected)}")
            for place, (one, other) in enumerate(zip(found, expected, strict=True)):
                what = f"component {place} of step {step}"
                if self.is_repeatable:
                    largest = max(largest, require_equal(what, as_array(one), as_array(other), tolerance))
                elif (one.dtype, one.ndim) != (other.dtype, other.ndim):
                    raise WrongResult(f"{what} is {one.dtype}, {one.ndim} axes, not {other.dtype}, {other.ndim}")
        return largest


@contextmanager
def _failing_unchanged(text: str) -> Iterator[None]:
    """Report that the user's program itself fails, before anything in it is changed."""
    try:
        yield
    except PyopbenchError:
        raise
    except Exception as error:  # a program may raise anything
        raise BadInput(
            "your program fails even without changes",
            received=f"{text}: {type(error).__name__}: {error}",
            hint="try to call the function yourself: it must take no arguments and return a tf.data.Dataset",
        ) from error


def change_for(arrangement: Arrangement, context: PipelineContext) -> InMap | InBatches | None:
    """Return how an arrangement changes the stage of a program; None for the unchanged program."""
    if arrangement.key == CURRENT:
        return None
    if arrangement.form == "map":
        return InMap(None, arrangement.parallel)
    module = write_module(arrangement, context)
    more = {"pool": context.pool(arrangement.key)} if arrangement.action == "processes" else {}
    if arrangement.batch:
        return InBatches(partial(module.arrange, **more), arrangement.batch)
    if module is None:
        function = function_of(context.elements, arrangement.variant)
        return InMap(lambda inputs: list(function(*inputs)), arrangement.parallel)
    if arrangement.action == "processes":
        return InMap(partial(module.outputs_of, **more), arrangement.parallel)
    return InMap(partial(call_as_in_a_map, module.outputs_of), AUTOTUNE)


def call_as_in_a_map(outputs_of: Outputs, inputs: list[Any]) -> list[Any]:
    """Call a function of a file as the user's map would: converted by AutoGraph, which TensorFlow's bridges are not."""
    autograph = tf.__internal__.autograph
    found: list[Any] = autograph.tf_convert(outputs_of, autograph.control_status_ctx())(inputs)
    return found


class _Watch:
    """Intercepts calls while the user's function makes its dataset, and changes its stage."""

    def __init__(self, body: BodyCode, dtypes: Sequence[str], change: InMap | InBatches | None) -> None:
        self.stages, self.prefetched, self.is_replaced = 0, 0, False  # stages: maps that call the body
        self.is_shuffled = False  # may the stage give its elements in another order?
        self.others: list[str] = []  # names of callbacks that do not call the body
        self.place: tuple[str, int] | None = None  # file and line of the stage
        self.batches: list[int] = []  # their sizes, behind the stage
        self.body, self._dtypes, self._change = body, dtypes, change
        self._called, self._is_inside = 0, False
        self._originals: dict[str, Any] = {}
        self._instead: Outputs | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Intercept calls while the block runs."""
        dataset = tf.data.Dataset
        names = ("map", "batch", "padded_batch", "prefetch")
        kept = [(dataset, name, getattr(dataset, name)) for name in names]
        kept.append((script_ops, BRIDGE, getattr(script_ops, BRIDGE)))
        self._originals = {name: value for _, name, value in kept}
        try:
            for home, name, value in kept:
                watched = partial(self._bridge, value) if home is script_ops else _method(self, name, value)
                setattr(home, name, watched)
            yield
        finally:
            for home, name, value in kept:
                setattr(home, name, value)

    def _is_body(self, function: Any) -> bool:
        with suppress(Exception):  # it may not be a Python function
            while isinstance(function, partial) or inspect.ismethod(function):
                function = function.func if isinstance(function, partial) else function.__func__
            return self.body.is_reached_by(function)
        return False

    def _bridge(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind(*args, **kwargs).arguments
        function, inputs, wanted = given["func"], given["inp"], given["Tout"]
        if self._is_inside:
            return original(*args, **kwargs)
        if not self._is_body(function):
            self.others.append(str(getattr(function, "__qualname__", function)))
            return original(*args, **kwargs)
        self._called += 1
        if self._instead is None:
            return original(*args, **kwargs)
        inputs = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        self._is_inside = True  # the replacement may be a callback too
        try:
            outputs = self._instead(list(map(tf.convert_to_tensor, inputs)))
        finally:
            self._is_inside = False
        several = isinstance(wanted, list | tuple)
        pairs = zip(outputs, wanted if several else [wanted], strict=True)
        cast = [one if one.dtype == tf.as_dtype(dtype) else tf.cast(one, dtype) for one, dtype in pairs]
        return cast if several else cast[0]

    def _map(self, original: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind(dataset, *args, **kwargs).arguments
        given.pop("self", None)
        change, before = self._change, self._called
        if isinstance(change, InBatches):
            slots = self._slots_of(original, dataset, given["map_func"])
            if self._called == before:
                return original(dataset, **given)
            return self._in_batches(change, slots, dataset, given)
        # Already with the replacement of the callback: a tf.function is traced only once.
        with self._with(None if change is None else change.outputs_of):
            made = original(dataset, **given)
            if self._called == before:
                return made
            self.stages, self.place = self.stages + 1, _caller()
            if change is None:
                self.is_shuffled = given.get("deterministic") is False
                return made
            self.is_replaced = True
            given["num_parallel_calls"] = calls_of(change.parallel)
            if given["num_parallel_calls"] is None:
                given.pop("deterministic", None)
            return original(dataset, **given)

    def _in_batches(self, change: InBatches, slots: Slots | None, dataset: Any, given: dict[str, Any]) -> Any:
        self.stages, self.place = self.stages + 1, _caller()
        if slots is None:
            raise Unsupported(
                "the map does more than call the body, so it cannot be moved behind `batch`; "
                "move everything else into a separate map"
            )
        arrange = partial(change.arrange, take=slots.take, put=slots.put, deterministic=given.get("deterministic"))
        made = arrange(self._originals["batch"](dataset, change.batch)).unbatch()
        setattr(made, ARRANGED, (dataset, arrange))
        self.is_replaced = True
        return made

    @contextmanager
    def _with(self, instead: Outputs | None) -> Iterator[None]:
        self._instead = instead
        try:
            yield
        finally:
            self._instead = None

    def _note_batch(self, original: Any, *args: Any, **kwargs: Any) -> None:
        size = inspect.signature(original).bind(*args, **kwargs).arguments["batch_size"]
        with suppress(TypeError, ValueError):  # a tensor of a graph
            self.batches += [int(size)] if self.stages else []

    def _batch(self, original: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        self._note_batch(original, dataset, *args, **kwargs)
        arranged = getattr(dataset, ARRANGED, None)
        if arranged is None:
            return original(dataset, *args, **kwargs)
        source, arrange = arranged
        return arrange(original(source, *args, **kwargs))

    def _padded_batch(self, original: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        self._note_batch(original, dataset, *args, **kwargs)
        return original(dataset, *args, **kwargs)

    def _prefetch(self, original: Any, dataset: Any, buffer_size: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.stages:  # ahead of the stage
            return original(dataset, buffer_size, *args, **kwargs)
        # With more of them, steps that nobody times would be drawn before each block.
        size = PREFETCHED if int(buffer_size) == AUTOTUNE else min(int(buffer_size), PREFETCHED)
        self.prefetched += size
        return original(dataset, size, *args, **kwargs)

    def _slots_of(self, original: Any, dataset: Any, function: Any) -> Slots | None:
        """Return the positions of inputs and outputs of a map that only calls the body; None for any other map."""
        found: dict[str, Any] = {"inputs": [], "outputs": []}
        plain = getattr(function, "python_function", function)  # a tf.function keeps the graph that it has made

        def instead(inputs: list[Any]) -> list[Any]:
            outputs = [tf.compat.v1.placeholder_with_default(tf.zeros([], one), None) for one in self._dtypes]
            found["inputs"], found["outputs"] = inputs, outputs
            return outputs

        @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
        def noted(*element: Any) -> Any:
            status = tf.__internal__.autograph.control_status_ctx()
            found["element"] = tf.nest.flatten(element)
            found["result"] = tf.__internal__.autograph.tf_convert(plain, status)(*element)
            return found["result"]

        with self._with(instead):
            original(dataset, noted)
        element, result = found["element"], found["result"]
        inputs = [_place_in(one, element) for one in found["inputs"]]
        results: list[tuple[str, int | None]] = []
        for leaf in tf.nest.flatten(result):
            output, place = _place_in(leaf, found["outputs"]), _place_in(leaf, element)
            results.append(("output", output) if output is not None else ("element", place))
        if not found["outputs"] or None in inputs or any(place is None for _, place in results):
            return None
        return Slots(tuple(inputs), tuple(results), result)  # type: ignore[arg-type]


def _method(watch: _Watch, name: str, original: Any) -> Any:
    """Return a method for datasets that calls the watch with the original method and its arguments."""

    def method(dataset: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(watch, f"_{name}")(original, dataset, *args, **kwargs)

    return method


def _place_in(tensor: Any, among: Sequence[Any]) -> int | None:
    """Return the position of a tensor among others, ignoring ops that only declare or check its shape."""
    while True:
        for place, one in enumerate(among):
            if one is tensor:
                return place
        operation = getattr(tensor, "op", None)
        if operation is None or operation.type not in ("Identity", "EnsureShape"):
            return None
        tensor = operation.inputs[0]


def _caller() -> tuple[str, int]:
    """Return the file and line from which a method of a dataset was called."""
    for frame in inspect.stack()[1:]:
        if frame.filename != __file__:
            return frame.filename, frame.lineno
    return "", 0


def _steps_of(dataset: tf.data.Dataset) -> list[list[Any]]:
    """Return some elements of a dataset, each as a flat list of arrays."""
    found: list[list[Any]] = []
    start = time.perf_counter()
    for element in dataset.take(CHECKED_STEPS):
        found.append(flat_arrays(element))
        if time.perf_counter() - start > CHECKED_SECONDS:
            break
    return found


def flat_arrays(element: Any) -> list[Any]:
    """Return an element as a flat list of arrays; ragged and sparse tensors become the arrays that they consist of."""
    return [np.asarray(one) for one in tf.nest.flatten(element, expand_composites=True)]


def _are_same(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return len(found) == len(expected) and all(map(np.array_equal, found, expected))


def _no_one_stage(text: str, watch: _Watch) -> BadInput:
    others = ", ".join(dict.fromkeys(watch.others)) or "none"
    return BadInput(
        f"{watch.stages or 'no'} stages of your program call this function in a callback",
        received=f"{text}; other callbacks: {others}",
        legal="one Dataset.map with tf.numpy_function, tf.py_function or tf.compat.v1.py_func over your function",
        hint="make the op from the function that the callback calls, or name a function whose dataset calls it once; "
        "if the program has changed since advise wrote the op file, run advise again",
    )
