"""The parts of a port to `numba_op` around the body: the function that calls it, the op, the function of tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pyopbench.ports
from pyopbench.ports.porting.body_code import body_name
from pyopbench.ports.porting.facts import Axis, Facts

MODULE = Path(pyopbench.ports.__path__[0]) / "numba_op.py"
"""The code that each port has a copy of. It is read and not imported, because it imports Numba."""

CALLS = '''
@numba.njit
def {name}({inputs}):
    """Call the body with copies of what it may write to: TensorFlow shares the memory of its tensors."""
    return {body}({given})
'''

SEEDED = '''
@numba.njit
def {name}({inputs}, seed):
    """Call the body after seeding: Numba has a generator for each thread."""
    np.random.seed(seed)
    return {body}({inputs})
'''

LOOP = '''
@numba.njit
def {name}({inputs}):
    """Return what the body returns for each example of a batch."""
    if not len({first}):
        raise ValueError("a batch without examples")
    {results} = {body}({first_rows})
    {made}
    for example in range(1, len({first})):
        {results} = {body}({rows})
        {stored}
    return {outputs}
'''

GRADIENT = '''
@numba.njit
def {name}({inputs}):
    """Return the gradients by the differentiable inputs."""
    found = {gradient}({groups})
    return {picked}
'''

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

OP = """
{name} = NumbaOp(
    {body},
    inputs={inputs},
    outputs={outputs},{gradient}
)
"""


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
    return name, CALLS.format(name=name, inputs=", ".join(names), body=body, given=given)


def call_after_seeding(facts: Facts, body: str) -> tuple[str, str]:
    """Return the name of the function that takes a seed behind the arguments of a body, and its source."""
    names = [name for name, _, _ in facts.inputs]
    name = f"{facts.function}_after_seeding"
    return name, SEEDED.format(name=name, inputs=", ".join(names), body=body)


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
    name = f"{body}_over_batch"
    many, results = ([f"{word}_{place}" for place in range(len(outputs))] for word in ("output", "result"))
    made, stored = [], []
    for one, result, (dtype, rank) in zip(many, results, outputs, strict=True):
        sizes = f"len({inputs[0]}), *{result}.shape" if rank else f"len({inputs[0]}),"
        kind = "bool_" if dtype == "bool" else dtype  # NumPy 1.24 to 1.26 have no `np.bool`
        made += [f"{one} = np.empty(({sizes}), np.{kind})", f"{one}[0] = {result}"]
        # An array of one element would be spread over the place of more.
        if rank:
            stored.append(f"if {result}.shape != {one}.shape[1:]:")
            stored.append('    raise ValueError("an example has outputs of another shape")')
        stored.append(f"{one}[example] = {result}")
    rows = [f"{one}[example]" for one in inputs]
    return name, LOOP.format(
        name=name,
        inputs=", ".join(inputs),
        first=inputs[0],
        results=", ".join(results) + ("," if is_tuple and len(results) == 1 else ""),
        body=body,
        first_rows=", ".join(f"{one}[0]" for one in inputs),
        rows=", ".join(rows),
        made="\n    ".join(made),
        stored="\n        ".join(stored),
        outputs=", ".join(many) + ("," if is_tuple and len(many) == 1 else ""),
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
    inputs = [name for name, _, _ in facts.inputs]
    outputs = [f"found_{place}" for place in range(len(facts.outputs))]
    incoming = [f"output_gradient_{place}" for place in facts.floating]
    ranks = [rank for _, _, rank in facts.inputs] + [len(shape) for _, shape in facts.outputs]
    ranks += [len(facts.outputs[place][1]) for place in facts.floating]
    names = [*inputs, *outputs, *incoming]
    given = [f"{one}.copy()" if is_writing and rank else one for one, rank in zip(names, ranks, strict=True)]
    ends = [0, len(inputs), len(inputs) + len(outputs), len(names)]
    groups = [f"({', '.join(given[first:last])},)" for first, last in itertools.pairwise(ends)]
    chosen = "found" if picked is None else f"({', '.join(f'found[{place}]' for place in picked)},)"
    name = f"{gradient}_on_arrays"
    text = GRADIENT.format(
        name=name, inputs=", ".join(names), gradient=gradient, groups=", ".join(groups), picked=chosen
    )
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
    return OP.format(
        name=name,
        body=body,
        inputs=list(inputs),
        outputs=sizes,
        gradient=f"\n    gradient={gradient}," if gradient else "",
    )


def wrapper(facts: Facts, doc: str, op: str, *, is_seeded: bool = False) -> str:
    """Return the function of tensors, which calls an op; `is_seeded` if that takes a seed, too."""
    names = ", ".join(name for name, _, _ in facts.inputs)
    draws, parameters = "", names
    if is_seeded:
        draws = "    if seed is None:\n        seed = tf.random.uniform([], 0, 2**31 - 1, tf.int32)\n"
        names, parameters = f"{names}, seed", f"{names}, seed=None"
    found = f"{op}({names})" if len(facts.outputs) == 1 else f"tuple({op}({names}))"
    return f"def {facts.function}({parameters}):\n    {doc}\n{draws}    return {found}"
