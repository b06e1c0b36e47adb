"""What ops and variants say of themselves, read off their files without running them: running them takes TensorFlow.

Results of other tools name an op and a variant and nothing more; what these are is told by the files that hold them.
Only what is written down as a value is read, through names of constants too; what is computed is passed over.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyopbench.model.discover import PACKAGE, PATH_VARIABLE, find


def declared(kind: str) -> Mapping[str, Mapping[str, Any]]:
    """Return what is declared of each op or variant, by name; read once in a process, as files are that it imports.

    Args:
        kind: `ops` or `variants`.

    Returns:
        Name -> the keywords of its call, those that are plain values: in the table of its file, or else the last one.
    """
    return _declared(kind, os.environ.get(PATH_VARIABLE, ""))


@lru_cache(maxsize=16)  # every file of results asks, and a history has thousands
def _declared(kind: str, path: str) -> Mapping[str, Mapping[str, Any]]:
    return {name: _keywords(path, name) for name, path in find(kind).items()}


def _keywords(path: Path, name: str) -> dict[str, Any]:
    tree = _parse(path)
    last = tree.body[-1] if tree is not None and tree.body else None
    call = last.value if isinstance(last, ast.Assign | ast.AnnAssign) else None
    if isinstance(call, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in call.keys]
        call = call.values[keys.index(name)] if name in keys else None
    if tree is None or not isinstance(call, ast.Call):
        return {}
    keywords = [*_usual_keywords(call.func, tree), *call.keywords]
    values = {str(keyword.arg): _value_or_none(keyword.value, tree) for keyword in keywords}
    return {name: value for name, value in values.items() if value is not None}


def _usual_keywords(called: ast.expr, tree: ast.Module) -> list[ast.keyword]:
    """Return the keywords that a call has because what it calls is a `partial` of the same file."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            named = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            partial = statement.value.func
            if isinstance(called, ast.Name) and called.id in named and getattr(partial, "id", "") == "partial":
                return statement.value.keywords
    return []


def _value_or_none(node: ast.expr, tree: ast.Module) -> Any:
    try:
        return _value(node, tree)
    except _Computed:
        return None


class _Computed(Exception):
    """Not written down as a value."""


def _value(node: ast.expr, tree: ast.Module) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(item for part in node.elts for item in _items(part, tree))
    if isinstance(node, ast.Name):
        return _constant(node.id, tree)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return _constant(node.attr, _imported(node.value.id, tree)[1])
    raise _Computed


def _items(node: ast.expr, tree: ast.Module) -> tuple[Any, ...]:
    return tuple(_value(node.value, tree)) if isinstance(node, ast.Starred) else (_value(node, tree),)


def _constant(name: str, tree: ast.Module) -> Any:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in statement.targets
        ):
            return _value(statement.value, tree)
    original, module = _imported(name, tree)
    return _constant(original, module)


def _imported(name: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """Return what a name is called where it was imported from, and that module, which has to be of the package."""
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == PACKAGE.name:
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    folder = PACKAGE.joinpath(*str(statement.module).split(".")[1:])
                    module = _parse(folder / f"{alias.name}.py") or _parse(folder.with_suffix(".py"))
                    if module is not None:
                        return alias.name, module
    raise _Computed


def _parse(path: Path) -> ast.Module | None:
    try:
        return _tree(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, SyntaxError, UnicodeDecodeError):
        return None


@lru_cache(maxsize=256)  # one module holds what many ops share
def _tree(source: str) -> ast.Module:
    return ast.parse(source)
