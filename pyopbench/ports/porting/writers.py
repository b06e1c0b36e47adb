"""From a body to the text of a port, for each variant that is written."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pyopbench.model.op import Op
from pyopbench.model.syntax import DEFINITIONS, Source
from pyopbench.model.variant import BRIDGE
from pyopbench.ports.arrays import as_given, as_tuple
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.extract.module import unparsed
from pyopbench.ports.for_numba.types import Types, tree, types_of
from pyopbench.ports.functions.sources import FOR_NUMBA, source_of
from pyopbench.ports.porting import body_code
from pyopbench.ports.porting.control_flow import DECIDING
from pyopbench.ports.porting.facts import (
    Facts,
    docstring,
    examples_of,
    smaller_examples,
    writes_to_arrays,
    written_inputs,
)
from pyopbench.ports.porting.module_text import LAYER, Units, copied_module, port_text, require_free
from pyopbench.ports.porting.observations import Observed
from pyopbench.ports.porting.observe import definition_of, observe
from pyopbench.ports.porting.tensor_code import TensorCode
from pyopbench.ports.rebinding import arrange, unwrap

DECORATOR = "numba.njit(error_model='numpy')"
"""What compiles a function. Divisions by zero are as NumPy has them."""

LEADING = "The first axis of each argument and of each result is that of the examples of a batch"


@dataclass(frozen=True)
class PortModule:
    """A port as the text of a module, which is measured, shown in a report, and put in place by the command `port`."""

    text: str
    facts: Facts
    """What its function of tensors takes and returns; no input is differentiable where it has no gradient."""
    not_run: tuple[tuple[str, int], ...] = ()
    """Lines of the user's that no example went through: file and line."""
    notes: tuple[str, ...] = ()
    """Kinds of notes, as in a `PortLine`."""
    dataset: str = ""
    """The call of `Dataset.map` that goes with a batched form; empty for others."""
    frozen: frozenset[tuple[str, str]] = frozenset()
    """Statements of the user's whose values are written down in their place: file and name."""
    drawn: frozenset[str] | None = None
    """Functions of `numpy.random` that draw in it after a seed that it takes; None where it takes none."""

    @property
    def function(self) -> str:
        """The name of the function in it."""
        return self.facts.function


@dataclass(frozen=True)
class Body:
    """What is ported: the definition in its file, and what the port takes and returns."""

    source: Source
    definition: Any
    facts: Facts
    keywords: tuple[str, ...]
    """Names of the last inputs, where the body takes them by name."""
    is_mapped: bool = False
    """Is the port called by `tf.vectorized_map`?"""

    @property
    def doc(self) -> str:
        """The user's docstring; empty if there is none."""
        return ast.get_docstring(self.definition) or ""


Examples = Sequence[tuple[Any, ...]]
Writer = Callable[[Op, Body, Examples], PortModule]


def _traced(op: Op, body: Body, examples: Examples, *, is_compiled: bool = False) -> PortModule:
    made = _of_tensors(body, observe(op.numpy, examples), is_compiled=is_compiled)
    if made.not_run:
        # A write that only smaller examples go through must not be missed, so this may refuse the body.
        observed = observe(op.numpy, [*examples, *smaller_examples(op, examples)])
        with contextlib.suppress(CannotPort):
            more = _of_tensors(body, observed, is_compiled=is_compiled)
            if set(more.not_run) < set(made.not_run):
                # Lines that only smaller examples reach are still reported as not reached: no test runs them.
                return replace(more, not_run=made.not_run)
    return made


