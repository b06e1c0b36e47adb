"""The Python files of a scan as one program: the meaning of names from other modules, and the uses of functions.

`from mylib import callback` is TensorFlow's function if `mylib.py` is among the files and imports it from there, and a
function of `preprocess.py` is part of a pipeline if `train.py` maps it over a dataset. Modules are searched for as
Python would find them from the importing file: relative to its package, or below any folder that contains it, the
nearest first.

A file is parsed when it is added, and only its imports are kept, because a program may be large. Files that make
callbacks, or import a file that does, are parsed again.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, replace

from pyopbench.find.call_sites import CALLBACKS, WORD, CallSite, find_callbacks, find_sites, makes_callbacks, parse
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
        name: as it was passed or found.
        module: its folders and its own name, without suffix.
        read: returns its code.
        notebook: where the lines of its code are, if it is a notebook.
        imports: the paths that it may import, relative ones with their dots.
        makes_callbacks: does it contain the words that every file with a callback contains?
    """

    name: str
    module: Module
    read: Callable[[], bytes]
    notebook: Notebook | None
    imports: frozenset[str]
    makes_callbacks: bool


@dataclass
class Summary:
    """What other files may need to know about a file.

    Attributes:
        stands_for: names of the module -> what they stand for.
        stars: modules from which everything is imported.
        uses: its functions -> names that they use.
        paths: the same -> paths of other modules that they use.
        used: context -> names of its functions that are used there.
        direct: context -> paths of other modules that are used there.
    """

    stands_for: dict[str, list[str]]
    stars: list[str]
    uses: dict[str, set[str]]
    paths: dict[str, set[str]]
    used: dict[str, set[str]]
    direct: dict[str, set[str]]

    def names_that_lead_to(self, names: set[str]) -> set[str]:
        """Return the names of the module by which others may reach functions or aliases of these names."""
        found = {name for name, paths in self.stands_for.items() if any(makes_callbacks(path) for path in paths)}
        found |= {
            name
            for name in (*self.uses, *self.stands_for)
            if name in names
            or any(
                path.rpartition(".")[2] in names for path in (*self.paths.get(name, ()), *self.stands_for.get(name, ()))
            )
        }
        found |= names if self.stars else set()
        while more := {name for name, used in self.uses.items() if used & found} - found:
            found |= more
        return {name for name in found if not name.startswith("__")}


