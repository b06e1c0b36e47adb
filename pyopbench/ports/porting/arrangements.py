"""Arrangements of an op in an input pipeline as source: a module with `arrange`, which maps a dataset to a dataset.

The first components of an element are the inputs of the body, and its outputs replace them; the others are passed on.
So `(image, label, weight)` needs no arguments; elements such as dicts need `take` and `put`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pyopbench.model.arrangement import AUTOTUNE, ArrangementKey, read_key
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.model.portable import BATCHED_PORTS, format_text
from pyopbench.ports.arrays import as_array, body_outputs
from pyopbench.ports.porting import pool
from pyopbench.ports.porting.batches import of_batch, require_fixed_shapes
from pyopbench.ports.porting.check_file import check_file
from pyopbench.ports.porting.facts import Facts, examples_of, probed_examples
from pyopbench.ports.porting.module_text import copied_module, module_text, require_free
from pyopbench.ports.porting.port import (
    PortModule,
    body_of,
    extracted_op,
    original,
    refusals_of_user,
    require_same,
    write_port,
)
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.render import Code
from pyopbench.ports.porting.units import Units
from pyopbench.ports.rebinding import unwrap

FUNCTION = "arrange"
"""The name of the function of an arrangement."""

CALLBACKS = {
    "numpy_function": "tf.numpy_function(call_body, inputs, {dtypes})",
    "py_func": "tf.compat.v1.py_func(call_body, inputs, {dtypes})",
    "py_function_numpy": (
        "tf.py_function(lambda *tensors: call_body(*(one.numpy() for one in tensors)), inputs, {dtypes})"
    ),
}
"""How each supported callback calls `call_body`, which takes arrays and returns a list of them."""
OF_PORTS = ("port", "port_batch", "batch_body")
"""Forms that call what `write_port` writes."""
POOLED = "tf.numpy_function(pool.call, inputs, {dtypes})"

CALL = '''
def call_body(*arrays):
    """Return what `{function}` returns for the arrays of an element, as a list of arrays."""
    return as_arrays({function}({given}))
'''
CALL_ROWS = '''
def call_body(*columns):
    """Return what `{function}` returns for each element of a batch, as a list of arrays with a leading axis."""
    rows = [as_arrays({function}({given})) for arrays in zip(*columns)]
    several = list(zip(*rows))
    return [np.stack(one) if isinstance(one[0], np.ndarray) else np.array(one, object) for one in several]
'''
AS_ARRAYS = '''
def as_arrays(outputs):
    """Return one or several outputs as a list of arrays; text as it is, because NumPy would cut zero bytes off."""
    several = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [
        one if isinstance(one, (bytes, str)) else np.asarray(one, dtype) for one, dtype in zip(several, [{dtypes}])
    ]
'''
SERVE = """
if __name__ == "__main__":
    serve(call_body, *sys.argv[1:])
"""

ARRANGE = '''
def outputs_of(inputs{pool_argument}):
    """Return the output tensors for a list of input tensors. Call it in place of a callback."""
{pool_import}{pool_line}    {call}{shapes}
    return outputs


def arrange(dataset, take=None, put=None{pool_argument}, deterministic=None):
    """{summary}

    Args:
        dataset: {elements}
        take: returns the inputs, called with the components of an element; None for its first {count}.
        put: returns the new element, called with the list of outputs and the components; None to replace the first
            {count} by the outputs.{pool_doc}
        deterministic: as in `Dataset.map`: None or True to keep the order of elements.
    """
{pool_line}
    def of_element(*element):
        inputs = list(element[:{count}] if take is None else take(*element))
        outputs = outputs_of(inputs{given_pool})
        if put is not None:
            return put(outputs, *element)
        replaced = (*outputs, *element[{count}:])
        return replaced if len(replaced) > 1 else replaced[0]

    return dataset.map(of_element{calls})
'''
POOL_DOC = """
        pool: a `Pool` that you close; None for one that ends with the program."""
POOL_IMPORT = """    # Not at the top: the processes of the pool run this file and do not need it.
    import tensorflow as tf

