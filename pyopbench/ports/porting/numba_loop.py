"""The loop over a batch that Numba compiles, and the gradient of each example of one, as source."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.ports.porting.facts import Facts
from pyopbench.ports.porting.numba_code import CACHED, adapter_name, body_name, copies

DECORATOR = f"@numba.njit(cache={CACHED}, error_model='numpy')"

LOOP = """
{decorator}
def {loop}({outputs}, {inputs}):
    {doc}
    for example in range(len({first})):
        {results} = {body}({rows})
        {lines}
"""

LOOP_DOC = '"""Write what the body returns for each example of a batch."""'

ON_BATCH = """
def {name}(*arrays):
    {doc}{copies}
    first = {first}
    found = [np.empty((len(arrays[0]), *np.shape(one)), dtype) for one, dtype in zip(first, [{dtypes}])]
    {loop}(*found, *arrays)
    return {returned}
"""

ON_BATCH_DOC = '"""Call the compiled loop; the first example of a batch gives the shapes of the outputs."""'

CHECK = """if {result}.shape != {output}.shape[1:]:
            raise ValueError("the examples of a batch have outputs of different shapes")"""
"""Before a result is stored, because an array of one element would be spread over the place of more."""

GRADIENT = """
def {name}(inputs, outputs, output_gradients):
    {doc}
    rows = zip(zip(*inputs), zip(*outputs), zip(*output_gradients))
    return [np.stack(one) for one in zip(*({called} for row in rows))]
"""

GRADIENT_DOC = '"""Return the gradient of each example of a batch, with a leading axis."""'


def texts(facts: Facts, copied: Sequence[int], *, is_tuple: bool) -> list[str]:
    """Return the loop over a batch, and the function of arrays that calls it.

    Args:
        facts: of what takes a batch.
        copied: the positions of the inputs that the body may write to.
        is_tuple: does the body return a tuple?
    """
    given = [name for name, _, _ in facts.inputs]
    outputs, results = ([f"{word}_{place}" for place in range(len(facts.outputs))] for word in ("output", "result"))
    lines = []
    for output, result, (_, shape) in zip(outputs, results, facts.outputs, strict=True):
        lines += [CHECK.format(result=result, output=output)] if len(shape) > 1 else []
        lines.append(f"{output}[example] = {result}")
    body, loop = body_name(facts.function), f"{facts.function}_over_batch"
    compiled = LOOP.format(
        decorator=DECORATOR,
        loop=loop,
        doc=LOOP_DOC,
        outputs=", ".join(outputs),
        inputs=", ".join(given),
        first=given[0],
        results=", ".join(results) + ("," if is_tuple and len(results) == 1 else ""),
        body=body,
        rows=", ".join(f"{name}[example]" for name in given),
        lines="\n        ".join(lines),
    )
    # The loop calls the body for the first example again.
    row = "one[:1].copy()[0]" if copied else "one[0]"
    first = f"{body}(*({row} for one in arrays))"
    caller = ON_BATCH.format(
        name=adapter_name(facts.function),
        doc=ON_BATCH_DOC,
        copies="".join(f"\n{line}" for line in copies(copied)),
        first=first if is_tuple else f"[{first}]",
        dtypes=", ".join(f"np.{dtype}" for dtype, _ in facts.outputs),
        loop=loop,
        returned="found" if len(results) > 1 else "found[0]",
    )
    return [compiled, caller]


def gradient_name(gradient: str) -> str:
    """Return the name of what calls a gradient of one example for each of a batch."""
    return f"{gradient}_of_batch"


def gradient(name: str, *, is_array: bool) -> str:
    """Return the function that calls a gradient of one example for each of a batch.

    Args:
        name: of that gradient.
        is_array: does it return an array, and not a list or a tuple?
    """
    call = f"{name}(*map(list, row))"
    called = f"[{call}]" if is_array else call
    return GRADIENT.format(name=gradient_name(name), doc=GRADIENT_DOC, called=called)
