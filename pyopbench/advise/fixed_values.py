"""Values of the program that the file of a change contains as constants, such as attributes that a method reads.

The program may have other values later. So the patch hands its values over wherever they can be written at the call,
and the file fails if they are not those that it contains: `my_port.made_with(STD=self.std).outputs_of([x])`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

MADE_WITH = "made_with"

CHECK = '''

def made_with(**values):
    """Return this module if it contains these values of the program as constants.

    Raises:
        ValueError: it contains another one.
    """
    import sys

    import numpy

    for name, value in values.items():
        mine = globals()[name]
        try:
            numpy.testing.assert_equal(value, mine)
        except AssertionError:
            raise ValueError(
                f"{name} is {value!r} in the program, but this file was written for {mine!r}: write it again"
            ) from None
    return sys.modules[__name__]
'''


def fixed_names(port: str, spellings: Mapping[str, str]) -> dict[str, str]:
    """Return the constants of a file that are values of the program, each with its expression in the program.

    Args:
        port: the text of the file.
        spellings: as of `KeptSource`.
    """
    statements = [one for one in ast.parse(port).body if isinstance(one, ast.Assign)]
    names = {target.id for one in statements for target in one.targets if isinstance(target, ast.Name)}
    return {name: spelled for name, spelled in spellings.items() if name in names}


def at_call(body: ast.AST | None, spelled: Mapping[str, str]) -> dict[str, str]:
    """Return those values that can be written where a callback is made, with the expressions for them there.

    A method, such as `self.scale` or `loader.scale`, has its object at hand, and a lambda the names around it. What a
    function captures may not be visible where it is called.

    Args:
        body: what the call names as the function to call back.
        spelled: as from `fixed_names`.
    """
    found = {}
    for name, text in spelled.items():
        expression = ast.parse(text, mode="eval").body
        root = expression
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if not isinstance(root, ast.Name):
            continue
        if isinstance(body, ast.Lambda) and root.id not in {
            one.arg for one in ast.walk(body.args) if isinstance(one, ast.arg)
        }:
            found[name] = text
        elif isinstance(body, ast.Attribute) and _is_path(body.value) and root is not expression and root.id == SELF:
            found[name] = ast.unparse(_Renamed(body.value).visit(expression))
    return found


SELF = "self"


class _Renamed(ast.NodeTransformer):
    """Puts another expression in the place of `self`."""

    def __init__(self, instead: ast.expr) -> None:
        self.instead = instead

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.instead if node.id == SELF else node


def _is_path(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
