"""From an own op and the name of a variant to the text of a port and of its test."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path

from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.model.portable import BATCHED, BatchedPort
from pyopbench.ports.porting import batches, skeleton
from pyopbench.ports.porting.check_file import Inputs, Old, check_file
from pyopbench.ports.porting.example_inputs import add_inputs
from pyopbench.ports.porting.facts import Facts, examples_of, facts_of
from pyopbench.ports.porting.observe import definition_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.source import Source, read_source
from pyopbench.ports.porting.units import Units, module_of
from pyopbench.ports.porting.writers import WRITERS, Body, CheckCompiled, Made
from pyopbench.ports.rebinding import written
from pyopbench.ports.text.kinds import has_text

OBSERVED_SIZES = 2
OF_TEXT = ("traced",)
"""Variants that are written of a body on text."""


@dataclass(frozen=True)
class Ported:
    """A port as source.

    Attributes:
        port: the text of the module.
        test: the text of its test.
        function: the name of the function in it.
        not_run: lines of the user's that no example went through: file and line.
        notes: what holds for it, as kinds of findings.
        kernel: the text of the C++ that the port loads; empty where it loads none.
        commands: what to run or to write with it, by kind: `build`, `dataset`.
    """

    port: str
    test: str
    function: str
    not_run: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    kernel: str = ""
    commands: tuple[tuple[str, str], ...] = ()


def port(op: Op, target: Target, variant: str, module: str, check_compiled: CheckCompiled) -> Ported:
    """Return an own op as source.

    Args:
        op: the user's op.
        target: how the command line names it.
        variant: whose port it is.
        module: the name of the module that it will be.
        check_compiled: checks that Numba compiles the body, before a port that has Numba compile it is written.

    Raises:
        CannotPort: it cannot be written as source.
    """
    body = written(op.numpy)
    _check(op, variant)
    source, definition = definition_of(body)
    inputs = Units()
    expression = add_inputs(inputs, target, source, op)
    keywords = _keywords(target, source)
    names = _names(definition, keywords, len(examples_of(op, 1, 1)[0]))
    one = facts_of(op, definition.name, names, Path(source.path).name)
    form = BATCHED.get(variant, BatchedPort(variant, ""))
    if form.how:
        batches.require_fixed_shapes(op)
    facts, made = _made(op, Body(source, definition, one, keywords, module, check_compiled), form)
    gradient = ""
    if op.numpy_gradient is not None:
        home, of_gradient = definition_of(written(op.numpy_gradient))
        gradient = inputs.add(home, of_gradient.name).name
    inputs.add(source, definition.name)
    if not made.has_gradient:
        facts = replace(facts, differentiable=())
    is_on_tensors = op.py_function is not None
    old = Old(
        inputs,
        op.tolerance[op.dtypes[0]],
        gradient,
        one.function,
        is_of_one=bool(form.how),
        is_on_tensors=is_on_tensors,
    )
    is_fixed = op.own is not None and op.own.fixed_sizes
    given = Inputs(expression, keywords, is_fixed=is_fixed)
    test = check_file(module, facts, old, given, on_keras=variant == "keras_ops")
    commands = {"build": skeleton.build_command(module)} if made.kernel else {}
    if form.how:
        commands["dataset"] = batches.dataset_call(facts, () if form.how == "map" else keywords)
    return Ported(made.text, test, facts.function, made.not_run, made.notes, made.kernel, tuple(commands.items()))


def _made(op: Op, body: Body, form: BatchedPort) -> tuple[Facts, Made]:
    """Return what a port takes and returns, and its text."""
    one, write = body.facts, WRITERS[form.writer]
    examples = examples_of(op, OBSERVED_SIZES, 1)
    if form.how in ("whole", "loop"):
        facts = batches.of_batch(one, one.function)
        return facts, write(op, replace(body, facts=facts), batches.stacked(examples))
    made = write(op, body, examples)
    if form.how != "map":
        return one, made
    facts = batches.of_batch(one, f"{one.function}_batch")
    return facts, replace(made, text=batches.mapped(made.text, one, facts, body.keywords))


def _check(op: Op, variant: str) -> None:
    if op.is_on_tensors:
        raise CannotPort(
            "the body of `tf.py_function` computes with TensorFlow on the tensors that it gets",
            fix="ports are written from bodies that compute with NumPy",
        )
    if op.own is not None and op.own.is_random:
        raise CannotPort("the body draws random numbers", fix="draw them outside, and pass them in")
    if has_text(op, examples_of(op, 1, 1)) and variant not in OF_TEXT:
        raise CannotPort(
            "an input or an output is text, which is written in TensorFlow's string ops alone", fix="port it to traced"
        )


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
