"""The code of a user's function with its `if`s and loops as functions of their own.

What is in such a function can be run more than once: for each answer where a value decides (`block`), or once for all
rounds of a loop (`loops`). Names that it assigns are those of the function around it. Locations stay the user's.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import types
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pyopbench.ports.tracing import name_uses
from pyopbench.ports.tracing.code_templates import (
    BLOCK,
    CATCHES_WARNINGS,
    FOR,
    PASS_ON,
    RETURN,
    RUNTIME,
    SEEN,
    STATE,
    WHILE,
    Comparing,
    fill,
    growing,
    is_identity,
    located,
    reading,
)
from pyopbench.ports.tracing.user_code import codes_at, compiled_in, functions_at, is_same


def rewritten(code: types.CodeType, qualified_name: str) -> types.CodeType:
    """Return the code of a function with its `if`s and loops in parts; the same code where that cannot be done.

    Args:
        code: of a function that is written in a file.
        qualified_name: its `__qualname__`.
    """
    return _rewritten(code, code.co_filename, code.co_firstlineno, qualified_name.rsplit(".", maxsplit=1)[-1])


@functools.lru_cache(maxsize=1024)
def _rewritten(code: types.CodeType, file: str, line: int, name: str) -> types.CodeType:
    source = "".join(linecache.getlines(file))
    found = functions_at(source, line, name)
    if len(found) != 1 or not _has_what_to_rewrite(found[0]):
        return code
    if not any(is_same(one, code) for one in codes_at(source, file, line)):  # the file is not what was run
        return code
    (node,) = found
    node.decorator_list, node.args.defaults, node.args.kw_defaults = [], [], [None] * len(node.args.kwonlyargs)
    node = Comparing().visit(node)
    warns = fill(CATCHES_WARNINGS, node) if name_uses.catches_warnings(node) else []
    _Function(node, code.co_freevars).rewrite()
    node.body = [*warns, *node.body]
    return compiled_in(node, code) or code


def keeps_something(code: types.CodeType) -> bool:
    """Does a function, or one inside, assign names of a module or of a function around it, which nobody puts back?"""
    for one in dis.get_instructions(code):
        if one.opname == "STORE_GLOBAL" or (one.opname == "STORE_DEREF" and one.argval in code.co_freevars):
            return True
    return any(keeps_something(one) for one in code.co_consts if isinstance(one, types.CodeType))


def _has_what_to_rewrite(node: ast.FunctionDef) -> bool:
    inside = any(isinstance(one, ast.For | ast.While | ast.If) or is_identity(one) for one in ast.walk(node))
    is_of_frames = bool(name_uses.OF_FRAMES & set(name_uses.reads([node])))
    return (inside or name_uses.catches_warnings(node)) and not is_of_frames and not name_uses.is_private(node)


@dataclass(frozen=True)
class _Around:
    """What a statement stands in.

    Attributes:
        in_part: is it in a function that was made of a part?
        of_loop: is the innermost loop around it made a function?
    """

    in_part: bool = False
    of_loop: bool = False


class _Function:
    """One function of the user's, rewritten in place."""

    def __init__(self, node: ast.FunctionDef, around: Iterable[str] = ()) -> None:
        self.node = node
        self.reads: Counter[str] = name_uses.reads(node.body)
        self.declared = any(isinstance(one, ast.Global | ast.Nonlocal) for one in ast.walk(node))
        self.assigned = name_uses.assigned(node.body)
        self.given = {*around, *(one.arg for one in _arguments(node))}
        self.visible = {*self.given, *self.assigned}
        self.catches_unbound = name_uses.catches_unbound(node)
        self.count = 0

    def rewrite(self) -> None:
        """Make parts of `if`s and loops."""
        if self.declared or any(isinstance(one, ast.Yield | ast.YieldFrom | ast.Await) for one in ast.walk(self.node)):
            return
        body = self._all(self.node.body, _Around())
        if self.assigned:  # so that a part finds each name in the function around it
            names = " = ".join(sorted(self.assigned))
            body = [*located(self.node, ast.parse(f"if False: {names} = None").body), *body]
        if self.count:
            name = ast.Name("_pyopbench_seen", ast.Load())
            body = [*fill(SEEN, self.node, SEEN=name, READ_ALL=reading(sorted(self.visible))), *body]
        self.node.body = body

    def _all(self, body: Iterable[ast.stmt], around: _Around) -> list[ast.stmt]:
        return [new for one in body for new in self._one(one, around)]

    def _one(self, node: ast.stmt, around: _Around) -> list[ast.stmt]:
        if isinstance(node, ast.FunctionDef):
            _Function(node, self.visible).rewrite()
        elif isinstance(node, ast.If):
            return self._if(node, around)
        elif isinstance(node, ast.For | ast.While):
            return self._loop(node, around)
        elif isinstance(node, ast.With | ast.Try):
            for field in ("body", "orelse", "finalbody"):
                if getattr(node, field, None):
                    setattr(node, field, self._all(getattr(node, field), around))
            for handler in getattr(node, "handlers", []):
                handler.body = self._all(handler.body, around)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            node.value = growing(node.value)
        elif isinstance(node, ast.Return) and around.in_part:
            return fill(f"return {RUNTIME}.Returned(VALUE)", node, VALUE=node.value or ast.Constant(None))
        elif isinstance(node, ast.Break) and around.of_loop:
            return fill(f"return {RUNTIME}.BREAK", node)
        elif isinstance(node, ast.Continue) and around.of_loop:
            return fill("return None", node)
        return [node]

    def _if(self, node: ast.If, around: _Around) -> list[ast.stmt]:
        if name_uses.leaves([node]) or not name_uses.is_movable(node):
            node.body, node.orelse = self._all(node.body, around), self._all(node.orelse, around)
            return [node]
        state, named = self._state(node, name_uses.read_first([node], set()))
        inside = replace(around, in_part=True)
        node.body, node.orelse = self._all(node.body, inside), self._all(node.orelse, inside)
        return [*state, *fill(BLOCK, node, BODY=[node], **named)]

    def _loop(self, node: ast.For | ast.While, around: _Around) -> list[ast.stmt]:
        if node.orelse or not name_uses.is_movable(node):
            plain = replace(around, of_loop=False)
            node.body, node.orelse = self._all(node.body, plain), self._all(node.orelse, around)
            return [node]
        has_return = name_uses.returns(node.body)
        state, named = self._state(node, name_uses.read_by_rounds(node))
        body = self._all(node.body, _Around(in_part=True, of_loop=True))
        if isinstance(node, ast.For):
            made = fill(FOR, node, ITERABLE=node.iter, TARGET=node.target, BODY=body, **named)
        else:
            made = fill(WHILE, node, TEST=node.test, BODY=body, **named)
        if has_return:
            made += fill(PASS_ON if around.in_part else RETURN, node, **named)
        return [*state, *made]

    def _state(self, node: ast.stmt, first: set[str]) -> tuple[list[ast.stmt], dict[str, Any]]:
        """Return what makes the state of a part, and the names in its templates; before the part is rewritten."""
        self.count += 1
        made = ("PART", "STATE", "SIGNAL", "ASKS", "GET", "SET")
        named: dict[str, Any] = {name: ast.Name(f"_pyopbench_{name.lower()}_{self.count}", ast.Load()) for name in made}
        names = sorted(name_uses.assigned([node]))
        named["NONLOCAL"] = [ast.Nonlocal(names)] if names else []
        inside = name_uses.reads([node])
        live = tuple((self.reads[name] > inside[name], name in first) for name in names)
        unbind = [one for name in names for one in ast.parse(f"if {name} is {RUNTIME}.UNBOUND: del {name}").body]
        state = fill(
            STATE,
            node,
            READ_ASSIGNED=reading(names),
            NAMES=ast.Constant(tuple(names)),  # type: ignore[arg-type]
            LIVE=ast.Constant(live),  # type: ignore[arg-type]
            VISIBLE=ast.Constant(tuple((name, name in self.given) for name in sorted(self.visible))),  # type: ignore[arg-type]
            CATCHES=ast.Constant(self.catches_unbound),
            TARGETS=ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store()),
            UNBIND=unbind,
            **named,
        )
        return state, named


def _arguments(node: ast.FunctionDef) -> list[ast.arg]:
    more = [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *more]