def _of_tensors(body: Body, observed: Observed, *, is_compiled: bool = False) -> PortModule:
    """Return the body in TensorFlow ops."""
    facts, name = body.facts, body.definition.name
    units = Units(body.source, name)
    code = TensorCode(units, observed)
    code.is_mapped, code.is_compiled = body.is_mapped, is_compiled
    statements = code.write_units()
    notes, says = [], []
    if observed.multiplies_integers:
        notes.append("64 bits")
        says.append("Its integers have 64 bits, and a product may overflow; Python's have as many bits as they need.")
    with_xla = ", compiled by XLA" if is_compiled else ""
    nodes = [node for unit in units.in_order() for node in ast.walk(unit.node)]
    is_decided = any(isinstance(one, (*DECIDING, ast.IfExp)) and code.decides(one) for one in nodes)
    reruns = is_compiled and bool(facts.differentiable) and is_decided
    gradient = "the gradient runs it again" if reruns else "the gradient is TensorFlow's own"
    how = f"TensorFlow port of `{facts.function}` in {facts.file}{with_xla}; {gradient}."
    layer = "" if body.is_mapped else LAYER  # what maps it is the layer
    compiled = "tf.function(jit_compile=True)" if is_compiled else ""
    if reruns:
        compiled = code.use("np_compiled")
    statements[name] = _documented(statements[name], docstring(body.doc, facts, how, says), layer, compiled)
    texts = _with_functions(units, statements, source_of(code.snippets))
    text = port_text(f"`{facts.function}` of {facts.file} as TensorFlow ops.", texts, units)
    return PortModule(text, facts, tuple(code.not_run), tuple(notes))


def _documented(text: str, doc: str, outer: str, inner: str) -> str:
    """Return the source of a function with another docstring, given in quotes, an outer decorator and an inner one."""
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    statements = function.body if ast.get_docstring(function) is None else function.body[1:]
    function.body = [ast.parse(doc).body[0], *statements]
    around, within = ([tree(one)] if one else [] for one in (outer, inner))
    function.decorator_list = [*around, *function.decorator_list, *within]
    return unparsed([(function, "")])[0]


def _with_functions(units: Units, statements: Mapping[str, str], functions: Mapping[str, str]) -> list[str]:
    """Return functions that are not the user's, by name, and then what is, in the order of their module."""
    require_free(units, {*functions}, is_anywhere=True)
    texts = [*functions.values()]
    for is_function, several in itertools.groupby(units.in_order(), lambda one: isinstance(one.node, DEFINITIONS)):
        own = [statements[unit.name] for unit in several]
        texts += own if is_function else ["\n".join(own)]
    return texts


def _numba_op(op: Op, body: Body, examples: Examples, *, is_of_batch: bool = False) -> PortModule:
    """Return the body and all that it needs compiled by Numba, the module that makes ops of it, and the function.

    That of a batch calls the body for each example.
    """
    facts, name = body.facts, body.definition.name
    one = facts
    if is_of_batch:
        inputs = tuple((name, dtype, rank - 1) for name, dtype, rank in facts.inputs)
        one = replace(facts, inputs=inputs, outputs=tuple((dtype, shape[1:]) for dtype, shape in facts.outputs))
    units = Units(body.source, name)
    written_to = written_inputs(arrange(op.numpy, unwrap(op.numpy)), examples_of(op, 2, 1), units)
    types, gradient = types_of(op.numpy, examples_of(op, 2, 1)), ""
    if op.numpy_gradient is not None:
        gradient = definition_of(unwrap(op.numpy_gradient))[1].name
        units.add(gradient)
        types = types_of(op.numpy_gradient, [_given_to_gradient(op, one)], types)
    code = body_code.BodyCode(units, name, DECORATOR, types)
    statements = code.write_units()
    helpers = source_of(code.helpers, FOR_NUMBA)
    imports, module, bound = copied_module(body_code.MODULE)
    require_free(units, {*bound, f"{facts.function}_op", *helpers}, imports, is_anywhere=True)
    called, text = body_code.call_of_body(one, [place for place in written_to if one.inputs[place][2]])
    texts = [*_with_functions(units, statements, helpers), module, text]
    is_seeded = bool(code.drawn) and "seed" not in code.drawn
    draws_otherwise = op.own is not None and op.own.is_random and not is_seeded
    if draws_otherwise:
        raise CannotPort("the body draws random numbers, but not with functions of `np.random`", fix="draw with those")
    if is_seeded and (is_of_batch or gradient):
        raise CannotPort("the body draws random numbers, and a port that does has no gradient and no loop over a batch")
    if is_seeded and "seed" in {name for name, _, _ in one.inputs}:
        raise CannotPort("`seed` is a name that the port needs", fix="give yours another name")
    if is_seeded:
        called, text = body_code.call_after_seeding(one, called)
        texts.append(text)
    if is_of_batch:
        returned = op.numpy(*as_given(examples_of(op, 1, 1)[0]))
        outputs = [(dtype, len(shape)) for dtype, shape in one.outputs]
        names = [name for name, _, _ in facts.inputs]
        called, text = body_code.loop_over(called, names, outputs, is_tuple=isinstance(returned, tuple))
        texts.append(text)
    given, made = _gradient_op(op, facts, one, gradient, is_of_batch=is_of_batch) if gradient else ("", [])
    texts += made
    taken = [(dtype, rank) for _, dtype, rank in facts.inputs] + ([("int32", 0)] if is_seeded else [])
    texts.append(body_code.op_text(f"{facts.function}_op", called, taken, facts.outputs, given))
    loop = " and the loop over a batch" if is_of_batch else ""
    how = f"`{facts.function}` of {facts.file}{loop}, compiled by Numba, as a TensorFlow op."
    notes = [f"{LEADING}."] if is_of_batch else []
    notes += [] if gradient or not facts.differentiable else ["It has no gradient, as the callback had none."]
    notes += [_of_seed(code.drawn)] if is_seeded else []
    doc = docstring(body.doc, facts, how, notes)
    texts.append(body_code.wrapper(facts, doc, f"{facts.function}_op", is_seeded=is_seeded))
    text = port_text(how, [one for one in texts if one], units, also=imports)
    facts = facts if gradient else replace(facts, differentiable=())
    return PortModule(text, facts, drawn=frozenset(code.drawn) if is_seeded else None)


