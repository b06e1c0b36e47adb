"""Constants copied from the program: attributes that a method reads, and variables that a function captures.

The program may later have other values. So the patched call passes the program's values wherever an expression for them
is valid there, and the file of the port raises an error if one differs from its constant:
`my_port.require_values(STD=self.std).outputs_of([x])`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from pyopbench.model.syntax import every_name, root_of

REQUIRE_VALUES = "require_values"

REQUIRE_VALUES_SOURCE = '''

def require_values(**values):
    """Return this module, after checking the constants that were copied from the program.

    Raises:
        ValueError: a constant differs from the program's value.
    """
    import sys

    import numpy

    def is_same(value, expected):
        if isinstance(expected, (list, tuple)):
            is_alike = isinstance(value, (list, tuple)) and len(value) == len(expected)
            return is_alike and all(is_same(*pair) for pair in zip(value, expected))
        if isinstance(expected, dict):
            is_alike = isinstance(value, dict) and value.keys() == expected.keys()
            return is_alike and all(is_same(value[key], expected[key]) for key in expected)
        if isinstance(expected, (bool, int, float, complex, numpy.ndarray, numpy.generic)):
            one, other = numpy.asarray(value), numpy.asarray(expected)
            if isinstance(value, (str, bytes)) or (one.dtype, one.shape) != (other.dtype, other.shape):
                return False
            return numpy.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        return value == expected

    for name, value in values.items():
        expected = globals()[name]
        if not is_same(value, expected):
            raise ValueError(
                f"{name} is {value!r} in the program, but {expected!r} in {__name__}.py: run pyopbench advise again, "
                "which writes a new file"
            )
    return sys.modules[__name__]
'''

SELF = "self"
NAMESPACE = "SimpleNamespace"


def find_copied_constants(port: str, spellings: Mapping[str, str]) -> dict[str, str]:
    """Return the constants of a port that were copied from the program, each with its expression there.

    Args:
        port: the text of its file.
        spellings: as of `KeptSource`.
    """
    statements = [one for one in ast.parse(port).body if isinstance(one, ast.Assign)]
    names = {target.id for one in statements for target in one.targets if isinstance(target, ast.Name)}
    return {name: spelled for name, spelled in spellings.items() if name in names}


def select_compared(port: str, source: str, function: str, constants: Mapping[str, str]) -> dict[str, str]:
    """Return the constants of a port that can be compared with the program's values.

    What helpers read is left out: their `self` is another object. So are namespaces: the program's are of other
    classes.

    Args:
        port: the text of its file.
        source: the text of the body and all that it needs, with the constants in place of the expressions.
        function: the name of the body in it.
        constants: as from `find_copied_constants`.
    """
    tree = ast.parse(port).body
    if any(isinstance(one, ast.FunctionDef) and one.name == REQUIRE_VALUES for one in tree):
        return {}
    assigned = [one for one in tree if isinstance(one, ast.Assign)]
    objects = {ast.unparse(one.targets[0]) for one in assigned if NAMESPACE in ast.unparse(one)}
    functions = [one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef)]
    read = every_name(*(one for one in functions if one.name == function))
    return {name: text for name, text in constants.items() if name in read and name not in objects}


def select_visible(body: ast.AST | None, function: str, expressions: Mapping[str, str]) -> dict[str, str]:
    """Return the constants whose values can be written where a callback is made, with the expressions for them there.

    At the call, the object of a method is known, and a lambda sees the same names as the code around it. The captured
    variables of a function may not be visible there.

    Args:
        body: the expression that the call passes as its function.
        function: the name of the function that is called back.
        expressions: as from `select_compared`.
    """
    found = {}
    if isinstance(body, ast.Lambda):
        inside = {ast.unparse(one) for one in ast.walk(body.body) if isinstance(one, ast.expr)}
        parameters = {one.arg for one in ast.walk(body) if isinstance(one, ast.arg)}
        for name, text in expressions.items():
            root = root_of(ast.parse(text, mode="eval").body, ast.Attribute | ast.Subscript)
            if isinstance(root, ast.Name) and text in inside and root.id not in parameters:
                found[name] = text
    elif isinstance(body, ast.Attribute) and body.attr == function and isinstance(root_of(body), ast.Name):
        for name, text in expressions.items():
            expression = ast.parse(text, mode="eval").body
            root = root_of(expression, ast.Attribute | ast.Subscript)
            if isinstance(root, ast.Name) and root is not expression and root.id == SELF:
                found[name] = ast.unparse(_SelfReplacer(body.value).visit(expression))
    return found


class _SelfReplacer(ast.NodeTransformer):
    """Replaces `self` by another expression."""

    def __init__(self, replacement: ast.expr) -> None:
        self.replacement = replacement

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.replacement if node.id == SELF else node
