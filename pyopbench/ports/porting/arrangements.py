"""Arrangements of an op in an input pipeline as source: a module with `arrange`, which maps a dataset to a dataset.

The first components of an element are the inputs of the body, and its outputs replace them; the others are passed on.
So `(image, label, weight)` needs no arguments; elements such as dicts need `take` and `put`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pyopbench.model.arrangement import AUTOTUNE, ArrangementKey, read_key
from pyopbench.model.op import Op
from pyopbench.model.variant import BATCHED_PORTS
from pyopbench.ports.arrays import as_array, body_outputs
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting import pool
from pyopbench.ports.porting.facts import Facts, examples_of, probed_examples
from pyopbench.ports.porting.module_text import Code, Units, copied_module, format_text, module_text, require_free
from pyopbench.ports.porting.port import (
    body_of,
    extracted_op,
    refusals_of_user,
    require_fixed_shapes,
    require_same,
    write_port,
)
from pyopbench.ports.porting.writers import PortModule
from pyopbench.ports.rebinding import unwrap

FUNCTION, OUTPUTS = "arrange", "outputs_of"
"""The names of the functions of an arrangement: of a dataset, and of the inputs of one call."""

CALLBACKS = {
    "numpy_function": "tf.numpy_function(call_body, inputs, {dtypes})",
    "py_func": "tf.compat.v1.py_func(call_body, inputs, {dtypes})",
    "py_function_numpy": (
        "tf.py_function(lambda *tensors: call_body(*(one.numpy() for one in tensors)), inputs, {dtypes})"
    ),
    "processes": "tf.numpy_function(pool.call, inputs, {dtypes})",
}
"""How each supported callback, and a pool, calls `call_body`, which takes arrays and returns a list of them."""

OF_PORTS = ("port", "port_batch", "batch_body")
"""Forms that call what `write_port` writes."""


def write_arrangement(op: Op, name: str, callback: str) -> PortModule:
    """Return an arrangement such as `processes batch=32` of an op's body as the source of a module.

    Args:
        op: whose body is arranged.
        name: the key of the arrangement.
        callback: the variant of the current callback, which `map` keeps.
    """
    key = read_key(name)
    if key is None:
        raise CannotPort(f"`{name}` is not an arrangement that can be written as a file")
    if key.form in OF_PORTS:
        return _around_port(op, key, name)
    with refusals_of_user():
        return _around_body(op, key, name, "processes" if key.form == "processes" else callback)


def _around_body(op: Op, key: ArrangementKey, name: str, callback: str) -> PortModule:
    """Return an arrangement that calls the body itself: in a callback, in a loop over a batch, or in processes."""
    is_pool = callback == "processes"
    if callback not in CALLBACKS:
        raise CannotPort(f"`{callback}` cannot be written", fix="use numpy_function, py_func or py_function_numpy")
    yours, _ = extracted_op(op, "")
    require_same(op, yours)
    if key.batch:
        require_fixed_shapes(op)
    body = body_of(yours, unwrap(yours.numpy))
    facts, units = body.facts, Units(body.source)
    given = "arrays"
    if op.is_on_tensors:
        given = "[tf.constant(one) for one in arrays]"
    elif op.py_function is not None and not is_pool:  # `x.numpy()` was a copy, to which the body may write
        given = "[one if isinstance(one, bytes) else one.copy() for one in arrays]"
    returned = f"as_arrays({facts.function}({_arguments(given, facts, body.keywords)}))"
    dtypes = ", ".join(f"np.{dtype}" if hasattr(np, dtype) else "None" for dtype, _ in facts.outputs)
    functions = f'''
def as_arrays(outputs):
    """Return one or several outputs as a list of arrays; text as it is, because NumPy would cut zero bytes off."""
    several = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [
        one if isinstance(one, (bytes, str)) else np.asarray(one, dtype) for one, dtype in zip(several, [{dtypes}])
    ]

'''
    if key.batch:
        functions += f'''
def call_body(*columns):
    """Return what `{facts.function}` returns for each element of a batch, as a list of arrays with a leading axis."""
    rows = [{returned} for arrays in zip(*columns)]
    several = list(zip(*rows))
    return [np.stack(one) if isinstance(one[0], np.ndarray) else np.array(one, object) for one in several]
'''
    else:
        functions += f'''
def call_body(*arrays):
    """Return what `{facts.function}` returns for the arrays of an element, as a list of arrays."""
    return {returned}
'''
    summary = f"`{facts.function}` of {facts.file} in a dataset: `{name}`."
    of_tensors = ", ".join(f"tf.{dtype}" for dtype, _ in facts.outputs)
    call = f"outputs = {CALLBACKS[callback].format(dtypes=f'[{of_tensors}]')}"
    statements = [*Code(units).write_units().values(), functions, _arrange(op, key, facts, call, summary)]
    also = ["import numpy as np", *([] if is_pool and not op.is_on_tensors else ["import tensorflow as tf"])]
    if is_pool:
        imports, copied, bound = copied_module(Path(pool.__file__))
        statements.insert(-1, copied)
        statements.append('if __name__ == "__main__":\n    serve(call_body, *sys.argv[1:])')
        also += imports
        require_free(units, bound, also)
    require_free(units, {"call_body", "as_arrays", OUTPUTS, FUNCTION})
    batch, behind = (f".batch({key.batch})", ".unbatch()") if key.batch else ("", "")
    docstring = f"{summary}\n\n    dataset = arrange(dataset{batch}){behind}\n"
    docstring += f"\nIf the rest of the pipeline takes batches, leave out `{behind}`.\n" if key.batch else ""
    text = format_text(module_text(docstring, statements, units, also=sorted({*also})))
    return PortModule(text, replace(facts, function=FUNCTION))


def _around_port(op: Op, key: ArrangementKey, name: str) -> PortModule:
    """Return an arrangement of a port: the text that `write_port` writes, followed by `arrange`."""
    variant = "numpy_whole" if key.form == "batch_body" else key.variant
    if key.form == "port_batch":
        if variant not in BATCHED_PORTS:
            raise CannotPort(f"there is no form of {variant} for batches", fix=f"use {' or '.join(BATCHED_PORTS)}")
        variant = BATCHED_PORTS[variant]
    made = write_port(op, variant)
    keywords = op.own.keywords if op.own is not None and not made.function.endswith("_batch") else ()
    given = _arguments("inputs", made.facts, keywords)
    call = (
        f"found = {made.function}({given})\n    outputs = list(found) if isinstance(found, (list, tuple)) else [found]"
    )
    functions = {one.name for one in ast.parse(made.text).body if isinstance(one, ast.FunctionDef)}
    if taken := functions & {FUNCTION, OUTPUTS}:
        raise CannotPort(f"your function has the name `{min(taken)}`, which the file needs", fix="give it another name")
    text = f"{made.text}\n{_arrange(op, key, made.facts, call, f'`{made.function}` in a dataset: `{name}`.')}"
    facts = replace(made.facts, function=FUNCTION)
    return replace(made, text=format_text(text), facts=facts, dataset="", drawn=None)


def _arguments(several: str, facts: Facts, keywords: Sequence[str]) -> str:
    """Return the arguments of a call, from an expression for a list of them, of which the last may go by name."""
    first = len(facts.inputs) - len(keywords)
    named = "".join(f", {one}={several}[{first + place}]" for place, one in enumerate(keywords))
    return f"*{several}[:{first}]{named}" if keywords else f"*{several}"


def _arrange(op: Op, key: ArrangementKey, facts: Facts, call: str, summary: str) -> str:
    """Return the functions of an arrangement around the statement that binds `outputs`."""
    pool_argument, pool_given, pool_bound, imported, pool_said = "", "", "", "", ""
    calls = "tf.data.AUTOTUNE" if key.parallel == AUTOTUNE or key.form in ("port", "port_batch") else str(key.parallel)
    if key.form == "processes":
        pool_argument, pool_given, calls = ", pool=None", ", pool", "pool.processes"
        pool_bound = "    pool = pool or usual_pool()\n"
        imported = "    # Not at the top: the processes of the pool run this file and do not need it.\n"
        imported += "    import tensorflow as tf\n\n"
        pool_said = "\n        pool: a `Pool` that you close; None for one that ends with the program."
    calls = "" if calls == "1" else f", num_parallel_calls={calls}, deterministic=deterministic"
    what = "elements" if not key.batch else f"batches, such as of `dataset.batch({key.batch})`, of elements"
    count, same = len(facts.inputs), _same_shapes(op)
    extra = 0 if key.form in OF_PORTS else bool(key.batch)  # the file of a port has the number of axes already
    shapes = [
        f"inputs[{same[place]}].shape" if place in same else f"[{', '.join(['None'] * (len(shape) + extra))}]"
        for place, (_, shape) in enumerate(facts.outputs)
    ]
    return f'''
def {OUTPUTS}(inputs{pool_argument}):
    """Return the output tensors for a list of input tensors. Call it in place of a callback."""
{imported}{pool_bound}    {call}
    return [tf.ensure_shape(one, shape) for one, shape in zip(outputs, [{", ".join(shapes)}])]


def {FUNCTION}(dataset, take=None, put=None{pool_argument}, deterministic=None):
    """{summary}

    Args:
        dataset: {what} that begin with the inputs of the body; the other components are passed on.
        take: returns the inputs, called with the components of an element; None for its first {count}.
        put: returns the new element, called with the list of outputs and the components; None to replace the first
            {count} by the outputs.{pool_said}
        deterministic: as in `Dataset.map`: None or True to keep the order of elements.
    """
{pool_bound}
    def of_element(*element):
        outputs = {OUTPUTS}(list(element[:{count}] if take is None else take(*element)){pool_given})
        if put is not None:
            return put(outputs, *element)
        replaced = (*outputs, *element[{count}:])
        return replaced if len(replaced) > 1 else replaced[0]

    return dataset.map(of_element{calls})
'''


def _same_shapes(op: Op) -> dict[int, int]:
    """Return the position of an input that always has the same shape as an output, by the position of the output.

    The examples may be square, or may all have the shape of an output that is always the same. So inputs of other sizes
    are tried, too.
    """
    examples = examples_of(op)
    pairs = [(tuple(one), body_outputs(op.numpy, one)) for one in examples]
    pairs += probed_examples(op, examples, pairs[0][1])
    given = [[as_array(one).shape for one in inputs] for inputs, _ in pairs]
    returned = [[one.shape for one in outputs] for _, outputs in pairs]
    return {
        place: same[0]
        for place, shapes in enumerate(zip(*returned, strict=True))
        if (same := [which for which, others in enumerate(zip(*given, strict=True)) if others == shapes])
    }