def _of_seed(drawn: Set[str]) -> str:
    other = sorted(drawn - body_code.DRAWN_ALIKE)
    found = "With the same seed, the numbers are those of NumPy after `np.random.seed(seed)`."
    if other:
        found = f"Its numbers are distributed as those of NumPy, but are others ({', '.join(other)})."
    return f"Without a `seed`, `tf.random.uniform` draws one, so `tf.random.set_seed` governs it. {found}"


def _gradient_op(op: Op, facts: Facts, one: Facts, gradient: str, *, is_of_batch: bool) -> tuple[str, list[str]]:
    """Return what `NumbaOp` takes of the gradient, as source, and the statements that it needs."""
    picked, is_writing = _facts_of_gradient(op, one)
    called, text, names = body_code.call_of_gradient(one, gradient, picked, is_writing=is_writing)
    texts = [text]
    by = [facts.inputs[place][1:] for place in facts.differentiable]
    if is_of_batch:
        outputs = [(dtype, rank - 1) for dtype, rank in by]
        called, text = body_code.loop_over(called, names, outputs, is_tuple=picked is not None)
        texts.append(text)
    inputs = [(dtype, rank) for _, dtype, rank in facts.inputs] + [
        (dtype, len(shape)) for dtype, shape in facts.outputs
    ]
    inputs += [inputs[len(facts.inputs) + place] for place in facts.floating]
    sizes = [
        (facts.inputs[place][1], [(place, axis) for axis in range(facts.inputs[place][2])])
        for place in facts.differentiable
    ]
    texts.append(body_code.op_text(f"{facts.function}_gradient_op", called, inputs, sizes))
    return f"({facts.function}_gradient_op, {facts.differentiable}, {facts.floating})", texts


