"""Draws: calls that draw random numbers, the distributions they draw from, and TensorFlow's expressions for the same.

TensorFlow draws with a `tf.random.Generator`. In `Dataset.map`, functions such as `tf.random.uniform` return the same
numbers in each epoch once `tf.random.set_seed` was called, because each iterator has its own copy of the op (TensorFlow
2.21).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import stats

from pyopbench.advise.known_values import KnownValue

EXTREMES = (0.002, 0.998)
"""Quantiles of the first examples of all draws of a body, so that rare conditions are met, also several together."""

EXAMPLES = 4
"""Examples of the draws of a body: one for each of `EXTREMES`, and random ones, in which the draws differ."""

GENERATOR = "generator_of_draws"
"""The function that returns TensorFlow's generator, in the port's file."""

Family: TypeAlias = Literal["uniform", "normal", "integers"]


@dataclass(frozen=True)
class Distribution:
    """The distribution that a function draws from, and the parameters of the function.

    Attributes:
        family: `uniform` and `normal` draw floats, `integers` whole numbers below the second parameter.
        names: of the function's parameters in order; `size` is the shape of what is drawn.
        defaults: of the two parameters of the family, where a call does not give them.
        is_closed: can the second parameter of `integers` be drawn too?
        has_sizes: is each argument a length, as in `np.random.rand(3, 4)`?
    """

    family: Family
    names: tuple[str, ...] = ()
    defaults: tuple[float, float] = (0, 1)
    is_closed: bool = False
    has_sizes: bool = False


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "numpy.random.uniform": Distribution("uniform", ("low", "high", "size")),
    "numpy.random.rand": Distribution("uniform", has_sizes=True),
    **dict.fromkeys(
        [f"numpy.random.{name}" for name in ("random", "random_sample", "ranf", "sample")],
        Distribution("uniform", ("size",)),
    ),
    "numpy.random.randn": Distribution("normal", has_sizes=True),
    "numpy.random.standard_normal": Distribution("normal", ("size",)),
    "numpy.random.normal": Distribution("normal", ("low", "high", "size")),
    "numpy.random.randint": Distribution("integers", ("low", "high", "size"), (0, 0)),
    "random.random": Distribution("uniform"),
    "random.uniform": Distribution("uniform", ("low", "high")),
    "random.gauss": Distribution("normal", ("low", "high")),
    "random.normalvariate": Distribution("normal", ("low", "high")),
    "random.randint": Distribution("integers", ("low", "high"), (0, 0), is_closed=True),
    "random.randrange": Distribution("integers", ("low", "high"), (0, 0)),
}
"""Each draws as its documentation says: https://numpy.org/doc/stable/reference/random/legacy.html and
https://docs.python.org/3/library/random.html. For `normal`, `low` is the mean and `high` the standard deviation."""

OTHER_NAMES = {"loc": "low", "scale": "high", "a": "low", "b": "high", "mu": "low", "sigma": "high"}
"""Other names of these parameters, for arguments that are given by name."""

CHOICE = ("numpy.random.choice", "random.choice")


@dataclass(frozen=True)
class Draw:
    """One call in a body that draws random numbers.

    Attributes:
        name: the new parameter of the body.
        family: of the distribution.
        low, high: the parameters of the distribution.
        shape: of an array; None for a number.
    """

    name: str
    family: Family
    low: KnownValue
    high: KnownValue
    shape: KnownValue | None

    @property
    def tensor(self) -> str:
        """The TensorFlow expression that draws the same; its tensors have the names of the inputs."""
        dtype = "tf.int64" if self.family == "integers" else "tf.float64"
        function = "normal" if self.family == "normal" else "uniform"
        shape = "[]" if self.shape is None else self.shape.tensor
        parameters = [
            one.tensor if one.is_constant or self.family == "integers" else f"tf.cast({one.tensor}, tf.float64)"
            for one in (self.low, self.high)
        ]
        return f"{GENERATOR}().{function}({shape}, {', '.join(parameters)}, {dtype})"

    def example(self, inputs: Mapping[str, Any], number: int, place: int) -> Any:
        """Return an example of what is drawn.

        Args:
            inputs: of the body by name; arrays.
            number: of the example.
            place: position of the draw among those of the body.
        """
        low, high = self.low.value(inputs), self.high.value(inputs)
        dtype = np.int64 if self.family == "integers" else np.float64
        shape = () if self.shape is None else self.shape.value(inputs)
        quantile = np.random.default_rng([number, place]).random(shape)
        if number < len(EXTREMES):  # of an array, half of the elements
            quantile = np.where((quantile < 0.5) | (self.shape is None), EXTREMES[number], quantile)
        if self.family == "normal":
            return np.asarray(low + high * stats.norm.ppf(quantile), dtype)
        value = low + quantile * (high - low)
        return np.asarray(np.floor(value) if self.family == "integers" else value, dtype)

    def repeated(self, number: int) -> Draw:
        """Return the draw of a loop with a number of iterations: an array with one element for each."""
        shape = self.shape
        if shape is None:
            tensor = f"[{number}]"
        elif shape.tensor.startswith("[") and shape.tensor != "[]":
            tensor = f"[{number}, {shape.tensor[1:]}"
        else:
            tensor = f"tf.concat([[{number}], {shape.tensor}], 0)"
        return replace(
            self,
            shape=KnownValue(tensor, lambda inputs: [number, *(() if shape is None else shape.value(inputs))]),
        )
