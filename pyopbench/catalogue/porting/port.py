"""From an own op and the name of a variant to the text of a port and of its test."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pyopbench.catalogue.arrays import as_given
from pyopbench.catalogue.gradients import as_tuple
from pyopbench.catalogue.own.load import load_own
from pyopbench.catalogue.porting import numba_code
from pyopbench.catalogue.porting.check_file import Inputs, Old, check_file
from pyopbench.catalogue.porting.documented import documented
from pyopbench.catalogue.porting.example_inputs import add_inputs
from pyopbench.catalogue.porting.facts import Facts, docstring, examples_of, facts_of
from pyopbench.catalogue.porting.module_text import module_text
from pyopbench.catalogue.porting.observe import definition_of, observe
from pyopbench.catalogue.porting.refusal import CannotPort
from pyopbench.catalogue.porting.snippets import source_of
from pyopbench.catalogue.porting.source import Source, read_source
from pyopbench.catalogue.porting.tensor_code import TensorCode
from pyopbench.catalogue.porting.tnp_code import TnpCode
from pyopbench.catalogue.porting.units import Unit, Units, module_of
from pyopbench.catalogue.rebinding import written
from pyopbench.core.op import Op
from pyopbench.core.own_target import Target

OBSERVED_SIZES = 2


@dataclass(frozen=True)
class Ported:
    """A port as source.

    Attributes:
        port: the text of the module.
        test: the text of its test.
        function: the name of the function in it.
        not_run: lines of the user's that no example went through: file and line.
        notes: what holds for it, as kinds of findings.
    """

    port: str
    test: str
    function: str
    not_run: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


def port(target: Target, variant: str, module: str) -> Ported:
    """Return an own op as source.

    Args:
        target: what a command line names.
        variant: whose port it is.
        module: the name of the module that it will be.

    Raises:
        CannotPort: it cannot be written as source.
        BadInput: the op cannot be loaded.
    """
    op = load_own(target.name)
    body = written(op.numpy)
    _check(op)
    source, definition = definition_of(body)
    inputs = Units()
    expression = add_inputs(inputs, target, source, op)
    keywords = _keywords(target, source)
    facts = facts_of(op, _names(definition, keywords, len(examples_of(op, 1, 1)[0])), Path(source.path).name)
    made = WRITERS[variant](op, source, definition, facts)
    gradient = ""
    if op.numpy_gradient is not None:
        home, of_gradient = definition_of(written(op.numpy_gradient))
        gradient = inputs.add(home, of_gradient.name).name
    inputs.add(source, definition.name)
    if not made.has_gradient:
        facts = replace(facts, differentiable=())
    tolerance = op.tolerance[op.dtypes[0]]
    test = check_file(module, facts, Old(inputs, tolerance, gradient), Inputs(expression, keywords))
    return Ported(made.text, test, facts.function, made.not_run, made.notes)


def _check(op: Op) -> None:
    if op.own is not None and op.own.py_function is not None:
        raise CannotPort("the body is one of TensorFlow's already", fix="ports are written of bodies in NumPy")
    if op.own is not None and op.own.is_random:
        raise CannotPort("the body draws random numbers", fix="draw them outside, and pass them in")
    if any(one.dtype.kind == "O" for one in examples_of(op, 1, 1)[0]):
        raise CannotPort("an input is text, which no port is written for")


def _keywords(target: Target, source: Source) -> tuple[str, ...]:
    """Return the names of the inputs that the body takes by name: of the command line, or of the file."""
    if target.function:
        return target.keywords
    home = read_source(target.place) if target.is_file else source
    return tuple(getattr(vars(module_of(home)).get("OP"), "keywords", ()))


def _names(definition: ast.FunctionDef | ast.AsyncFunctionDef, keywords: tuple[str, ...], count: int) -> list[str]:
    arguments = definition.args
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][: count - len(keywords)]
    if len(positional) + len(keywords) < count:
        raise CannotPort("the body takes any number of arguments", fix="name them", place=None)
    return [*positional, *keywords]


@dataclass(frozen=True)
class Made:
    """The text of a module, and what holds for it."""

    text: str
    has_gradient: bool = True
    not_run: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


Writer = Callable[[Op, Source, Any, Facts], Made]


def _traced(op: Op, source: Source, definition: Any, facts: Facts) -> Made:
    units = Units()
    units.add(source, definition.name)
    observed = observe(op.numpy, examples_of(op, OBSERVED_SIZES, 1))
    code = TensorCode(units, observed)
    statements = {unit.name: code.write_unit(unit) for unit in units.in_order()}
    notes = ["fixed shapes"] if code.fixed_shapes else []
    says = ["Shapes have to be known where it is traced, as they are in a `tf.function`."] if notes else []
    doc = docstring(
        ast.get_docstring(definition) or "",
        facts,
        f"TensorFlow port of `{facts.function}` in {facts.file}; the gradient is TensorFlow's own.",
        says,
    )
    statements[definition.name] = documented(statements[definition.name], doc)
    texts = _with_snippets(units, statements, sorted(code.snippets))
    text = module_text(f"`{facts.function}` of {facts.file} as TensorFlow ops.", texts, units)
    return Made(text, not_run=tuple(sorted(set(code.not_run))), notes=tuple(notes))


def _with_snippets(units: Units, statements: dict[str, str], snippets: list[str]) -> list[str]:
    """Return constants, then the functions that are not the user's, then theirs."""
    taken = [name for name in snippets if any(name in _bound_in(unit.node) for unit in units.in_order())]
    if taken:
        raise CannotPort(f"`{taken[0]}` is the name of a function that the port needs", fix="give yours another name")
    constants = [statements[unit.name] for unit in units.in_order() if not _is_function(unit)]
    functions = [statements[unit.name] for unit in units.in_order() if _is_function(unit)]
    return [*_together(constants), *source_of(snippets), *functions]


