"""The Python files of a scan as one program: the meaning of names from other modules, and the uses of functions.

`from mylib import callback` is TensorFlow's function if `mylib.py` is among the files and imports it from there, and a
function of `preprocess.py` is part of a pipeline if `train.py` maps it over a dataset. Modules are searched for as
Python would find them from the importing file: relative to its package, or below any folder that contains it, the
nearest first.

A file is parsed when it is added, and only its imports are kept, because a program may be large. Files that make
callbacks or import a file that does, directly or not, are parsed again, and so are the modules that these import.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pyopbench.find.call_sites import WORD, CallSite, find_sites, makes_callbacks, parse
from pyopbench.find.context import EVERY_CONTEXT, bases_of, look_around, reached
from pyopbench.find.notebook import Notebook
from pyopbench.find.source import ProgramSource, bound_by_import
from pyopbench.find.values import ValueFlow
from pyopbench.model.syntax import every_name

DEEPEST_EXPORT = 6
"""Most modules that pass a name on to each other; a longer chain is a cycle."""

Module = tuple[str, ...]


@dataclass(frozen=True)
class SourceFile:
    """A Python source of a scan.

    Attributes:
        module: its folders and its own name, without suffix.
        read: returns its code.
        imports: the paths that it may import, relative ones with their dots.
        makes_callbacks: does it contain the words that every file with a callback contains?
    """

    name: str
    module: Module
    read: Callable[[], bytes]
    notebook: Notebook | None
    imports: frozenset[str]
    makes_callbacks: bool


@dataclass(frozen=True)
class Exports:
    """What the names of a module are to other files.

    Attributes:
        stands_for: names of the module -> the paths that they stand for.
        stars: modules from which everything is imported.
        bases: classes -> their bases, as of `bases_of`.
        defined: names of its functions and classes.
    """

    stands_for: dict[str, list[str]]
    stars: list[str]
    bases: dict[str, set[str]]
    defined: set[str]


@dataclass(frozen=True)
class Summary:
    """What a file uses.

    Attributes:
        uses: its functions -> names that they use.
        paths: the same -> paths of other modules that they use.
        used: context -> names of its functions that are used there.
        direct: context -> paths of other modules that are used there.
    """

    uses: dict[str, set[str]]
    paths: dict[str, set[str]]
    used: dict[str, set[str]]
    direct: dict[str, set[str]]


@dataclass
class Program:
    """The sources of a scan, in the order in which they were added."""

    files: list[SourceFile] = field(default_factory=list)
    _at: dict[Module, SourceFile] = field(default_factory=dict)
    _exports: dict[str, Exports] = field(default_factory=dict)
    _definitions: dict[tuple[str, str], tuple[SourceFile | None, str]] = field(default_factory=dict)

    def add(self, name: str, module: Module, code: bytes, read: Callable[[], bytes], notebook: Notebook | None) -> None:
        """Add a file; raises what `ast.parse` raises of a text that is not Python."""
        imports = frozenset(_imports(parse(code)))
        file = SourceFile(name, module, read, notebook, imports, bool(WORD.search(code)))
        self.files.append(file)
        if notebook is None:
            self._at[module[:-1] if module[-1] == "__init__" else module] = file

    def find_sites(self, leave_out: Callable[[str], None]) -> list[CallSite]:
        """Return the callbacks of all files, each file's in the order of its lines; of none that nests too deeply."""
        files = self._files_around_callbacks()
        used = self._used_elsewhere({file.name: self._summarise(file) for file in files}, files)
        sites: list[CallSite] = []
        for file in files:
            follow = self._elsewhere(file)
            # A name that it imports may be a callback, as defined in the module that it comes from.
            if file.makes_callbacks or any(makes_callbacks(follow(path)) for path in file.imports):
                try:
                    here = find_sites(file.read(), file.name, follow, used[file.name], self._bases_elsewhere(file))
                except RecursionError:
                    leave_out(file.name)
                    continue
                sites += here if file.notebook is None else [_in_cell(site, file.notebook) for site in here]
        return sites

    def _files_around_callbacks(self) -> list[SourceFile]:
        """Return the files that make callbacks, and those that import one of these, directly or not."""
        importers: defaultdict[str, set[str]] = defaultdict(set)
        for file in self.files:
            for path in file.imports:
                for imported in self._modules_on(file, path):
                    importers[imported.name].add(file.name)
        names = {file.name for file in self.files if file.makes_callbacks}
        waiting = [*names]
        while waiting:
            more = importers[waiting.pop()] - names
            names |= more
            waiting += more
        return [file for file in self.files if file.name in names]

    def _modules_on(self, file: SourceFile, path: str) -> Iterator[SourceFile]:
        """Yield the modules that a path begins with: of `a.b.f` the file of `a.b`, and the package `a`."""
        for length in range(1, len(_parts(path)) + 1):
            found = self._module(file, _parts(path)[:length])
            if found is not None:
                yield found

    def _module(self, file: SourceFile, path: list[str]) -> SourceFile | None:
        """Return the file of a module that an import in another file refers to."""
        level, names = len(path[0]) if path[0].startswith(".") else 0, tuple(path)
        if level:
            above = file.module[: len(file.module) - level]
            return self._at.get((*above, *names[1:]))
        for depth in range(len(file.module) - 1, -1, -1):
            found = self._at.get((*file.module[:depth], *names))
            if found is not None and found is not file:
                return found
        return None

    def _exports_of(self, file: SourceFile) -> Exports:
        if file.name not in self._exports:
            source = ProgramSource.of(parse(file.read()))
            defined = {
                node.name
                for node in ast.walk(source.tree)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            }
            self._exports[file.name] = Exports(
                {name: source.paths_of_module(name) for name in source.names_of_module() if name != "*"},
                source.paths_of_module("*"),
                bases_of(source),
                defined,
            )
        return self._exports[file.name]

    def _definition(self, file: SourceFile, path: str) -> tuple[SourceFile | None, str]:
        """Return the file that a path of another module leads to, and a name in it; or no file, and another path."""
        key = (file.name, path)
        if key not in self._definitions:
            self._definitions[key] = self._find_definition(file, path, 0)
        return self._definitions[key]

    def _find_definition(self, file: SourceFile, path: str, depth: int) -> tuple[SourceFile | None, str]:
        parts = _parts(path)
        for length in range(len(parts) - 1, 0, -1):
            module = self._module(file, parts[:length])
            if module is None:
                continue
            exports = self._exports_of(module)
            name, rest = parts[length], parts[length + 1 :]
            paths = exports.stands_for.get(name, [])
            if name not in exports.defined:
                paths = paths or [f"{star}.{name}" for star in exports.stars]
            for one in paths if depth < DEEPEST_EXPORT else ():
                target, end = self._find_definition(module, ".".join([one, *rest]), depth + 1)
                if target is not None or _is_outside(end):
                    return target, end
            return module, ".".join([name, *rest])
        return None, path

    def _elsewhere(self, file: SourceFile) -> Callable[[str], str]:
        def follow(path: str) -> str:
            target, end = self._definition(file, path)
            return path if target is not None else end

        return follow

    def _bases_elsewhere(self, file: SourceFile) -> Callable[[str], set[str] | None]:
        def bases(path: str) -> set[str] | None:
            target, name = self._definition(file, path)
            return None if target is None else self._outside_bases(target, name, 0)

        return bases

    def _outside_bases(self, file: SourceFile, name: str, depth: int) -> set[str] | None:
        """Return the last names of all bases outside the program of a class; None if the file has no such class."""
        classes = self._exports_of(file).bases
        if name not in classes or depth == DEEPEST_EXPORT:
            return None
        outside = set[str]()
        for base in classes[name]:
            target, end = (file, base) if base in classes else self._definition(file, base)
            bases = None if target is None else self._outside_bases(target, end, depth + 1)
            outside |= {end.rpartition(".")[2]} if bases is None else bases
        return outside

    def _summarise(self, file: SourceFile) -> Summary:
        source = ProgramSource.of(parse(file.read()))
        around = look_around(ValueFlow(source), bases_elsewhere=self._bases_elsewhere(file))
        imported = _imported_names(source.tree)
        paths: dict[str, set[str]] = {name: set() for name in around.uses}
        for function in ast.walk(source.tree) if imported else ():
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                paths[function.name] |= _paths_in(function, imported)
        direct = {
            one: {path for node in around.named_in[one] for path in _paths_in(node, imported)} for one in EVERY_CONTEXT
        }
        return Summary(around.uses, paths, around.used_in, direct)

    def _used_elsewhere(self, summaries: dict[str, Summary], files: list[SourceFile]) -> dict[str, dict[str, set[str]]]:
        """Return for each file the functions that others use, by context, until no file adds another."""
        used: dict[str, dict[str, set[str]]] = {name: {one: set() for one in EVERY_CONTEXT} for name in summaries}
        waiting = [*files]
        while waiting:
            file = waiting.pop(0)
            summary = summaries[file.name]
            for context in EVERY_CONTEXT:
                names = reached((summary.used[context] | used[file.name][context]) & set(summary.uses), summary.uses)
                for path in summary.direct[context].union(*(summary.paths[name] for name in names)):
                    target, end = self._definition(file, path)
                    name = end.rpartition(".")[2]
                    if target is None or target is file or target.name not in used:
                        continue
                    if name in summaries[target.name].uses and name not in used[target.name][context]:
                        used[target.name][context].add(name)
                        if target not in waiting:
                            waiting.append(target)
        return used


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Return the names that imports of a file bind, in any scope, except those of TensorFlow and similar packages."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        for name, path in bound_by_import(node):
            if name == "*":  # any name that is read may be of that module
                names = every_name(tree)
                found = {one: f"{path}.{one}" for one in names} | found if not _is_outside(path) else found
            elif not _is_outside(path):
                found[name] = path
    return found