def _numpy_function(op: Op, body: Body, examples: Examples, *, is_of_batch: bool = False) -> PortModule:
    """Return the body and what it needs, what calls it with arrays, and the function of tensors around that."""
    facts, name = body.facts, body.definition.name
    units = Units(body.source, name)
    written_to = written_inputs(arrange(op.numpy, unwrap(op.numpy)), examples_of(op, 2, 1), units)
    adapter = _adapter(facts, [place for place in written_to if facts.inputs[place][2]])
    statements = body_code.BodyCode(units, name, "", Types()).write_units()
    called = "called once with a batch" if is_of_batch else "on arrays"
    how = f"`{facts.function}` of {facts.file}, {called}, behind `tf.numpy_function`."
    notes = [f"{LEADING}."] if is_of_batch else []
    notes += ["It has no gradient."] if facts.differentiable else []
    doc = docstring(body.doc, facts, how, notes)
    texts = [*_with_functions(units, statements, {}), adapter, _around_callback(facts, doc)]
    return PortModule(port_text(how, texts, units), replace(facts, differentiable=()), notes=("callback",))


def _adapter(facts: Facts, copied: Sequence[int]) -> str:
    """Return the function that calls the body, whose numbers are Python's, and returns arrays.

    Args:
        facts: what the body takes and returns.
        copied: the positions of the inputs that it may write to.
    """
    lines = [
        f"def {facts.function}_as_arrays(*arrays):",
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
    first, *others = dtypes = [f"np.{dtype}" for dtype, _ in facts.outputs]
    outputs = f"np.asarray({body_code.body_name(facts.function)}(*arrays), {first})"
    if others:
        several = f"zip({body_code.body_name(facts.function)}(*arrays), [{', '.join(dtypes)}])"
        outputs = f"[np.asarray(one, dtype) for one, dtype in {several}]"
    return "\n".join([*lines, f"    return {outputs}"])


def _around_callback(facts: Facts, doc: str) -> str:
    """Return the function of tensors around the body."""
    names = [name for name, _, _ in facts.inputs]
    first, *others = dtypes = [f"tf.{dtype}" for dtype, _ in facts.outputs]
    axes = [[at and f"{names[at[0]]}.shape[{at[1]}]" for at in shape] for _, shape in facts.outputs]
    shapes = [f"[{', '.join(map(str, one))}]" for one in axes]
    call = f"tf.numpy_function({facts.function}_as_arrays, [{', '.join(names)}], "
    lines = [f"    return tf.ensure_shape({call}{first}), {shapes[0]})"]
    if others:
        lines = [
            f"    found = {call}[{', '.join(dtypes)}])",
            f"    return tuple(tf.ensure_shape(one, shape) for one, shape in zip(found, [{', '.join(shapes)}]))",
        ]
    return "\n".join([f"@{LAYER}", f"def {facts.function}({', '.join(names)}):", f"    {doc}", *lines])


def _facts_of_gradient(op: Op, facts: Facts) -> tuple[list[int] | None, bool]:
    """Return which results of the user's gradient are by the differentiable inputs, and whether it writes to arrays.

    The first is None if it returns one array.
    """
    assert op.numpy_gradient is not None
    function, (example, outputs, incoming) = unwrap(op.numpy_gradient), _given_to_gradient(op, facts)
    found, ends = function(example, outputs, incoming), (len(example), len(example) + len(outputs))
    picked = None
    if isinstance(found, list | tuple):
        picked = list(facts.differentiable) if len(found) == len(example) else list(range(len(found)))

    def on_arrays(*arrays: Any) -> Any:
        return function(arrays[: ends[0]], arrays[ends[0] : ends[1]], arrays[ends[1] :])

    return picked, writes_to_arrays(on_arrays, [*example, *outputs, *incoming])


def _given_to_gradient(op: Op, facts: Facts) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
    """Return inputs, outputs and gradients of the floating outputs, of an example."""
    example = examples_of(op, 1, 1)[0]
    outputs = [np.asarray(one) for one in as_tuple(op.numpy(*as_given(example)))]
    return example, outputs, [np.ones_like(outputs[place]) for place in facts.floating]


WRITERS: dict[str, Writer] = {
    "traced": _traced,
    "traced_xla": partial(_traced, is_compiled=True),
    "numba_op": _numba_op,
    BRIDGE: _numpy_function,
    "numpy_whole": partial(_numpy_function, is_of_batch=True),
    "numba_op_loop": partial(_numba_op, is_of_batch=True),
}
"""What writes a variant, by its name."""
