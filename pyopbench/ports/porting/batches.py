"""A port that takes a batch of examples, as source: what it is called with, and the call of `Dataset.map`."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyopbench.model.op import Op
from pyopbench.ports.arrays import as_array, as_given, as_tuple
from pyopbench.ports.porting.facts import Facts, docstring, examples_of
from pyopbench.ports.porting.refusal import CannotPort

BATCH = 32
"""Examples of a batch in what is shown."""

LEADING = "The first axis of each argument and of each result is that of the examples of a batch"


def require_fixed_shapes(op: Op) -> None:
    """Look whether examples of one shape have outputs of one shape."""
    shapes: dict[Any, Any] = {}
    for example in examples_of(op, 1):
        found = [as_array(one).shape for one in as_tuple(op.numpy(*as_given(example)))]
        if shapes.setdefault(str([one.shape for one in example]), found) != found:
            raise CannotPort(
                "an output has a different length for each example, so a batch of them is not a tensor",
                fix="give it a fixed length",
            )


def stacked(examples: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return batches of two, each of an example twice."""
    return [tuple(np.stack([one, one]) for one in example) for example in examples]


def of_batch(facts: Facts, function: str) -> Facts:
    """Return the facts of a port that takes a batch and has this name, from those of its body for one example."""
    inputs = tuple((name, dtype, rank + 1) for name, dtype, rank in facts.inputs)
    outputs = tuple((dtype, (None, *(None for _ in shape))) for dtype, shape in facts.outputs)
    return replace(facts, function=function, inputs=inputs, outputs=outputs)


def mapped(text: str, facts: Facts, batch: Facts, keywords: Sequence[str]) -> str:
    """Return the module of a port with a function added that maps it over a batch; `with_layer` adds the imports."""
    names = [name for name, _, _ in facts.inputs]
    rows = ", ".join([*names[: len(names) - len(keywords)], *(f"{name}={name}" for name in keywords)])
    doc = docstring(f"`{facts.function}` of each example of a batch.", batch, f"{LEADING}.", [])
    shown = f"In a pipeline:\n\n    {dataset_call(batch, ())}"
    body = textwrap.indent(shown, "    ", lambda line: bool(line.strip()))
    doc = doc.replace("\n\n    Args:", f"\n\n{body}\n\n    Args:", 1)
    return f"""{text}

def {batch.function}({", ".join(names)}):
    {doc}

    def of_one({", ".join(names)}):
        return {facts.function}({rows})

    arguments = ({", ".join(names)}{"," if len(names) == 1 else ""})
    # A loop in its place, which TensorFlow falls back to by itself, is slower than a callback.
    return tf.vectorized_map(lambda row: of_one(*row), arguments, fallback_to_while_loop=False)
"""


def dataset_call(facts: Facts, keywords: Sequence[str]) -> str:
    """Return the call of `Dataset.map` that goes with a port of a batch."""
    names = [name for name, _, _ in facts.inputs]
    function = facts.function
    if keywords:
        given = ", ".join([*names[: len(names) - len(keywords)], *(f"{name}={name}" for name in keywords)])
        function = f"lambda {', '.join(names)}: {facts.function}({given})"
    return f"dataset.batch({BATCH}, drop_remainder=True).map({function}, num_parallel_calls=tf.data.AUTOTUNE)"