def _paths_in(node: ast.AST, imported: dict[str, str]) -> set[str]:
    """Return the paths of other modules in a node: imported names, with the attributes that are read from them."""
    found = set[str]()
    for inner in ast.walk(node):
        attributes: list[str] = []
        base = inner
        while isinstance(base, ast.Attribute):
            attributes.append(base.attr)
            base = base.value
        if isinstance(base, ast.Name) and base.id in imported:
            found.add(".".join([imported[base.id], *reversed(attributes)]))
    return found


def _is_outside(path: str) -> bool:
    return path.split(".", maxsplit=1)[0] in {"tensorflow", "tensorflow_core", "numpy", "keras", "functools"}


def _parts(path: str) -> list[str]:
    """Return the names of a path; the leading dots of a relative one count as one name."""
    bare = path.lstrip(".")
    dots = path[: len(path) - len(bare)]
    return [*([dots] if dots else []), *(bare.split(".") if bare else [])]


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the paths that a file may import, in any of its scopes."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (path for _, path in bound_by_import(node))
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):  # where statements are
            inner = getattr(node, name, [])
            waiting += inner if isinstance(inner, list) else []


def _in_cell(site: CallSite, notebook: Notebook) -> CallSite:
    line, cell, cell_line = notebook.places[site.line - 1]
    return replace(site, line=line, cell=cell, cell_line=cell_line)
