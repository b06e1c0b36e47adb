"""A NumPy body and what it needs as source, compiled by Numba or as it is, and the parts of a port to `numba_op`."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pyopbench.ports
from pyopbench.model.syntax import DEFINITIONS, Source, every_name, number_of
from pyopbench.ports.extract.module import unparsed
from pyopbench.ports.for_numba.rules import replacement_of
from pyopbench.ports.for_numba.types import Names, Types, names_in, tree
from pyopbench.ports.functions.sources import FOR_NUMBA, definitions
from pyopbench.ports.porting.facts import Axis, Facts
from pyopbench.ports.porting.module_text import LAYER, Code, Unit, Units

MODULE = Path(pyopbench.ports.__path__[0]) / "numba_op.py"
"""The code that each port has a copy of. It is read and not imported, because it imports Numba."""

DRAWN_ALIKE = {
    *("rand", "random", "random_sample", "ranf", "sample", "uniform", "randn", "normal", "standard_normal"),
    *("randint", "choice", "permutation", "shuffle", "binomial", "multinomial", "poisson", "geometric", "zipf"),
    *("exponential", "standard_exponential", "gumbel", "laplace", "logistic", "lognormal", "logseries", "power"),
    *("standard_cauchy", "wald", "weibull"),
}
"""Functions of `numpy.random` whose numbers Numba draws bit for bit after the same seed; of others the same
distributions."""


class BodyCode(Code):
    """Writes functions with a decorator, empty for none, and the body `root` under another name."""

    def __init__(self, units: Units, root: str, decorator: str, types: Types) -> None:
        super().__init__(units)
        self.root = root
        self.decorator = decorator
        self.types = types
        self.helpers: set[str] = set()  # functions of `for_numba.helpers` that are called
        self.drawn: set[str] = set()  # functions of `numpy.random` that are called

    def write_unit(self, unit: Unit) -> str:
        """Return a statement, functions with their decorator and all as Numba takes it."""
        self.unit = unit
        node = copy.deepcopy(unit.node)
        is_compiled = bool(self.decorator) and isinstance(node, DEFINITIONS)
        if isinstance(node, ast.FunctionDef) and is_compiled:
            if not any(self.value_of(one) is np.vectorize for one in node.decorator_list):
                node.decorator_list.insert(0, tree(self.decorator))
            _take_by_position(node.args)
        elif self.decorator and isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            node.value = ast.Tuple(node.value.elts, ast.Load())  # a list is a variable for Numba
        names = names_in(node, self.value_of, self.types, self.source.path) if is_compiled else None
        node = _Rewriting(self, names).visit(node)
        if isinstance(node, ast.FunctionDef) and unit.name == self.root:
            node.name = body_name(self.root)
        self.helpers |= every_name(node) & definitions(FOR_NUMBA).keys()
        return unparsed([(node, "")])[0].rstrip("\n")


class _Rewriting(ast.NodeTransformer):
    """Replaces nodes that Numba treats differently."""

    def __init__(self, code: BodyCode, names: Names | None) -> None:
        self.code, self.names = code, names

    def visit(self, node: ast.AST) -> Any:
        """Return the replacement for a node."""
        code = self.code
        if isinstance(node, ast.Raise) and code.decorator:
            return node
        if isinstance(node, ast.Call) and code.decorator:
            function = code.value_of(node.func)
            owner = getattr(function, "__self__", None)
            if isinstance(owner, random.Random):
                raise code.refusal(node, f"`{ast.unparse(node.func)}` draws other numbers in Numba than in Python")
            code.drawn |= {function.__name__} if isinstance(owner, np.random.RandomState) else set()
        if code.decorator and isinstance(node, ast.Attribute | ast.Name) and code.value_of(node) is np.vectorize:
            return tree("numba.vectorize")
        if isinstance(node, ast.Name) and node.id == code.root and code.is_global(node):
            return tree(body_name(code.root))
        new = replacement_of(node, self.names) if self.names is not None and number_of(node) >= 0 else None
        if isinstance(new, list):
            several = ast.Module(new, [])
            self.generic_visit(several)
            return several.body
        return self.generic_visit(node if new is None else new)


def _take_by_position(arguments: ast.arguments) -> None:
    """Make parameters by name alone positional ones, after the others: Numba does not find their defaults."""
    with_default = [one is not None for one in arguments.kw_defaults]
    is_in_order = with_default == sorted(with_default) and (all(with_default) or not arguments.defaults)
    if is_in_order and arguments.vararg is None:
        arguments.args += arguments.kwonlyargs
        arguments.defaults += [one for one in arguments.kw_defaults if one is not None]
        arguments.kwonlyargs, arguments.kw_defaults = [], []


def body_name(name: str) -> str:
    """Return the name of the body that is compiled."""
    return f"{name}_on_arrays"


def lines_of_body(text: str, source: Source) -> dict[int, int]:
    """Return lines of the body's file by lines of a port that was written from it: statement by statement.

    Functions with another number of statements than the user's are left out.
    """
    port = _functions(ast.parse(text))
    found: dict[int, int] = {}
    for name, theirs in _functions(source.tree).items():
        mine = port.get(body_name(name), port.get(name))
        if mine is None or len(_statements(mine)) != len(_statements(theirs)):
            continue
        for one, other in zip(_statements(mine), _statements(theirs), strict=True):
            found |= dict.fromkeys(range(one.lineno, (one.end_lineno or one.lineno) + 1), other.lineno)
    return found


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return functions by name, the outer one of several."""
    return {node.name: node for node in reversed([*ast.walk(tree)]) if isinstance(node, ast.FunctionDef)}


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function but for its docstring, those around others first."""
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    inside = [node for one in function.body for node in ast.walk(one) if isinstance(node, ast.stmt)]
    return [one for one in inside if one is not docstring]


# The parts of a port to `numba_op` around the body: the function that calls it, the op, the function of tensors.


def call_of_body(facts: Facts, copied: Sequence[int]) -> tuple[str, str]:
    """Return the name of the function that is called with arrays, and its source: empty where that is the body itself.

    Args:
        facts: what the body takes and returns.
        copied: the positions of the inputs that it may write to.
    """
    body = body_name(facts.function)
    if not copied:
        return body, ""
    names = [name for name, _, _ in facts.inputs]
    given = ", ".join(f"{name}.copy()" if place in copied else name for place, name in enumerate(names))
    name = f"{facts.function}_on_copies"
    text = f'''
@numba.njit
def {name}({", ".join(names)}):
    """Call the body with copies of what it may write to: TensorFlow shares the memory of its tensors."""
    return {body}({given})
'''
    return name, text


def call_after_seeding(facts: Facts, body: str) -> tuple[str, str]:
    """Return the name of the function that takes a seed behind the arguments of a body, and its source."""
    names, name = ", ".join(name for name, _, _ in facts.inputs), f"{facts.function}_after_seeding"
    text = f'''
@numba.njit
def {name}({names}, seed):
    """Call the body after seeding: Numba has a generator for each thread."""
    np.random.seed(seed)
    return {body}({names})
'''
    return name, text


def loop_over(
    body: str, inputs: Sequence[str], outputs: Sequence[tuple[str, int]], *, is_tuple: bool
) -> tuple[str, str]:
    """Return the name of the loop over a batch, and its source.

    Args:
        body: the name of the function that is called for each example.
        inputs: names of its arguments.
        outputs: dtype of each output and number of axes of that of an example.
        is_tuple: does it return a tuple?
    """
    name, comma = f"{body}_over_batch", "," if is_tuple and len(outputs) == 1 else ""
    many, results = ([f"{word}_{place}" for place in range(len(outputs))] for word in ("output", "result"))
    made, stored = "", ""
    for one, result, (dtype, rank) in zip(many, results, outputs, strict=True):
        sizes = f"len({inputs[0]}), *{result}.shape" if rank else f"len({inputs[0]}),"
        kind = "bool_" if dtype == "bool" else dtype  # NumPy 1.24 to 1.26 have no `np.bool`
        made += f"    {one} = np.empty(({sizes}), np.{kind})\n    {one}[0] = {result}\n"
        if rank:  # an array of one element would be spread over the place of more
            stored += f"        if {result}.shape != {one}.shape[1:]:\n"
            stored += '            raise ValueError("an example has outputs of another shape")\n'
        stored += f"        {one}[example] = {result}\n"
    text = f'''
@numba.njit
def {name}({", ".join(inputs)}):
    """Return what the body returns for each example of a batch."""
    if not len({inputs[0]}):
        raise ValueError("the batch has no examples")
    {", ".join(results)}{comma} = {body}({", ".join(f"{one}[0]" for one in inputs)})
{made}    for example in range(1, len({inputs[0]})):
        {", ".join(results)}{comma} = {body}({", ".join(f"{one}[example]" for one in inputs)})
{stored}    return {", ".join(many)}{comma}
'''
    return name, text


def call_of_gradient(
    facts: Facts, gradient: str, picked: Sequence[int] | None, *, is_writing: bool
) -> tuple[str, str, list[str]]:
    """Return the name of the function of arrays that is the gradient, its source, and the names of its arguments.

    Args:
        facts: what the body takes and returns, for one example.
        gradient: the name of the user's gradient.
        picked: which of its results are by the differentiable inputs; None if that is an array, the only one.
        is_writing: does it write to arrays that it is given?
    """
    inputs = {name: rank for name, _, rank in facts.inputs}
    outputs = {f"found_{place}": len(shape) for place, (_, shape) in enumerate(facts.outputs)}
    incoming = {f"output_gradient_{place}": len(facts.outputs[place][1]) for place in facts.floating}
    groups = [
        "".join(f"{one}.copy(), " if is_writing and rank else f"{one}, " for one, rank in several.items())
        for several in (inputs, outputs, incoming)
    ]
    chosen = "found" if picked is None else f"({', '.join(f'found[{place}]' for place in picked)},)"
    name, names = f"{gradient}_on_arrays", [*inputs, *outputs, *incoming]
    text = f'''
@numba.njit
def {name}({", ".join(names)}):
    """Return the gradients by the differentiable inputs."""
    found = {gradient}({", ".join(f"({one})" for one in groups)})
    return {chosen}
'''
    return name, text, names


def op_text(
    name: str,
    body: str,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, Sequence[Axis | None]]],
    gradient: str = "",
) -> str:
    """Return the statement that makes an op, as arguments of `NumbaOp` have it."""
    sizes = [(dtype, tuple(shape)) for dtype, shape in outputs]
    return f"{name} = NumbaOp({body}, inputs={list(inputs)}, outputs={sizes}, gradient={gradient or None})"


def wrapper(facts: Facts, doc: str, op: str, *, is_seeded: bool = False) -> str:
    """Return the function of tensors, which calls an op; `is_seeded` if that takes a seed, too."""
    names = parameters = ", ".join(name for name, _, _ in facts.inputs)
    draws = ""
    if is_seeded:
        draws = "    if seed is None:\n        seed = tf.random.uniform([], 0, 2**31 - 1, tf.int32)\n"
        names, parameters = f"{names}, seed", f"{names}, seed=None"
    found = f"{op}({names})" if len(facts.outputs) == 1 else f"tuple({op}({names}))"
    return f"@{LAYER}\ndef {facts.function}({parameters}):\n    {doc}\n{draws}    return {found}"
