"""Which names a piece of a function assigns and reads, and whether it can be moved into a function of its own."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pyopbench.ports.tracing.catching import catches, names_of

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""What has names of its own."""

IMMOVABLE = (
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef, ast.Global),
    *(ast.Nonlocal, ast.ClassDef, ast.Delete, ast.Import, ast.ImportFrom, ast.NamedExpr, ast.Match),
    *([ast.TryStar] if hasattr(ast, "TryStar") else []),
)
"""What means another thing in another function, or cannot be undone."""

OF_FRAMES = frozenset({"locals", "vars", "dir", "exec", "eval", "super", "__class__"})
"""Names by which a function looks at its own frame."""


def assigned(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind in the function that they stand in."""
    return {name for node in nodes for name in _bound(node)}


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def reads(nodes: Iterable[ast.AST]) -> Counter[str]:
    """Return how often each name is read, in functions inside too."""
    found: Counter[str] = Counter()
    for node in nodes:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                found[one.id] += 1
            elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                found[one.target.id] += 1
    return found


def is_movable(node: ast.AST) -> bool:
    """Does a statement mean the same in a function of its own, and can what it does be undone?

    What is assigned to attributes cannot; `except E as name` unbinds a name.
    """
    for one in ast.walk(node):
        if isinstance(one, IMMOVABLE) or (isinstance(one, ast.ExceptHandler) and one.name is not None):
            return False
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
            return False
    return True


def catches_unbound(node: ast.AST) -> bool:
    """Does a function catch the error of a name that is not bound?"""
    return any(
        isinstance(one, ast.ExceptHandler) and catches(names_of(one.type), UnboundLocalError) for one in ast.walk(node)
    )


def catches_warnings(node: ast.AST) -> bool:
    """Does a function catch what NumPy raises only if it is told to, as warnings and errors of floats?"""
    return any(
        isinstance(one, ast.ExceptHandler)
        and any(name == "FloatingPointError" or name.endswith("Warning") for name in names_of(one.type))
        for one in ast.walk(node)
    )


def is_private(node: ast.AST) -> bool:
    """Is there a name that means another one in a class?"""
    names = [
        one.attr if isinstance(one, ast.Attribute) else one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute | ast.Name)
    ]
    return any(name.startswith("__") and not name.endswith("__") for name in names)


def leaves(nodes: Iterable[ast.AST]) -> bool:
    """May statements be left by `return`, `break` or `continue`, other than of a loop that is inside?"""
    return any(_leaves(node, in_loop=False) for node in nodes)


def returns(nodes: Iterable[ast.AST]) -> bool:
    """Is there a `return` in statements?"""
    return any(_leaves(node, in_loop=True) for node in nodes)


def _leaves(node: ast.AST, *, in_loop: bool) -> bool:
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, ast.Break | ast.Continue):
        return not in_loop
    if isinstance(node, SCOPES):
        return False
    if isinstance(node, ast.For | ast.While):
        inner = any(_leaves(one, in_loop=True) for one in node.body)
        return inner or any(_leaves(one, in_loop=in_loop) for one in node.orelse)
    return any(_leaves(one, in_loop=in_loop) for one in ast.iter_child_nodes(node))


def read_first(body: Sequence[ast.stmt], known: set[str]) -> set[str]:
    """Return the names that statements may read before they assign them; adds to `known` what they surely assign."""
    found: set[str] = set()
    for statement in body:
        found |= _read_first(statement, known)
    return found


def read_by_rounds(loop: ast.For | ast.While) -> set[str]:
    """Return the names of which a round of a loop may read what the round before has left."""
    if isinstance(loop, ast.For):
        return read_first(loop.body, assigned([loop.target]))
    return set(reads([loop.test])) | read_first(loop.body, set())


def _read_first(node: ast.stmt, known: set[str]) -> set[str]:
    if isinstance(node, ast.If):
        found = set(reads([node.test])) - known
        ways = [set(known), set(known)]
        for way, part in zip(ways, (node.body, node.orelse), strict=True):
            found |= read_first(part, way)
        ends = [bool(part) and isinstance(part[-1], LEAVING) for part in (node.body, node.orelse)]
        left = [way for way, end in zip(ways, ends, strict=True) if not end]
        known |= set.intersection(*left) if left else set()
        return found
    if isinstance(node, ast.For | ast.While):
        head = node.iter if isinstance(node, ast.For) else node.test
        found = set(reads([head])) - known
        inside = known | (assigned([node.target]) if isinstance(node, ast.For) else set())
        return found | read_first(node.body, inside) | read_first(node.orelse, set(known))
    if isinstance(node, ast.With):
        found = set(reads([item.context_expr for item in node.items])) - known
        known |= assigned([item.optional_vars for item in node.items if item.optional_vars is not None])
        return found | read_first(node.body, known)
    if isinstance(node, ast.Try):
        parts = [node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody]
        return {name for part in parts for name in read_first(part, set(known))}
    found = set(reads([node])) - known
    known |= assigned([node])
    return found


LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
