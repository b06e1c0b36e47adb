"""The arguments of a call, by NumPy's names of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from pyopbench.ports.porting.observe import OTHER
from pyopbench.ports.porting.typed import TypedCode, joined
from pyopbench.ports.tensor_functions.sources import FUNCTIONS


@dataclass(frozen=True)
class Given:
    """A call of a function of NumPy's.

    Attributes:
        code: the writer.
        name: of the function, as tables have it.
        node: the call.
        by_name: its arguments.
    """

    code: TypedCode
    name: str
    node: ast.expr
    by_name: dict[str, ast.expr]

    def __getitem__(self, name: str) -> ast.expr:
        """Return an argument that has to be there."""
        if name not in self.by_name:
            raise self.code.refusal(self.node, f"`{self.name}` is called without `{name}`")
        return self.by_name[name]

    def get(self, name: str) -> ast.expr | None:
        """Return an argument; None for one that was not given, or given as None."""
        found = self.by_name.get(name)
        return None if isinstance(found, ast.Constant) and found.value is None else found

    def option(self, name: str) -> str:
        """Return `name=value` as it stands; empty for what was not given."""
        found = self.get(name)
        return "" if found is None else f"{name}={self.code.write(found)}"

    def reduced(self, function: str, dtype: str) -> str:
        """Return the call of a reduction of `a`, along `axis` and with `keepdims` where they are given."""
        text = self.code.tensor(self["a"], dtype)
        return f"{function}({joined([text, self.option('axis'), self.option('keepdims')])})"

    @property
    def dtype(self) -> str:
        """The dtype that NumPy's result has."""
        return self.code.dtype(self.node)


def given(
    code: TypedCode, name: str, node: ast.Call, first: ast.expr | None, parameters: Sequence[str]
) -> Given | None:
    """Return the arguments of a call by the names of NumPy's parameters; None where there are others.

    Args:
        code: the writer.
        name: of the function.
        node: the call.
        first: the array of which it is a method; None for a function.
        parameters: of the function, those that can be written; `*name` takes all that is left.
    """
    positional = [*([] if first is None else [first]), *node.args]
    found: dict[str, ast.expr] = {}
    names = [one for one in parameters if one != "|"]
    by_place = parameters[: parameters.index("|")] if "|" in parameters else names
    for place, argument in enumerate(positional):
        if place >= len(by_place) or isinstance(argument, ast.Starred):
            return None
        if by_place[place].startswith("*"):
            found[by_place[place][1:]] = several(positional[place:])
            break
        found[by_place[place]] = argument
    names = [one.removeprefix("*") for one in names]
    for number, keyword in enumerate(node.keywords):
        # An array is called `a` in one function and `x` in another.
        is_first = number == 0 and not positional and keyword.arg not in names
        if is_first and keyword.arg in FIRST:
            found[names[0]] = keyword.value
        elif keyword.arg in names:
            found[keyword.arg] = keyword.value
        else:
            return None
    axis = found.get("axis")
    if name in FUNCTIONS and isinstance(axis, ast.Name) and {one.kind for one in code.seen(axis)} == {OTHER}:
        return None  # a name that is None, which the functions on tensors take as NumPy's do
    return Given(code, name, node, found)


FIRST = ("a", "x", "arr", "ary", "m", "array", "v", "p")
"""What NumPy calls the first array of a function."""


def several(nodes: Sequence[ast.expr]) -> ast.expr:
    """Return arguments that may be given one by one or as a tuple as one tuple or sequence."""
    if len(nodes) == 1:
        return nodes[0]
    return ast.copy_location(ast.Tuple(list(nodes), ast.Load()), nodes[0])