@dataclass
class Program:
    """The sources of a scan, in the order in which they were added."""

    files: list[SourceFile] = field(default_factory=list)
    _at: dict[Module, SourceFile] = field(default_factory=dict)
    _summaries: dict[str, Summary] = field(default_factory=dict)
    _classes: dict[str, tuple[ProgramSource, dict[str, set[str]]]] = field(default_factory=dict)
    _definitions: dict[tuple[str, str], tuple[SourceFile | None, str]] = field(default_factory=dict)

    def add(self, name: str, module: Module, code: bytes, read: Callable[[], bytes], notebook: Notebook | None) -> None:
        """Add a file; raises what `ast.parse` raises of a text that is not Python."""
        imports = frozenset(_imports(parse(code)))
        file = SourceFile(name, module, read, notebook, imports, bool(WORD.search(code)))
        self.files.append(file)
        if notebook is None:
            self._at[module[:-1] if module[-1] == "__init__" else module] = file

    def find_sites(self) -> list[CallSite]:
        """Return the callbacks of all files, each file's in the order of its lines."""
        self._summarise()
        wanted = [file for file in self.files if file.name in self._summaries]
        used = self._used_elsewhere(wanted)
        sites: list[CallSite] = []
        for file in wanted:
            code = file.read()
            if not file.makes_callbacks and not self._may_import_one(file):
                continue
            here = find_sites(code, file.name, self._elsewhere(file), used[file.name], self._bases_elsewhere(file))
            sites += here if file.notebook is None else [_in_cell(site, file.notebook) for site in here]
        return sites

    def _summarise(self) -> None:
        """Summarise the files that make callbacks, and those that import and name a function in which one is made."""
        importers: defaultdict[str, set[str]] = defaultdict(set)
        by_name = {file.name: file for file in self.files}
        for file in self.files:
            for path in file.imports:
                for imported in self._modules_on(file, path):
                    importers[imported.name].add(file.name)
        names_to_follow: defaultdict[str, set[str]] = defaultdict(set)  # of each file
        waiting = {file.name: set[str]() for file in self.files if file.makes_callbacks}
        while waiting:
            name = next(iter(waiting))
            imported_names = waiting.pop(name)
            file = by_name[name]
            if name not in self._summaries:
                code = file.read()
                words = {*re.findall(r"\w+", code.decode(errors="replace"))}
                if not file.makes_callbacks and not imported_names & words:
                    continue
                source = ProgramSource.of(parse(code))
                self._summaries[name] = summarise(source, self._bases_elsewhere(file))
                if file.makes_callbacks:
                    imported_names |= _names_around_callbacks(source)
            found = self._summaries[name].names_that_lead_to(imported_names)
            if not found <= names_to_follow[name]:
                names_to_follow[name] |= found
                for importer in sorted(importers[name] - {name}):
                    waiting.setdefault(importer, set()).update(names_to_follow[name])

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

    def _definition(self, file: SourceFile, path: str) -> tuple[SourceFile | None, str]:
        """Return the file that a path of another module leads to, and a name in it; or no file, and another path."""
        key = (file.name, path)
        if key not in self._definitions:
            self._definitions[key] = self._find_definition(file, path, 0)
        return self._definitions[key]

    def _find_definition(self, file: SourceFile, path: str, depth: int) -> tuple[SourceFile | None, str]:
        parts = _parts(path)
        for length in range(len(parts) - 1, 0, -1):
            found = self._module(file, parts[:length])
            summary = self._summaries.get(found.name) if found is not None else None
            if found is None or summary is None:
                continue
            name, rest = parts[length], parts[length + 1 :]
            stands_for = summary.stands_for.get(name, []) or [f"{star}.{name}" for star in summary.stars]
            if name in summary.uses and not summary.stands_for.get(name):
                return found, ".".join([name, *rest])
            if depth < DEEPEST_EXPORT and stands_for:
                for one in stands_for:
                    target, end = self._find_definition(found, ".".join([one, *rest]), depth + 1)
                    if target is not None or _is_outside(end):
                        return target, end
            return found, ".".join([name, *rest])
        return None, path

    def _elsewhere(self, file: SourceFile) -> Callable[[str], str]:
        def follow(path: str) -> str:
            if path.rpartition(".")[2] in CALLBACKS:  # of a module that has another name for TensorFlow, perhaps
                self._summarise_modules_on(file, path)
            target, end = self._definition(file, path)
            return path if target is not None else end

        return follow

    def _summarise_modules_on(self, file: SourceFile, path: str) -> None:
        for module in self._modules_on(file, path):
            if module.name not in self._summaries:
                source = ProgramSource.of(parse(module.read()))
                self._summaries[module.name] = summarise(source, self._bases_elsewhere(module))
                self._definitions.pop((file.name, path), None)

    def _bases_elsewhere(self, file: SourceFile) -> Callable[[str], set[str] | None]:
        return lambda path: self._outside_bases(file, path, 0)

    def _outside_bases(self, file: SourceFile, path: str, depth: int) -> set[str] | None:
        """Return the names of the bases outside the program of a class in another file; None if it is not in one."""
        parts = _parts(path)
        for length in range(len(parts) - 1, 0, -1):
            module = self._module(file, parts[:length])
            if module is not None:
                return self._outside_bases_in(module, parts[length], depth)
        return None

    def _outside_bases_in(self, module: SourceFile, name: str, depth: int) -> set[str] | None:
        """Return the same of a class of a file, or of what a name of the file stands for."""
        source, classes = self._classes_of(module)
        found = set[str]() if name in classes else None
        for path in classes.get(name, source.paths_of_module(name)) if depth < DEEPEST_EXPORT else ():
            search = self._outside_bases_in if path in classes else self._outside_bases
            bases = search(module, path, depth + 1)
            if bases is None and (name in classes or _is_outside(path)):
                bases = {path.rpartition(".")[2]}
            if bases is not None:
                found = bases | (found or set())
        return found

    def _classes_of(self, module: SourceFile) -> tuple[ProgramSource, dict[str, set[str]]]:
        if module.name not in self._classes:
            source = ProgramSource.of(parse(module.read()))
            self._classes[module.name] = source, bases_of(source)
        return self._classes[module.name]

    def _may_import_one(self, file: SourceFile) -> bool:
        """Is a name that a file imports a callback, as defined in the module that it comes from?"""
        follow = self._elsewhere(file)
        return any(makes_callbacks(follow(path)) for path in file.imports if follow(path) != path)

    def _used_elsewhere(self, files: list[SourceFile]) -> dict[str, dict[str, set[str]]]:
        """Return for each file the functions that others use, by context, until no file adds another."""
        by_name = {file.name: file for file in files}
        used: dict[str, dict[str, set[str]]] = {name: {one: set() for one in EVERY_CONTEXT} for name in by_name}
        waiting = list(by_name)
        while waiting:
            file = by_name[waiting.pop(0)]
            summary = self._summaries[file.name]
            for context in EVERY_CONTEXT:
                names = reached((summary.used[context] | used[file.name][context]) & set(summary.uses), summary.uses)
                paths = summary.direct[context].union(*(summary.paths[name] for name in names))
                for path in paths:
                    target, end = self._definition(file, path)
                    name = end.rpartition(".")[2]
                    if target is None or target.name == file.name or target.name not in used:
                        continue
                    if name in self._summaries[target.name].uses and name not in used[target.name][context]:
                        used[target.name][context].add(name)
                        if target.name not in waiting:
                            waiting.append(target.name)
        return used


def _names_around_callbacks(source: ProgramSource) -> set[str]:
    scopes = (scope for found in find_callbacks(source) for scope in source.scopes(found.node))
    return {scope.name for scope in scopes if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)}


def summarise(source: ProgramSource, bases_elsewhere: Callable[[str], Set[str] | None] = lambda path: None) -> Summary:
    """Return what other files may need to know about a parsed file; the second argument is that of `look_around`."""
    around = look_around(ValueFlow(source), bases_elsewhere=bases_elsewhere)
    uses = around.uses
    imported = _imported_names(source.tree)
    paths: dict[str, set[str]] = {name: set() for name in uses}
    for function in ast.walk(source.tree) if imported else ():
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            paths[function.name] |= _paths_in(function, imported)
    return Summary(
        stands_for={name: source.paths_of_module(name) for name in source.names_of_module() if name != "*"},
        stars=source.paths_of_module("*"),
        uses=uses,
        paths=paths,
        used=around.used_in,
        direct={
            one: {path for node in around.named_in[one] for path in _paths_in(node, imported)} for one in EVERY_CONTEXT
        },
    )


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