def _bound_in(node: ast.AST) -> set[str]:
    """Return all names that the user's statement binds, its own and those of its functions."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    return names | {one.name for one in ast.walk(node) if isinstance(one, ast.FunctionDef)}


def _together(constants: list[str]) -> list[str]:
    return ["\n".join(one.strip("\n") for one in constants)] if constants else []


def _is_function(unit: Unit) -> bool:
    return isinstance(unit.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _tnp(op: Op, source: Source, definition: Any, facts: Facts, *, is_compiled: bool = False) -> Made:
    units = Units()
    units.add(source, definition.name)
    code = TnpCode(units)
    statements = {unit.name: code.write_unit(unit) for unit in units.in_order()}
    with_xla = ", compiled by XLA" if is_compiled else ""
    to = f"`tf.experimental.numpy`{with_xla}; the gradient is TensorFlow's own."
    how = f"Port of `{facts.function}` in {facts.file} to {to}"
    doc = docstring(ast.get_docstring(definition) or "", facts, how, [])
    statements[definition.name] = documented(statements[definition.name], doc)
    if is_compiled:
        head = f"def {definition.name}("
        decorated = f"@tf.function(jit_compile=True)\n{head}"
        statements[definition.name] = statements[definition.name].replace(head, decorated, 1)
    texts = _with_snippets(units, statements, [])
    return Made(module_text(f"`{facts.function}` of {facts.file} in `tf.experimental.numpy`.", texts, units))


def _tnp_xla(op: Op, source: Source, definition: Any, facts: Facts) -> Made:
    return _tnp(op, source, definition, facts, is_compiled=True)


def _njit(op: Op, source: Source, definition: Any, facts: Facts, *, parallel: bool = False) -> Made:
    units = Units()
    units.add(source, definition.name)
    compiled = {unit.name for unit in units.in_order() if _is_function(unit)}
    gradient, picked = "", list(range(len(facts.differentiable)))
    if op.numpy_gradient is not None:
        home, of_gradient = definition_of(written(op.numpy_gradient))
        gradient = units.add(home, of_gradient.name).name
        picked = _picked(op, facts)
    code = numba_code.NumbaCode(units, definition.name, compiled, parallel=parallel)
    statements = {unit.name: code.write_unit(unit) for unit in units.in_order()}
    how = f"`{facts.function}` of {facts.file}, compiled by Numba, behind `tf.numpy_function`."
    notes = [] if gradient or not facts.differentiable else ["It has no gradient, as the callback had none."]
    doc = docstring(ast.get_docstring(definition) or "", facts, how, notes)
    texts = _with_snippets(units, statements, [])
    texts += [numba_code.adapter(facts), numba_code.wrapper(facts, doc, gradient, picked)]
    text = module_text(f"`{facts.function}` of {facts.file}, compiled by Numba.", texts, units)
    return Made(text, has_gradient=bool(gradient), notes=("callback",))


def _picked(op: Op, facts: Facts) -> list[int]:
    """Return which results of the user's gradient are those by the differentiable inputs."""
    example = examples_of(op, 1, 1)[0]
    outputs = [np.asarray(one) for one in as_tuple(op.numpy(*as_given(example)))]
    incoming = [np.ones_like(outputs[place]) for place in facts.floating]
    assert op.numpy_gradient is not None
    found = as_tuple(written(op.numpy_gradient)(example, outputs, incoming))
    return list(facts.differentiable) if len(found) == len(example) else list(range(len(found)))


def _njit_parallel(op: Op, source: Source, definition: Any, facts: Facts) -> Made:
    return _njit(op, source, definition, facts, parallel=True)


WRITERS: dict[str, Writer] = {
    "traced": _traced,
    "tnp": _tnp,
    "tnp_autograph": _tnp,
    "tnp_xla": _tnp_xla,
    "njit": _njit,
    "njit_parallel": _njit_parallel,
}
"""What can be written, by the name of the variant."""
