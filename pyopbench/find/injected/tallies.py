"""What is counted of a program's callbacks: sites, calls, seconds, and shapes and dtypes of inputs.

Standard library only, because it is loaded into whatever program is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

MOST_SHAPES = 1000
"""Different shapes that are distinguished at a site, so that a program of ragged batches cannot fill the memory."""

GENERATED = "__autograph_generated_file"
"""Begins the names of the files that AutoGraph writes (tensorflow/python/autograph/pyct/loader.py)."""

CONVERTED = "outer_factory.<locals>.inner_factory.<locals>."
"""Begins the names of the functions in them (tensorflow/python/autograph/pyct/transpiler.py)."""

FROM_GENERATOR = "tf.data.Dataset.from_generator"
"""The body of a line that gives a pipeline a Python generator: TensorFlow calls that by functions of its own."""


class Tally:
    """Calls of one body in one direction; the counts are those of `usage.Cost`."""

    __slots__ = ("calls", "raised", "seconds")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin from zero, as a forked process has to."""
        self.calls = self.raised = 0
        self.seconds = 0.0


class Site:
    """A line that makes callbacks, in one kind and mode, and what was counted there.

    Attributes:
        key: file, line, function, kind and mode (`eager` or `graph`).
        body: name of the first function that was called back.
        in_input: is it made within a function of a `tf.data` pipeline?
        gradient: of py_function's own tape.
        shapes: shape and dtype of each input -> calls and seconds.
    """

    __slots__ = ("body", "forward", "gradient", "in_input", "key", "shapes")

    def __init__(self, key: tuple[str, int, str, str, str], body: str, *, in_input: bool = False) -> None:
        self.key = key
        self.body = body
        self.in_input = in_input
        self.forward, self.gradient = Tally(), Tally()
        self.shapes: dict[Any, list[float]] = {}

    def reset(self) -> None:
        """Begin from zero."""
        self.forward.reset()
        self.gradient.reset()
        self.shapes.clear()

    def as_dict(self, name_dtype: Callable[[Any], str]) -> dict[str, Any]:
        """Return what was counted as plain data; `name_dtype` is given what the keys of `shapes` hold for a dtype."""

        def inputs_of(key: Any) -> list[dict[str, Any]] | None:
            return None if key is None else [{"shape": shape, "dtype": name_dtype(dtype)} for shape, dtype in key]

        return {
            **dict(zip(("file", "line", "function", "kind", "mode"), self.key, strict=True)),
            "body": self.body,
            "in_input": self.in_input,
            **{
                name: {"calls": tally.calls, "raised": tally.raised, "seconds": tally.seconds}
                for name, tally in (("forward", self.forward), ("gradient", self.gradient))
            },
            "shapes": [
                {"inputs": inputs_of(key), "calls": row[0], "seconds": row[1]} for key, row in self.shapes.items()
            ],
        }


MARK = "pyopbench_tally"
"""Attribute of a counted function: the tally that it adds to."""

Event: TypeAlias = "tuple[Tally, Site | None, Any, float, float, bool]"
"""A call: what it adds to; its site (None without shapes); its inputs; its start, its end; did it raise?"""


def add(event: Event) -> None:
    """Add a call to its tally and to the shapes of its site."""
    tally, site, key, start, end, raised = event
    seconds = end - start
    tally.calls += 1
    tally.seconds += seconds
    if raised:
        tally.raised += 1
    if site is not None:
        row = site.shapes.get(key)
        if row is None:
            row = site.shapes.setdefault(key if len(site.shapes) < MOST_SHAPES else None, [0, 0.0])
        row[0] += 1
        row[1] += seconds


def name_of(function: Any) -> str:
    """Return the name of a function as its program has it, also of one that AutoGraph made."""
    if str(getattr(function, "__module__", "")).startswith("tensorflow.python.data."):
        return FROM_GENERATOR
    named = getattr(function, "func", function)  # of a functools.partial
    name: str = getattr(named, "__qualname__", type(named).__name__)
    return name.replace(CONVERTED, "").removeprefix("tf__")


def describe_nothing(arguments: Sequence[Any]) -> None:
    """Return no key, where shapes do not count."""


def describe_arrays(arguments: Sequence[Any]) -> Any:
    """Return shape and dtype of each array, as a key."""
    return tuple([(getattr(one, "shape", None), getattr(one, "dtype", None)) for one in arguments])


def describe_tensors(arguments: Sequence[Any]) -> Any:
    """Return shape and dtype of each eager tensor, as a key."""
    try:  # a tenth of what `shape` and `dtype` of an eager tensor take
        return tuple([(one._shape_tuple(), one._datatype_enum()) for one in arguments])
    except AttributeError:  # a ragged or sparse tensor, a variable
        return tuple([(_plain_shape(one), str(getattr(one, "dtype", None))) for one in arguments])


def _plain_shape(value: Any) -> tuple[int, ...] | None:
    try:
        return tuple(int(length) for length in value.shape)
    except (AttributeError, TypeError, ValueError):
        return None
