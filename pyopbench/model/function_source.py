"""What the source of a function needs besides itself, so that it can be taken out of its file and stand elsewhere.

Drafts of ops, ports and functions of a notebook that are sent to a worker are all made by this: what a statement reads
and binds, which statement of a file binds a name, and all that something needs. Each differs in where names lead to.
"""

from __future__ import annotations

import ast
import copy
import dis
from collections import deque
from collections.abc import Container, Hashable, Iterable, Iterator
from types import CodeType, UnionType
from typing import TypeAlias, TypeVar

T = TypeVar("T", bound=Hashable)

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SCOPES = (*DEFINITIONS, ast.Lambda, ast.Module)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a scope itself: definitions inside it are yielded and not entered."""
    waiting = deque(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.popleft()
        yield node
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def names_read(code: CodeType) -> Iterator[str]:
    """Yield the names that compiled code looks up outside of it; those of functions within it, too."""
    steps = list(dis.get_instructions(code))
    bound = {step.argval for step in steps if step.opname == "STORE_NAME"}  # in the body of a class
    yield from (str(step.argval) for step in steps if step.opname in GLOBAL and step.argval not in bound)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_read(constant)


def globals_read(statement: ast.stmt) -> set[str]:
    """Return the names that a statement reads and does not bind itself, also in the functions that it defines."""
    tree = ast.fix_missing_locations(ast.Module([statement], []))
    try:
        code = compile(tree, "<source>", "exec", dont_inherit=True)
    except SyntaxError:  # a function within another changes a variable of that one, which is not there
        code = compile(_Unbound().visit(copy.deepcopy(tree)), "<source>", "exec", dont_inherit=True)
    return set(names_read(code)) - set(names_bound(statement))


class _Unbound(ast.NodeTransformer):
    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Global:
        return ast.copy_location(ast.Global(node.names), node)


def free_names(node: ast.AST) -> list[ast.Name]:
    """Return the places where a statement or a lambda reads names that no function inside of it binds.

    What a statement of the top level binds itself counts as free: it is a name of the module.
    """
    found: list[ast.Name] = []
    _find_free(node, (), found)
    return found


Scope: TypeAlias = tuple[bool, frozenset[str]]
"""Is it the body of a class, whose names the functions in it do not see, and the names that it binds."""


def _find_free(node: ast.AST, scopes: tuple[Scope, ...], found: list[ast.Name]) -> None:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and not any(node.id in names for _, names in scopes):
            found.append(node)
        return
    if not isinstance(node, (*DEFINITIONS, ast.Lambda, *COMPREHENSIONS)):
        is_local = isinstance(node, ast.AnnAssign) and bool(scopes) and not scopes[-1][0]
        for child in ast.iter_child_nodes(node):
            if not (is_local and child is node.annotation):  # type: ignore[attr-defined] # which is never evaluated
                _find_free(child, scopes, found)
        return
    outside, inside = _parts_of_scope(node)
    for part in outside:
        _find_free(part, scopes, found)
    seen = tuple(one for one in scopes if not one[0])
    own = (isinstance(node, ast.ClassDef), frozenset(local_names(node)))
    for part in inside:
        _find_free(part, (*seen, own), found)


def _parts_of_scope(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """Return what of a function, class or comprehension is evaluated outside of it, and what inside."""
    if isinstance(node, COMPREHENSIONS):
        first, *others = node.generators
        values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return [first.iter], [*values, first.target, *first.ifs, *others]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords], list(node.body)
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    outside: list[ast.AST] = [*getattr(node, "decorator_list", ()), node.args]
    outside += [node.returns] if getattr(node, "returns", None) is not None else []  # type: ignore[union-attr, list-item]
    return outside, list(node.body) if isinstance(node.body, list) else [node.body]


def root_of(node: ast.AST, parts: type[ast.AST] | UnionType = ast.Attribute) -> ast.AST:
    """Return the expression at which one of attributes begins, `a` of `a.b.c`; with other `parts`, also of items."""
    while isinstance(node, parts):
        node = node.value  # type: ignore[attr-defined]
    return node


def every_name(*nodes: ast.AST) -> set[str]:
    """Return the names in some nodes, read or bound, of any scope."""
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}


def local_names(scope: ast.AST) -> set[str]:
    """Return the names that a function, class or comprehension binds in its own scope."""
    if isinstance(scope, COMPREHENSIONS):
        return every_name(*(one.target for one in scope.generators))
    arguments = getattr(scope, "args", None)
    names = {one.arg for one in ast.walk(arguments) if isinstance(one, ast.arg)} if arguments else set[str]()
    waiting = deque(scope.body if isinstance(scope.body, list) else [scope.body])  # type: ignore[attr-defined]
    outside: set[str] = set()
    while waiting:
        node = waiting.popleft()
        if isinstance(node, DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {name_of(alias) for alias in node.names}
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outside |= {*node.names}
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        if isinstance(node, COMPREHENSIONS):  # of whose names only those of `:=` are the function's
            names |= {one.target.id for one in ast.walk(node) if isinstance(one, ast.NamedExpr)}
        elif not isinstance(node, (*DEFINITIONS, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
    return names - outside


def defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Return the defaults of the parameters that have one, by name."""
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    without = len(positional) - len(arguments.defaults)
    return dict(zip(positional[without:], arguments.defaults, strict=True)) | {
        one.arg: default for one, default in named if default is not None
    }


def names_bound(statement: ast.stmt) -> list[str]:
    """Return the names that a statement binds where it stands, each as often as it does."""
    if isinstance(statement, DEFINITIONS):
        return [statement.name]
    names: list[str] = []
    waiting: deque[ast.AST] = deque([statement])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, DEFINITIONS):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [name_of(alias) for alias in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif not isinstance(node, (*SCOPES, *COMPREHENSIONS)):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def bindings(body: Iterable[ast.stmt]) -> dict[str, ast.stmt]:
    """Return what each name of a file is bound by: the last statement of its top level that does.

    An import inside of `try` or `if` is returned alone, all else together with what is around it.
    """
    found: dict[str, ast.stmt] = {}
    for statement in body:
        nested = [node for node in own_nodes(statement) if isinstance(node, ast.Import | ast.ImportFrom)]
        imports = {name_of(alias): node for node in nested for alias in node.names}
        bound = names_bound(statement)
        imported = [name_of(alias) for node in nested for alias in node.names]
        found |= {name: imports[name] if bound.count(name) == imported.count(name) else statement for name in bound}
    return found


def name_of(alias: ast.alias) -> str:
    """Return the name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def unused_name(name: str, taken: Container[str]) -> str:
    """Return a name, with as many underscores behind it as make it differ from those that are taken."""
    while name in taken:
        name += "_"
    return name


def import_of(statement: ast.Import | ast.ImportFrom, name: str) -> str:
    """Return the import statement that binds one name of another statement's."""
    aliases = [alias for alias in statement.names if name_of(alias) == name]
    if isinstance(statement, ast.Import):
        return ast.unparse(ast.Import(aliases))
    return ast.unparse(ast.ImportFrom(statement.module, aliases, 0))


def has_unpacked(call: ast.Call) -> bool:
    """Does a call unpack arguments, with `*` or `**`?"""
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