"""
POOL_LINE = """    pool = pool or usual_pool()
"""


@dataclass(frozen=True)
class _Arranged:
    """What is known about what an arrangement calls: a body, or a port of it."""

    key: ArrangementKey
    facts: Facts
    keywords: tuple[str, ...]
    same_shapes: Mapping[int, int]

    def given(self, name: str) -> str:
        """Return the arguments of a call, taken from a list with that name."""
        first = len(self.facts.inputs) - len(self.keywords)
        named = "".join(f", {one}={name}[{first + place}]" for place, one in enumerate(self.keywords))
        return f"*{name}[:{first}]{named}" if self.keywords else f"*{name}"


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
        return _around_body(op, key, name, callback)


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


def _around_body(op: Op, key: ArrangementKey, name: str, callback: str) -> PortModule:
    """Return an arrangement that calls the body itself: in a callback, in a loop over a batch, or in processes."""
    is_pool, on_tensors = key.form == "processes", op.is_on_tensors
    if not is_pool and callback not in CALLBACKS:
        raise CannotPort(f"`{callback}` cannot be written", fix=f"use one of {', '.join(CALLBACKS)}")
    yours, _ = extracted_op(op, "")
    require_same(op, yours)
    if key.batch:
        require_fixed_shapes(op)
    of_body = body_of(yours, unwrap(yours.numpy))
    facts, units = of_body.facts, Units(of_body.source)
    arranged = _Arranged(key, facts, of_body.keywords, _same_shapes(op))
    given = arranged.given("arrays")
    if on_tensors:
        given = arranged.given("[tf.constant(one) for one in arrays]")
    elif op.py_function is not None and not is_pool:  # `x.numpy()` was a copy, to which the body may write
        given = arranged.given("[one if isinstance(one, bytes) else one.copy() for one in arrays]")
    body = (CALL_ROWS if key.batch else CALL).format(function=facts.function, given=given)
    dtypes = ", ".join(f"np.{dtype}" if hasattr(np, dtype) else "None" for dtype, _ in facts.outputs)
    also = ["import numpy as np", *([] if is_pool and not on_tensors else ["import tensorflow as tf"])]
    statements = [*Code(units).write_units().values(), AS_ARRAYS.format(dtypes=dtypes), body]
    of_tensors = ", ".join(f"tf.{dtype}" for dtype, _ in facts.outputs)
    call = f"outputs = {(POOLED if is_pool else CALLBACKS[callback]).format(dtypes=f'[{of_tensors}]')}"
    summary = f"`{facts.function}` of {facts.file} in a dataset: `{name}`."
    arrange = _arrange(arranged, call, summary)
    if is_pool:
        imports, copied, bound = copied_module(Path(pool.__file__))
        statements += [copied, arrange, SERVE]
        also += imports
        require_free(units, bound, also)
    else:
        statements.append(arrange)
    require_free(units, {"call_body", "as_arrays", "outputs_of", FUNCTION})
    text = format_text(module_text(_documented(summary, key), statements, units, also=sorted({*also})))
    return PortModule(text, FUNCTION, not_run=(), notes=(), dataset="", facts=facts, frozen=frozenset())


def _around_port(op: Op, key: ArrangementKey, name: str) -> PortModule:
    """Return an arrangement of a port: the text that `write_port` writes, followed by `arrange`."""
    variant = "numpy_whole" if key.form == "batch_body" else key.variant
    if key.form == "port_batch":
        if variant not in BATCHED_PORTS:
            raise CannotPort(f"there is no form of {variant} for batches", fix=f"use {' or '.join(BATCHED_PORTS)}")
        variant = BATCHED_PORTS[variant]
    made = write_port(op, variant)
    keywords = op.own.keywords if op.own is not None and not made.function.endswith("_batch") else ()
    arranged = _Arranged(key, made.facts, keywords, _same_shapes(op))
    given = arranged.given("inputs")
    call = (
        f"found = {made.function}({given})\n    outputs = list(found) if isinstance(found, (list, tuple)) else [found]"
    )
    functions = {one.name for one in ast.parse(made.text).body if isinstance(one, ast.FunctionDef)}
    if taken := functions & {FUNCTION, "outputs_of"}:
        raise CannotPort(f"your function has the name `{min(taken)}`, which the file needs", fix="give it another name")
    text = f"{made.text}\n{_arrange(arranged, call, f'`{made.function}` in a dataset: `{name}`.')}"
    return replace(made, text=format_text(text), function=FUNCTION, dataset="", drawn=None)


def _arrange(arranged: _Arranged, call: str, summary: str) -> str:
    key, facts = arranged.key, arranged.facts
    is_pool = key.form == "processes"
    # The file of a port has the number of axes already.
    extra = 0 if key.form in OF_PORTS else bool(key.batch)
    ranks = [
        f"inputs[{arranged.same_shapes[place]}].shape"
        if place in arranged.same_shapes
        else f"[{', '.join(['None'] * (len(shape) + extra))}]"
        for place, (_, shape) in enumerate(facts.outputs)
    ]
    shapes = f"\n    outputs = [tf.ensure_shape(one, shape) for one, shape in zip(outputs, [{', '.join(ranks)}])]"
    if is_pool:
        calls = "pool.processes"
    elif key.parallel == AUTOTUNE or key.form in ("port", "port_batch"):
        calls = "tf.data.AUTOTUNE"
    else:
        calls = str(key.parallel)
    calls = "" if calls == "1" else f", num_parallel_calls={calls}, deterministic=deterministic"
    what = "elements" if not key.batch else f"batches, such as of `dataset.batch({key.batch})`, of elements"
    return ARRANGE.format(
        summary=summary,
        elements=f"{what} that begin with the inputs of the body; the other components are passed on.",
        count=len(facts.inputs),
        pool_argument=", pool=None" if is_pool else "",
        given_pool=", pool" if is_pool else "",
        pool_doc=POOL_DOC if is_pool else "",
        pool_import=POOL_IMPORT if is_pool else "",
        pool_line=POOL_LINE if is_pool else "",
        call=call,
        shapes=shapes,
        calls=calls,
    )


def _documented(summary: str, key: ArrangementKey) -> str:
    """Return the docstring of a file, with the call."""
    batch, behind = (f".batch({key.batch})", ".unbatch()") if key.batch else ("", "")
    more = f"\nIf the rest of the pipeline takes batches, leave out `{behind}`.\n" if key.batch else ""
    return f"""{summary}

    dataset = arrange(dataset{batch}){behind}
{more}"""


def write_arrangement_test(op: Op, target: Target, name: str, module: str, made: PortModule) -> str:
    """Return the text of the test of the arrangement `made`, which has the key `name`, in a module with this name."""
    key = read_key(name)
    assert key is not None
    with refusals_of_user():
        old = original(op, target, made.frozen, is_of_one=bool(key.batch))
        is_of_one = key.batch and key.form not in OF_PORTS
        facts = of_batch(made.facts, FUNCTION) if is_of_one else replace(made.facts, function=FUNCTION)
        methods = ["in_a_dataset", "elements_of_any_structure"]  # no gradient flows through a dataset
        return format_text(check_file(module, facts, replace(old, gradient=""), methods))
