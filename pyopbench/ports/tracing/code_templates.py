"""Templates of the code that parts of a body become, and trees put into them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

RUNTIME = "_pyopbench_blocks"
"""The name by which rewritten code finds what runs its parts."""


STATE = f"""
def GET():
    return (READ_ASSIGNED)
def SET(_pyopbench_new):
    NONLOCAL
    (TARGETS) = _pyopbench_new
    UNBIND
STATE = {RUNTIME}.State(NAMES, LIVE, GET, SET, _pyopbench_seen, VISIBLE, CATCHES)
"""


SEEN = "def SEEN(): return (READ_ALL)"


BLOCK = f"""
def PART():
    NONLOCAL
    BODY
{RUNTIME}.run_block(PART, STATE)
"""


FOR = f"""
def PART(_pyopbench_item):
    NONLOCAL
    TARGET = _pyopbench_item
    BODY
SIGNAL = {RUNTIME}.run_for(ITERABLE, PART, STATE)
"""


WHILE = f"""
def ASKS():
    return TEST
def PART():
    NONLOCAL
    BODY
SIGNAL = {RUNTIME}.run_while(ASKS, PART, STATE)
"""


CATCHES_WARNINGS = f"{RUNTIME}.refuse_to_warn()"


RETURN = f"if type(SIGNAL) is {RUNTIME}.Returned: return SIGNAL.value"


PASS_ON = f"if type(SIGNAL) is {RUNTIME}.Returned: return SIGNAL"


def reading(names: Iterable[str]) -> ast.expr:
    """Return an expression for the values of names, of which each may be unbound."""
    found = ast.parse("(" + "".join(f"{RUNTIME}.read(lambda: {name})," for name in names) + ")", mode="eval")
    return found.body


def growing(value: ast.expr) -> ast.expr:
    """Return an expression whose lists can become as long as a value says: those that a name is given as they are."""
    if isinstance(value, ast.Tuple):
        value.elts = list(map(growing, value.elts))
        return value
    if not isinstance(value, ast.List):
        return value
    call = ast.parse(f"{RUNTIME}.List()", mode="eval").body
    assert isinstance(call, ast.Call)
    located(value, [call])
    call.args = [value]
    return call


def fill(template: str, node: ast.AST, **fillers: Any) -> list[ast.stmt]:
    """Return a template's statements, at the location of a statement, with names in it replaced by trees."""
    return [one for made in located(node, ast.parse(template).body) for one in _Filling(fillers).statements(made)]


def located(node: ast.AST, made: Sequence[Any]) -> list[Any]:
    """Return statements of a template at the location of a node."""
    for one in made:
        for part in ast.walk(one):
            if "lineno" in part._attributes:
                ast.copy_location(part, node)
    return list(made)


class Comparing(ast.NodeTransformer):
    """Makes `x is y` a call, because a joined value has another identity than what it was joined of."""

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Return a comparison, as a call if it is one of identity."""
        self.generic_visit(node)
        if not is_identity(node):
            return node
        kind = "is_same" if isinstance(node.ops[0], ast.Is) else "is_other"
        call = ast.parse(f"{RUNTIME}.{kind}()", mode="eval").body
        assert isinstance(call, ast.Call)
        located(node, [call])
        call.args = [node.left, *node.comparators]
        return call


def is_identity(node: ast.AST) -> bool:
    """Is an expression `x is y`, or `x is not y`, of what may be values?"""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Is | ast.IsNot):
        return False
    sides = (node.left, *node.comparators)
    return not any(isinstance(one, ast.Constant) and one.value in (None, ...) for one in sides)


class _Filling(ast.NodeTransformer):
    def __init__(self, fillers: dict[str, Any]) -> None:
        self.fillers = fillers

    def statements(self, node: ast.stmt) -> list[ast.stmt]:
        found = self.visit(node)
        return found if isinstance(found, list) else [found]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.name = self.fillers[node.name].id
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(self.fillers.get(node.value.id), list):
            return _at_location(node, self.fillers[node.value.id])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        found = self.fillers.get(node.id, node)
        if isinstance(found, ast.Name) and found is not node:
            found = ast.Name(found.id, node.ctx if isinstance(found.ctx, ast.Load) else found.ctx)
        return ast.copy_location(found, node) if not hasattr(found, "lineno") else found


def _at_location(node: ast.AST, statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements, those of templates at a location, those of the user's at their own."""
    for one in statements:
        if not hasattr(one, "lineno"):
            ast.copy_location(one, node)
        ast.fix_missing_locations(one)
    return statements
