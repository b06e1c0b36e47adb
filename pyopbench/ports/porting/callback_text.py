"""The code around a body behind `tf.numpy_function`: what calls it with arrays, and the function of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.ports.porting.body_code import body_name
from pyopbench.ports.porting.facts import Axis, Facts


def adapter(facts: Facts, copied: Sequence[int]) -> str:
    """Return the function that calls the body, whose numbers are Python's, and returns arrays.

    Args:
        facts: what the body takes and returns.
        copied: the positions of the inputs that it may write to.
    """
    dtypes, body = [f"np.{dtype}" for dtype, _ in facts.outputs], f"{body_name(facts.function)}(*arrays)"
    outputs = f"np.asarray({body}, {dtypes[0]})"
    if len(dtypes) > 1:
        outputs = f"[np.asarray(one, dtype) for one, dtype in zip({body}, [{', '.join(dtypes)}])]"
    lines = [
        f"def {_adapter_name(facts)}(*arrays):",
        '    """Call the body; a number of Python\'s that it returns becomes an array."""',
    ]
    if copied:
        is_written = f"place in {{{', '.join(map(str, copied))}}}"
        lines += [
            "    # Inputs that may be written to are copied: in a graph, they share memory with its tensors.",
            f"    arrays = [np.array(one) if {is_written} else one for place, one in enumerate(arrays)]",
        ]
    if not all(rank for _, _, rank in facts.inputs):
        lines += [
            "    # Eager code gives an array without axes where a graph gives a number.",
            "    arrays = [one[()] if isinstance(one, np.ndarray) else one for one in arrays]",
        ]
    return "\n".join([*lines, f"    return {outputs}"])


def wrapper(facts: Facts, doc: str) -> str:
    """Return the function of tensors around the body."""
    names = ", ".join(name for name, _, _ in facts.inputs)
    dtypes = [f"tf.{dtype}" for dtype, _ in facts.outputs]
    shapes = [f"[{', '.join(_size_text(facts, at) for at in shape)}]" for _, shape in facts.outputs]
    given = f"{_adapter_name(facts)}, [{names}]"
    call = [f"    return tf.ensure_shape(tf.numpy_function({given}, {dtypes[0]}), {shapes[0]})"]
    if len(dtypes) > 1:
        call = [
            f"    found = tf.numpy_function({given}, [{', '.join(dtypes)}])",
            f"    return tuple(tf.ensure_shape(one, shape) for one, shape in zip(found, [{', '.join(shapes)}]))",
        ]
    return "\n".join([f"def {facts.function}({names}):", f"    {doc}", *call])


def _size_text(facts: Facts, at: Axis | None) -> str:
    return "None" if at is None else f"{facts.inputs[at[0]][0]}.shape[{at[1]}]"


def _adapter_name(facts: Facts) -> str:
    return f"{facts.function}_as_arrays"
