"""What stands around a body behind `tf.numpy_function`, as source: what calls it with arrays, and the gradient."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.ports.porting.body_code import body_name
from pyopbench.ports.porting.facts import Facts


def wrapper(
    facts: Facts, doc: str, gradient: str, picked: Sequence[int] | None, *, gradient_writes: bool = False
) -> str:
    """Return the function of tensors around the body.

    Args:
        facts: what it takes and returns.
        doc: its docstring.
        gradient: the name of the function of arrays that is its gradient; empty for none.
        picked: which of the results of that are the gradients by the differentiable inputs; None if that
            is an array, the only gradient.
        gradient_writes: does that function write to arrays that it is given?
    """
    names = ", ".join(name for name, _, _ in facts.inputs)
    lines = [
        *(["@tf.custom_gradient"] if gradient else []),
        f"def {facts.function}({names}):",
        f"    {doc}",
        *_call(facts, names),
        *(_gradient(facts, gradient, names, picked, is_writing=gradient_writes) if gradient else []),
        f"    return {'found' if len(facts.outputs) == 1 else 'tuple(found)'}{', backward' if gradient else ''}",
    ]
    return "\n".join(lines)


def _call(facts: Facts, names: str) -> list[str]:
    dtypes = [f"tf.{dtype}" for dtype, _ in facts.outputs]
    given = f"{adapter_name(facts.function)}, [{names}]"
    if len(dtypes) == 1:
        shape = _shape(facts.outputs[0][1])
        return [f"    found = tf.ensure_shape(tf.numpy_function({given}, {dtypes[0]}), {shape})"]
    shapes = ", ".join(_shape(shape) for _, shape in facts.outputs)
    return [
        f"    found = tf.numpy_function({given}, [{', '.join(dtypes)}])",
        f"    found = [tf.ensure_shape(one, shape) for one, shape in zip(found, [{shapes}])]",
    ]


def _shape(shape: tuple[str | None, ...]) -> str:
    return f"[{', '.join('None' if size is None else size for size in shape)}]"


def adapter(facts: Facts, copied: Sequence[int]) -> str:
    """Return the function that calls the body, whose numbers are Python's, and returns arrays.

    Args:
        facts: what the body takes and returns.
        copied: the positions of the inputs that it may write to.
    """
    dtypes = [f"np.{dtype}" for dtype, _ in facts.outputs]
    body = f"{body_name(facts.function)}(*arrays)"
    several = f"[np.asarray(one, dtype) for one, dtype in zip({body}, [{', '.join(dtypes)}])]"
    found = f"    return {several if len(dtypes) > 1 else f'np.asarray({body}, {dtypes[0]})'}"
    to_numbers = [
        f"    # {NUMBERS}",
        "    arrays = [one[()] if isinstance(one, np.ndarray) else one for one in arrays]",
    ]
    if all(rank for _, _, rank in facts.inputs):
        to_numbers = []
    lines = [f"def {adapter_name(facts.function)}(*arrays):", f"    {ADAPTER}", *copies(copied), *to_numbers, found]
    return "\n".join(lines)


ADAPTER = '"""Call the body; a number of Python\'s that it returns becomes an array."""'

NUMBERS = "Eager code gives an array without axes where a graph gives a number."


def copies(places: Sequence[int]) -> list[str]:
    """Return the lines that copy some of `arrays`, the arguments of a callback.

    In a graph these have the memory of the caller's tensors.
    """
    if not places:
        return []
    is_written = f"place in {{{', '.join(map(str, places))}}}"
    copied = f"np.array(one) if {is_written} else one for place, one in enumerate(arrays)"
    return [f"    # {COPIES}", f"    arrays = [{copied}]"]


COPIES = "Inputs that may be written to are copied: in a graph, they share memory with its tensors."


def adapter_name(name: str) -> str:
    """Return the name of what calls the body on arrays."""
    return f"{name}_as_arrays"


def _gradient(facts: Facts, gradient: str, names: str, picked: Sequence[int] | None, *, is_writing: bool) -> list[str]:
    inputs, several = len(facts.inputs), len(facts.inputs) + len(facts.outputs)
    differentiable = [facts.inputs[place][0] for place in facts.differentiable]
    incoming = ", ".join(f"output_gradients[{place}]" for place in facts.floating)
    dtypes = ", ".join(f"{name}.dtype" for name in differentiable)
    outputs = "found" if len(facts.outputs) == 1 else "*found"
    is_one = len(differentiable) == 1
    call = f"{gradient}(arrays[:{inputs}], arrays[{inputs}:{several}], arrays[{several}:])"
    returned = [f"            return {call}"]
    if picked is not None:
        each = ", ".join(f"gradients[{place}]" for place in picked)
        returned = [f"            gradients = {call}", f"            return {each}"]
    return [
        "",
        "    def backward(*output_gradients):",
        '        """Return the gradient by each input, computed in NumPy."""',
        "",
        "        def on_arrays(*arrays):",
        *([f"            # {COPIES}", "            arrays = [np.array(one) for one in arrays]"] if is_writing else []),
        *returned,
        "",
        f"        arrays = [{names}, {outputs}, {incoming}]",
        f"        gradients = tf.numpy_function(on_arrays, arrays, {dtypes if is_one else f'[{dtypes}]'})",
        *(_shaped(differentiable)),
        f"        return {_by_input(facts)}",
        "",
    ]


def _shaped(names: Sequence[str]) -> list[str]:
    if len(names) == 1:
        return [f"        gradients = [tf.ensure_shape(gradients, {names[0]}.shape)]"]
    given = ", ".join(names)
    return [
        f"        gradients = [tf.ensure_shape(one, given.shape) for one, given in zip(gradients, [{given}])]",
    ]


def _by_input(facts: Facts) -> str:
    if len(facts.differentiable) == len(facts.inputs):
        return "gradients"
    places = (
        f"gradients[{facts.differentiable.index(place)}]" if place in facts.differentiable else "None"
        for place in range(len(facts.inputs))
    )
    return f"[{', '.join(places)}]"
