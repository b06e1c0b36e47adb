"""A NumPy body, compiled by Numba or as it is, behind `tf.numpy_function`, as source."""

from __future__ import annotations

import ast
import random
import textwrap
from collections.abc import Sequence, Set

import numpy as np

from pyopbench.model.source_text import parts_of
from pyopbench.ports.conversions import on_arrays
from pyopbench.ports.for_numba.instead import BODY, Instead, helper_names
from pyopbench.ports.for_numba.names import Names, names_in
from pyopbench.ports.for_numba.rules import instead_of
from pyopbench.ports.for_numba.types import Types
from pyopbench.ports.porting.facts import Facts
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.render import Code, with_head
from pyopbench.ports.porting.units import Unit, Units


class CallbackCode(Code):
    """Writes functions with the decorator that compiles them, if there is one, the body under a name of its own.

    Args:
        units: where the statements are from.
        root: the name of the body.
        compiled: names of the functions that are compiled.
        decorator: what compiles them; empty where nothing does.
        types: of the expressions of what is compiled.

    Attributes:
        helpers: the functions of `for_numba.helpers` that were written calls of.
        drawn: names of the functions of `numpy.random` that are called.
    """

    def __init__(self, units: Units, root: str, compiled: Set[str], decorator: str, types: Types) -> None:
        super().__init__(units)
        self.root = root
        self.compiled = compiled
        self.decorator = decorator
        self.types = types
        self.helpers: set[str] = set()
        self.drawn: set[str] = set()
        self.names: Names | None = None

    def write_unit(self, unit: Unit) -> str:
        """Return a statement, functions with their decorator and all as Numba takes it."""
        is_compiled = self.decorator and unit.name in self.compiled
        self.names = names_in(unit.node, self.value_of, self.types, unit.source.path) if is_compiled else None
        text = super().write_unit(unit)
        if unit.name not in self.compiled:
            return text
        if unit.name == self.root:
            text = with_head(text, self.root, f"def {body_name(self.root)}(")
        if not self.decorator or self._is_vectorized(unit.node):
            return text
        lines = text.splitlines(keepends=True)
        first = next(place for place, line in enumerate(lines) if line.startswith(("def ", "@")))
        return "".join([*lines[:first], f"{self.decorator}\n", *lines[first:]])

    def _is_vectorized(self, node: ast.AST) -> bool:
        """Is it a function of elements, which Numba has a decorator for?"""
        return any(self.value_of(one) is np.vectorize for one in getattr(node, "decorator_list", ()))

    def as_it_stands(self, node: ast.AST) -> str:
        """Return a node; of a function with parameters by position too that are given by name alone.

        Numba finds no default of those.
        """
        if not isinstance(node, ast.FunctionDef) or not self.decorator or not _can_be_by_position(node.args):
            return super().as_it_stands(node)
        parts = [(*self.source.span(part), self.write(part)) for part in parts_of(node)]
        end, _ = self.source.span(node.args.kwonlyargs[0])
        star = self.source.data.rindex(b"*", 0, end)
        return self.source.replaced(*self.source.span(node), [*parts, (star, end, "")])

    def rewrite(self, node: ast.AST) -> str | None:
        """Return the body's new name, and a tuple for a list among the constants, which Numba takes for a variable."""
        if isinstance(node, ast.Name) and node.id == self.root and self.is_global(node):
            return body_name(self.root)
        if self.decorator and isinstance(node, ast.Attribute | ast.Name) and self.value_of(node) is np.vectorize:
            return "numba.vectorize"
        if not self.decorator:
            made = on_arrays(node, self.value_of)
            return self.filled(made) if made else super().rewrite(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and node in self.source.tree.body:
            items = ", ".join(self.write(one) for one in node.value.elts)
            names = " = ".join(self.source.text(*self.source.span(one)) for one in node.targets)
            return f"{names} = ({items}{',' if len(node.value.elts) == 1 else ''})"
        if isinstance(node, ast.Raise):
            return self.source.text(*self.source.span(node))
        if isinstance(node, ast.Call):
            self._note_draw(node)
        instead = on_arrays(node, self.value_of) or (self.names and instead_of(node, self.names))
        return self._filled(instead, node) if instead else super().rewrite(node)

    def _note_draw(self, node: ast.Call) -> None:
        function = self.value_of(node.func)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, np.random.RandomState):
            self.drawn.add(function.__name__)
        elif isinstance(owner, random.Random):
            raise CannotPort(
                f"`{ast.unparse(node.func)}` draws other numbers in Numba than in Python",
                fix="draw by functions of `np.random`",
                place=(self.source.path, node.lineno),
            )

    def _filled(self, instead: Instead, node: ast.AST) -> str:
        self.helpers |= helper_names(instead.text)
        if instead.text == BODY:
            return self._statements(instead.parts, node)
        return self.filled(instead)

    def _statements(self, body: Sequence[ast.stmt], node: ast.AST) -> str:
        """Return statements at the indentation of the one that they stand in."""
        spans = [self.source.span(one) for one in body]
        replacements = [(*span, self.write(one)) for span, one in zip(spans, body, strict=True)]
        text = self.source.replaced(spans[0][0], spans[-1][1], replacements)
        indented = textwrap.dedent(" " * body[0].col_offset + text)
        return textwrap.indent(indented, " " * node.col_offset).lstrip()  # type: ignore[attr-defined]


def _can_be_by_position(arguments: ast.arguments) -> bool:
    """Has a function parameters that are given by name alone, and may they stand behind those by position?"""
    with_default = [one is not None for one in arguments.kw_defaults]
    is_in_order = with_default == sorted(with_default) and (all(with_default) or not arguments.defaults)
    return bool(arguments.kwonlyargs) and arguments.vararg is None and is_in_order


def body_name(name: str) -> str:
    """Return the name of the body that is compiled."""
    return f"{name}_on_arrays"


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


GRADIENT = """
def {name}(inputs, outputs, output_gradients):
    {doc}
    rows = zip(zip(*inputs), zip(*outputs), zip(*output_gradients))
    return [np.stack(one) for one in zip(*({called} for row in rows))]
"""

GRADIENT_DOC = '"""Return the gradient of each example of a batch, with a leading axis."""'


def batch_name(gradient: str) -> str:
    """Return the name of what calls a gradient of one example for each of a batch."""
    return f"{gradient}_of_batch"


def gradient_of_batch(name: str, *, is_array: bool) -> str:
    """Return the function that calls a gradient of one example for each of a batch.

    Args:
        name: of that gradient.
        is_array: does it return an array, and not a list or a tuple?
    """
    call = f"{name}(*map(list, row))"
    called = f"[{call}]" if is_array else call
    return GRADIENT.format(name=batch_name(name), doc=GRADIENT_DOC, called=called)
