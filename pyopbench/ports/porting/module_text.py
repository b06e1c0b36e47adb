"""The text of a file: its docstring, imports and statements; and the module that importing it gives."""

from __future__ import annotations

import ast
import atexit
import builtins
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence, Set
from functools import cache
from pathlib import Path
from types import ModuleType

from pyopbench.model.child_process import which
from pyopbench.model.files import load_file, make_cache_folder, write_atomically
from pyopbench.model.syntax import DEFINITIONS, bindings
from pyopbench.ports import keras_layer
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.units import Units

USUAL = {
    **{name: f"import {name}" for name in ("collections", "functools", "itertools", "numba", "os", "sys")},
    "np": "import numpy as np",
    "tf": "import tensorflow as tf",
}
"""The import of each name that the written code itself uses."""


def module_text(
    docstring: str, statements: Sequence[str], units: Units, extra: Sequence[str] = (), also: Sequence[str] = ()
) -> str:
    """Return the text of a file with the imports that its statements need.

    Args:
        docstring: of the file.
        statements: its statements, in order.
        units: their imports may be needed.
        extra: import statements of other files next to it.
        also: import statements that are written in any case.
    """
    body = "\n\n\n".join(one.strip("\n") for one in statements)
    # As isort has it: two empty lines before a definition, and one before anything else.
    gap = "\n\n\n" if isinstance(ast.parse(body).body[0], DEFINITIONS) else "\n\n"
    says = docstring.replace("\\", "\\\\")
    return f'"""{says}"""\n\n{_imports_of(body, units, extra, also)}{gap}{body}\n'


def _imports_of(body: str, units: Units, extra: Sequence[str] = (), also: Sequence[str] = ()) -> str:
    """Return the imports that code needs, in the order of isort: Python's own, what is installed, files next to it."""
    tree = ast.parse(body)
    bound = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    read: set[str] = set()
    for one in tree.body:
        nodes = list(ast.walk(one))
        own = {each.asname or each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
        read |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)} - own
    found = {}
    for name in sorted(read - set(vars(builtins))):
        statement = units.imports[name] if name in units.imports else USUAL.get(name, "")
        if statement and name not in bound:
            found[name] = statement
    return _in_groups([*found.values(), *also], extra)


def _in_groups(imports: Iterable[str], extra: Sequence[str] = ()) -> str:
    ordered = sorted({*imports}, key=lambda one: (one.startswith("from"), one.split()[1], one))
    is_standard = {one: one.split()[1].partition(".")[0] in sys.stdlib_module_names for one in ordered}
    groups = [[one for one in ordered if is_standard[one]], [one for one in ordered if not is_standard[one]], extra]
    return "\n\n".join("\n".join(group) for group in groups if group)


def copied_module(path: Path) -> tuple[list[str], str, set[str]]:
    """Return the import statements of a module that files have a copy of, all else, and what names it binds."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    rest = "".join(text.splitlines(keepends=True)[imports[-1].end_lineno :])
    statements = [ast.unparse(one) for one in imports if getattr(one, "module", "") != "__future__"]
    return statements, rest, {*bindings(tree.body)} - {"annotations"}


def require_free(units: Units, taken: Set[str], imports: Sequence[str] = (), *, is_anywhere: bool = False) -> None:
    """Check that the user's code, or no function in it either, binds one of these names, unless by the same import."""
    imported = {name for name, one in units.imports.items() if one in imports}
    bound = {*units.by_name, *units.imports} - imported
    if is_anywhere:
        bound |= {name for unit in units.in_order() for name in bound_in(unit.node)}
    if bound & taken:
        raise CannotPort(f"`{min(bound & taken)}` is a name that the file needs", fix="give yours another name")


def with_layer(text: str, name: str) -> str:
    """Return the module of a port whose function can be called with the tensors of a Keras model, too."""
    tree = ast.parse(text)
    needed, layer, names = copied_module(Path(keras_layer.__file__))
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    taken = sorted(names & {name for one in tree.body if one not in imports for name in bound_in(one)})
    if taken:
        raise CannotPort(f"`{taken[0]}` is a name that the port needs", fix="give yours another name")
    (port,) = (one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name)
    lines = text.splitlines(keepends=True)
    lines.insert(
        min([port.lineno, *(one.lineno for one in port.decorator_list)]) - 1, f"@{keras_layer.for_keras.__name__}\n"
    )
    begin = tree.body[0].end_lineno
    end = imports[-1].end_lineno if imports else begin
    all_imports = _in_groups([*map(ast.unparse, imports), *needed])
    parts = "".join(lines[:begin]), all_imports, layer, "".join(lines[end:])
    return "{}\n\n{}\n\n\n{}\n\n\n{}\n".format(*(one.strip("\n") for one in parts))


def bound_in(node: ast.AST) -> set[str]:
    """Return all names that the user's statement binds, its own and those of its functions."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    return names | {one.name for one in ast.walk(node) if isinstance(one, ast.FunctionDef | ast.ClassDef)}


def import_text(name: str, text: str) -> ModuleType:
    """Return the module of a text."""
    path = keep_text(name, text)
    return load_file(path, f"port_{path.parent.name}_{name}")


def keep_text(name: str, text: str) -> Path:
    """Return a file with a text, because AutoGraph and Numba read the source of what they compile.

    It is the same file in each process, so that Numba compiles it once.
    """
    path = _folder() / hashlib.sha256(text.encode()).hexdigest()[:16] / f"{name}.py"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, text.encode())
    return path


@cache
def _folder() -> Path:
    try:
        return make_cache_folder("ports")
    except OSError:  # it only saves time
        folder = tempfile.mkdtemp(prefix="pyopbench_ports_")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)


def format_text(text: str) -> str:
    """Return a text as Ruff formats it by default, or unchanged if there is no Ruff.

    Settings of folders are ignored, so that a port has the same bytes wherever it is measured and written.
    """
    ruff = which("ruff")
    if ruff is None:
        return text
    command = [ruff, "format", "--isolated", "--no-cache", "--stdin-filename", "port.py", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else text
