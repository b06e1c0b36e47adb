"""The code around a body behind `tf.numpy_function`: the function that calls it with arrays, and the gradient."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.ports.porting.body_code import body_name
from pyopbench.ports.porting.facts import Facts

COPIES = "Inputs that may be written to are copied: in a graph, they share memory with its tensors."


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
            f"    # {COPIES}",
            f"    arrays = [np.array(one) if {is_written} else one for place, one in enumerate(arrays)]",
        ]
    if not all(rank for _, _, rank in facts.inputs):
        lines += [
            "    # Eager code gives an array without axes where a graph gives a number.",
            "    arrays = [one[()] if isinstance(one, np.ndarray) else one for one in arrays]",
        ]
    return "\n".join([*lines, f"    return {outputs}"])


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
    dtypes = [f"tf.{dtype}" for dtype, _ in facts.outputs]
    shapes = [f"[{', '.join(str(size) for size in shape)}]" for _, shape in facts.outputs]
    given = f"{_adapter_name(facts)}, [{names}]"
    call = [f"    found = tf.ensure_shape(tf.numpy_function({given}, {dtypes[0]}), {shapes[0]})"]
    if len(dtypes) > 1:
        call = [
            f"    found = tf.numpy_function({given}, [{', '.join(dtypes)}])",
            f"    found = [tf.ensure_shape(one, shape) for one, shape in zip(found, [{', '.join(shapes)}])]",
        ]
    lines = [
        *(["@tf.custom_gradient"] if gradient else []),
        f"def {facts.function}({names}):",
        f"    {doc}",
        *call,
        *(_backward(facts, gradient, names, picked, is_writing=gradient_writes) if gradient else []),
        f"    return {'found' if len(dtypes) == 1 else 'tuple(found)'}{', backward' if gradient else ''}",
    ]
    return "\n".join(lines)


def _adapter_name(facts: Facts) -> str:
    return f"{facts.function}_as_arrays"


def _backward(facts: Facts, gradient: str, names: str, picked: Sequence[int] | None, *, is_writing: bool) -> list[str]:
    inputs, several = len(facts.inputs), len(facts.inputs) + len(facts.outputs)
    by = [facts.inputs[place][0] for place in facts.differentiable]
    arrays = [names, "found" if len(facts.outputs) == 1 else "*found"]
    arrays += [f"output_gradients[{place}]" for place in facts.floating]
    call = f"{gradient}(arrays[:{inputs}], arrays[{inputs}:{several}], arrays[{several}:])"
    returned = [f"            return {call}"]
    if picked is not None:
        each = ", ".join(f"gradients[{place}]" for place in picked)
        returned = [f"            gradients = {call}", f"            return {each}"]
    by_input = [
        f"gradients[{facts.differentiable.index(place)}]" if place in facts.differentiable else "None"
        for place in range(inputs)
    ]
    # Eager code gives no list of one.
    found = f"[tf.numpy_function(on_arrays, arrays, {by[0]}.dtype)]"
    if len(by) > 1:
        found = f"tf.numpy_function(on_arrays, arrays, [{', '.join(f'{name}.dtype' for name in by)}])"
    returns = "gradients" if len(by) == inputs else f"[{', '.join(by_input)}]"
    return [
        "",
        "    def backward(*output_gradients):",
        '        """Return the gradient by each input, computed in NumPy."""',
        "",
        "        def on_arrays(*arrays):",
        *([f"            # {COPIES}", "            arrays = [np.array(one) for one in arrays]"] if is_writing else []),
        *returned,
        "",
        f"        arrays = [{', '.join(arrays)}]",
        f"        gradients = {found}",
        f"        gradients = [tf.ensure_shape(one, given.shape) for one, given in zip(gradients, [{', '.join(by)}])]",
        f"        return {returns}",
        "",
    ]
