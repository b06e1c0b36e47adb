"""From an own op and the name of a variant to the text of a port and of its test."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path

from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.model.portable import BATCHED, BatchedPort, format_text
from pyopbench.ports.porting import batches, skeleton
from pyopbench.ports.porting.check_file import Inputs, Old, check_file
from pyopbench.ports.porting.example_inputs import add_inputs
from pyopbench.ports.porting.facts import Facts, examples_of, facts_of
from pyopbench.ports.porting.observe import definition_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.source import Source
from pyopbench.ports.porting.units import Units
from pyopbench.ports.porting.writers import WRITERS, Body, Made, compiled
from pyopbench.ports.rebinding import written

OBSERVED_SIZES = 2


@dataclass(frozen=True)
class PortModule:
    """A port as the text of a module: what is measured, what a report shows, and what the command `port` puts in place.

    Attributes:
        text: of the module.
        function: the name of the function of tensors in it.
        not_run: lines of the user's that no example went through: file and line.
        notes: what holds for it, as kinds of findings.
        kernel: the text of the C++ that the port loads; empty where it loads none.
        commands: what to run or to write with it, by kind: `build`, `dataset`.
        has_gradient: does a gradient flow back through it?
        facts: what it takes and returns.
        body: the name, and the file and its definition, of the body that it stands for.
    """

    text: str
    function: str
    not_run: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    kernel: str
    commands: tuple[tuple[str, str], ...]
    has_gradient: bool
    facts: Facts
    body: tuple[str, Source]


def write_port(op: Op, variant: str, module: str = "") -> PortModule:
    """Return an own op as the source of a module.

    Args:
        op: whose NumPy body is ported.
        variant: whose port it is.
        module: the name of the module that it will be, which only a kernel asks for.

    Raises:
        CannotPort: it cannot be written as source.
    """
    _check(op)
    source, definition = definition_of(written(op.numpy))
    keywords = op.own.keywords if op.own is not None else ()
    names = _names(definition, keywords, len(examples_of(op, 1, 1)[0]))
    one = facts_of(op, definition.name, names, Path(source.path).name)
    form = BATCHED.get(variant, BatchedPort(variant, ""))
    if form.how:
        batches.require_fixed_shapes(op)
    facts, made = _made(op, Body(source, definition, one, keywords, module), form)
    commands = {"build": skeleton.build_command(module)} if made.kernel else {}
    if form.how:
        commands["dataset"] = batches.dataset_call(facts, () if form.how == "map" else keywords)
    return PortModule(
        text=format_text(made.text),
        function=facts.function,
        not_run=made.not_run,
        notes=made.notes,
        kernel=made.kernel,
        commands=tuple(commands.items()),
        has_gradient=made.has_gradient,
        facts=facts,
        body=(one.function, source),
    )


def write_test(op: Op, target: Target, variant: str, module: str, port: PortModule) -> str:
    """Return the text of the test of a port.

    Args:
        op: whose NumPy body is ported.
        target: how the command line names it.
        variant: whose port it is.
        module: the name of the module that the port is.
        port: it.

    Raises:
        CannotPort: the test cannot be written as source.
    """
    one, source = port.body
    inputs = Units()
    expression = add_inputs(inputs, target, source, op)
    facts, keywords = port.facts, op.own.keywords if op.own is not None else ()
    gradient = ""
    if op.numpy_gradient is not None:
        home, of_gradient = definition_of(written(op.numpy_gradient))
        gradient = inputs.add(home, of_gradient.name).name
    inputs.add(source, one)
    if not port.has_gradient:
        facts = replace(facts, differentiable=())
    old = Old(
        inputs,
        op.tolerance[op.dtypes[0]],
        gradient,
        one,
        is_of_one=variant in BATCHED,
        is_on_tensors=op.py_function is not None,
    )
    is_fixed = op.own is not None and op.own.fixed_sizes
    given = Inputs(expression, keywords, is_fixed=is_fixed)
    return format_text(check_file(module, facts, old, given, on_keras=variant == "keras_ops"))


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
    text = batches.mapped(made.text, one, facts, body.keywords)
    return facts, replace(made, text=compiled(text, facts.function) if form.is_compiled else text)


def _check(op: Op) -> None:
    if op.is_on_tensors:
        raise CannotPort(
            "the body of `tf.py_function` computes with TensorFlow on the tensors that it gets",
            fix="ports are written from bodies that compute with NumPy",
        )
    if op.own is not None and op.own.is_random:
        raise CannotPort("the body draws random numbers", fix="draw them outside, and pass them in")
    if any(one.dtype.kind == "O" for one in examples_of(op, 1, 1)[0]):
        raise CannotPort("an input is text, which no port is written for")


def _names(definition: ast.FunctionDef | ast.AsyncFunctionDef, keywords: tuple[str, ...], count: int) -> list[str]:
    arguments = definition.args
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][: count - len(keywords)]
    if len(positional) + len(keywords) < count:
        raise CannotPort("the body takes any number of arguments", fix="name them", place=None)
    return [*positional, *keywords]
