"""The parts of a port to `numba_op` around the body: the function that calls it, the op, the function of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyopbench.ports
from pyopbench.ports.porting.body_code import body_name
from pyopbench.ports.porting.facts import Axis, Facts

MODULE = Path(pyopbench.ports.__path__[0]) / "numba_op.py"
"""The code that each port has a copy of. It is read and not imported, because it imports Numba."""

DRAWN_ALIKE = frozenset(
    {
        *("rand", "random", "random_sample", "ranf", "sample", "uniform", "randn", "normal", "standard_normal"),
        *("randint", "choice", "permutation", "shuffle", "binomial", "multinomial", "poisson", "geometric", "zipf"),
        *("exponential", "standard_exponential", "gumbel", "laplace", "logistic", "lognormal", "logseries", "power"),
        *("standard_cauchy", "wald", "weibull"),
    }
)
"""Functions of `numpy.random` whose numbers Numba draws bit for bit after the same seed; of others the same
distributions."""


def call_of_body(facts: Facts, copied: Sequence[int]) -> tuple[str, str]:
    """Return the name of the function that is called with arrays, and its source: empty where that is the body itself.

    Args:
        facts: what the body takes and returns.
        copied: the positions of the inputs that it may write to.
    """
    body = body_name(facts.function)
    if not copied:
        return body, ""
    names = [name for name, _, _ in facts.inputs]
    given = ", ".join(f"{name}.copy()" if place in copied else name for place, name in enumerate(names))
    name = f"{facts.function}_on_copies"
    return (
        name,
        f'''
@numba.njit
def {name}({", ".join(names)}):
    """Call the body with copies of what it may write to: TensorFlow shares the memory of its tensors."""
    return {body}({given})
''',
    )


def call_after_seeding(facts: Facts, body: str) -> tuple[str, str]:
    """Return the name of the function that takes a seed behind the arguments of a body, and its source."""
    names, name = ", ".join(name for name, _, _ in facts.inputs), f"{facts.function}_after_seeding"
    return (
        name,
        f'''
@numba.njit
def {name}({names}, seed):
    """Call the body after seeding: Numba has a generator for each thread."""
    np.random.seed(seed)
    return {body}({names})
''',
    )


def loop_over(
    body: str, inputs: Sequence[str], outputs: Sequence[tuple[str, int]], *, is_tuple: bool
) -> tuple[str, str]:
    """Return the name of the loop over a batch, and its source.

    Args:
        body: the name of the function that is called for each example.
        inputs: names of its arguments.
        outputs: dtype of each output and number of axes of that of an example.
        is_tuple: does it return a tuple?
    """
    name, comma = f"{body}_over_batch", "," if is_tuple and len(outputs) == 1 else ""
    many, results = ([f"{word}_{place}" for place in range(len(outputs))] for word in ("output", "result"))
    made, stored = "", ""
    for one, result, (dtype, rank) in zip(many, results, outputs, strict=True):
        sizes = f"len({inputs[0]}), *{result}.shape" if rank else f"len({inputs[0]}),"
        kind = "bool_" if dtype == "bool" else dtype  # NumPy 1.24 to 1.26 have no `np.bool`
        made += f"    {one} = np.empty(({sizes}), np.{kind})\n    {one}[0] = {result}\n"
        if rank:  # an array of one element would be spread over the place of more
            stored += f"        if {result}.shape != {one}.shape[1:]:\n"
            stored += '            raise ValueError("an example has outputs of another shape")\n'
        stored += f"        {one}[example] = {result}\n"
    return (
        name,
        f'''
@numba.njit
def {name}({", ".join(inputs)}):
    """Return what the body returns for each example of a batch."""
    if not len({inputs[0]}):
        raise ValueError("a batch without examples")
    {", ".join(results)}{comma} = {body}({", ".join(f"{one}[0]" for one in inputs)})
{made}    for example in range(1, len({inputs[0]})):
        {", ".join(results)}{comma} = {body}({", ".join(f"{one}[example]" for one in inputs)})
{stored}    return {", ".join(many)}{comma}
''',
    )


def call_of_gradient(
    facts: Facts, gradient: str, picked: Sequence[int] | None, *, is_writing: bool
) -> tuple[str, str, list[str]]:
    """Return the name of the function of arrays that is the gradient, its source, and the names of its arguments.

    Args:
        facts: what the body takes and returns, for one example.
        gradient: the name of the user's gradient.
        picked: which of its results are by the differentiable inputs; None if that is an array, the only one.
        is_writing: does it write to arrays that it is given?
    """
    inputs = {name: rank for name, _, rank in facts.inputs}
    outputs = {f"found_{place}": len(shape) for place, (_, shape) in enumerate(facts.outputs)}
    incoming = {f"output_gradient_{place}": len(facts.outputs[place][1]) for place in facts.floating}
    groups = [
        "".join(f"{one}.copy(), " if is_writing and rank else f"{one}, " for one, rank in several.items())
        for several in (inputs, outputs, incoming)
    ]
    chosen = "found" if picked is None else f"({', '.join(f'found[{place}]' for place in picked)},)"
    name, names = f"{gradient}_on_arrays", [*inputs, *outputs, *incoming]
    text = f'''
@numba.njit
def {name}({", ".join(names)}):
    """Return the gradients by the differentiable inputs."""
    found = {gradient}({", ".join(f"({one})" for one in groups)})
    return {chosen}
'''
    return name, text, names


def op_text(
    name: str,
    body: str,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, Sequence[Axis | None]]],
    gradient: str = "",
) -> str:
    """Return the statement that makes an op, as arguments of `NumbaOp` have it."""
    sizes = [(dtype, tuple(shape)) for dtype, shape in outputs]
    return f"{name} = NumbaOp({body}, inputs={list(inputs)}, outputs={sizes}, gradient={gradient or None})"


def wrapper(facts: Facts, doc: str, op: str, *, is_seeded: bool = False) -> str:
    """Return the function of tensors, which calls an op; `is_seeded` if that takes a seed, too."""
    names = parameters = ", ".join(name for name, _, _ in facts.inputs)
    draws = ""
    if is_seeded:
        draws = "    if seed is None:\n        seed = tf.random.uniform([], 0, 2**31 - 1, tf.int32)\n"
        names, parameters = f"{names}, seed", f"{names}, seed=None"
    found = f"{op}({names})" if len(facts.outputs) == 1 else f"tuple({op}({names}))"
    return f"def {facts.function}({parameters}):\n    {doc}\n{draws}    return {found}"
