"""The rules of the tree, read off its sources: two halves apart, imports down the path, one module that prints."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from places import ROOT

PACKAGE = ROOT / "pyopbench"

# The packages in order: a module imports from its own package, from those before it in its half, and from `model`.
COMMON = ("model",)
MEASURING = ("ports", "ops", "worker")
JUDGING = ("store", "stats", "judge", "report", "engine", "find", "api", "advise", "cli")
TOP_LEVEL = {"__init__.py": (*COMMON, "api"), "__main__.py": (*COMMON, "cli")}
"""The modules outside of packages, and which packages each may import."""

EXTRACT = "ports/extract"
"""What both halves import, and the folder that it is in: it needs `model` alone, and no library of either half."""

ALONE = PACKAGE / "find" / "injected"
"""Loaded into the user's program by path: imports the standard library and its own folder."""

TENSORFLOW = {"tensorflow", "keras", "tf_keras"}
COMMAND_LINE = {"typer", "rich"}
SHOWS_PROGRESS = {"rich"}
"""What `api` may have of it, which prints nothing else."""
HEAVY = {"pandas", "scipy", "altair", "vl_convert", "jinja2", "msgspec"} | COMMAND_LINE

# asv collects names that begin so from every module below its benchmark folder, imported ones too.
ASV_PREFIXES = ("time_", "timeraw_", "mem_", "peakmem_", "track_")

# Letters in brackets keep this file from naming what it looks for.
REGISTRY_HOSTS = r"p[y]pi\.org|p[y]thonhosted\.org|npm[j]s\.(org|com)|d[e]b\.debian\.org|[c]rates\.io"
MACHINE_PATHS = r"(?<![\w.])/(wor[k]|roo[t]|opt/p[y]pi|opt/wheel[s])\b"

SOURCES = sorted(PACKAGE.rglob("*.py"))


def broken_by(rule: Callable[[Path], Any]) -> dict[str, Any]:
    """Return what a rule finds in each source that breaks it, by path; one test holds all sources to a rule."""
    found = {path.relative_to(PACKAGE).as_posix(): rule(path) for path in SOURCES}
    return {path: what for path, what in found.items() if what}


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def package_of(path: Path) -> str:
    """Return the package that a source belongs to; "" for a module of the top level."""
    if path.parent == PACKAGE / EXTRACT:
        return EXTRACT
    first, *rest = path.relative_to(PACKAGE).parts
    return first if rest else ""


def may_import(path: Path) -> set[str]:
    """Return the packages that a source may import from."""
    package = package_of(path)
    if not package:
        return set(TOP_LEVEL[path.name])
    half = next((half for half in (MEASURING, JUDGING) if package in half), ())
    before = half[: half.index(package)] if half else ()
    return {*COMMON, *before, package, *([EXTRACT] if half else [])}


@cache
def imports_of(tree: ast.Module) -> tuple[str, ...]:
    """Return what a source imports anywhere in it, for type checking too: dotted names of modules or their members."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    for name, node in references(tree):
        if name in {"importlib.import_module", "__import__"} and isinstance(node, ast.Call):
            found += [word.value for word in node.args if isinstance(word, ast.Constant)]
    return tuple(found)


def own_imports(tree: ast.Module) -> set[str]:
    """Return the packages of pyopbench that a source imports from; members of pyopbench itself are of `model`."""
    names = [name.split(".") for name in imports_of(tree)]
    members = {
        EXTRACT if "/".join(parts[1:3]) == EXTRACT else parts[1]
        for parts in names
        if parts[0] == "pyopbench" and len(parts) > 1
    }
    return {name if (PACKAGE / name).is_dir() else "model" for name in members}


def outside_imports(tree: ast.Module) -> set[str]:
    return {name.split(".")[0] for name in imports_of(tree)} - {"pyopbench"}


def forbidden_outside(package: str) -> set[str]:
    """Return what no module of a package may import."""
    heavy = set() if package in JUDGING else HEAVY
    tensorflow = set() if package in MEASURING else TENSORFLOW
    command_line = set() if package in ("cli", "") else COMMAND_LINE - (SHOWS_PROGRESS if package == "api" else set())
    return heavy | tensorflow | command_line


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of names, and an empty text for anything else."""
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""


@cache
def references(tree: ast.Module) -> tuple[tuple[str, ast.AST], ...]:
    """Return whatever a source refers to by its full name: `leave` is `sys.exit` after `from sys import exit as leave`.

    With each name comes the call of it, or the name itself where it is not called.
    """
    full = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            full.update({alias.asname or alias.name: f"{module}{alias.name}" for alias in node.names})
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found: list[tuple[str, ast.AST]] = []
    for node in ast.walk(tree):
        name = dotted(node) if isinstance(getattr(node, "ctx", None), ast.Load) else ""
        first, point, rest = name.partition(".")
        if name:
            found.append((f"{full.get(first, first)}{point}{rest}", called.get(id(node), node)))
    return tuple(found)


def run_python(code: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def modules_in(half: tuple[str, ...]) -> list[str]:
    """Return the dotted names of every source of a half."""
    paths = [path for path in SOURCES if package_of(path) in half]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths]


def test_the_packages_are_those_of_the_path_and_nothing_else_is_at_the_top() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == {*COMMON, *MEASURING, *JUDGING}
    assert {path.name for path in PACKAGE.glob("*.py")} == set(TOP_LEVEL)


def test_imports_point_down_the_path() -> None:
    assert broken_by(lambda path: own_imports(parse(path)) - may_import(path)) == {}


def test_tensorflow_and_heavy_libraries_stay_in_their_half() -> None:
    def taken(path: Path) -> set[str]:
        if path.parent == ALONE or path.name == "port_test_process.py":  # have a process to themselves
            return set()
        return outside_imports(parse(path)) & forbidden_outside(package_of(path))

    assert broken_by(taken) == {}


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("judge/verdicts.py", "import tensorflow as tf"),
        ("store/run.py", "def load():\n    from keras import layers"),
        ("model/case.py", "import pandas"),
        ("ports/extract/module.py", "import tensorflow as tf"),
        ("worker/plan.py", "from scipy import stats"),
        ("judge/verdicts.py", "import importlib\ntf = importlib.import_module('tensorflow')"),
        ("report/write.py", "import typer"),
    ],
)
def test_the_rule_about_halves_finds_what_breaks_it(place: str, source: str) -> None:
    assert outside_imports(ast.parse(source)) & forbidden_outside(package_of(PACKAGE / place))


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("judge/verdicts.py", "from pyopbench.report import write"),
        ("judge/verdicts.py", "from pyopbench.ops.load import load_op"),
        ("ops/load.py", "import pyopbench.worker.prepare.prepare"),
        ("model/case.py", "def late():\n    from pyopbench.store.measured_run import Run"),
        ("judge/verdicts.py", "from importlib import import_module\nimport_module('pyopbench.report.write')"),
        ("__init__.py", "from pyopbench.judge import decide"),
        ("ports/extract/module.py", "from pyopbench.ports.porting import port"),
        ("api/measure.py", "from pyopbench.ports.porting import port"),
    ],
)
def test_the_rule_about_the_path_finds_what_breaks_it(place: str, source: str) -> None:
    assert not own_imports(ast.parse(source)) <= may_import(PACKAGE / place)


def test_what_is_loaded_into_a_program_of_the_user_imports_nothing_else() -> None:
    def taken(path: Path) -> set[str]:
        if path.parent != ALONE:
            return set()
        inner = {name for name in imports_of(parse(path)) if name.startswith("pyopbench.")}
        outer = outside_imports(parse(path)) - set(sys.stdlib_module_names)
        # The program itself has imported TensorFlow, and so NumPy, by then; `sitecustomize` is the user's own, and
        # `nvtx` is looked for.
        outer -= {"tensorflow", "numpy", "sitecustomize", "nvtx"}
        return outer | {name for name in inner if not name.startswith("pyopbench.find.injected.")}

    assert {path.parent for path in SOURCES} >= {ALONE}
    assert broken_by(taken) == {}


def printing_in(tree: ast.Module) -> set[str]:
    """Return by what a source prints or exits, or what it hands on that prints."""
    calls = {"input", "exit", "quit", "sys.exit", "os._exit", "os.abort"}
    streams = tuple(f"sys.{stream}." for stream in ("stdout", "stderr", "__stdout__", "__stderr__"))
    return {
        name
        for name, node in references(tree)
        if name in {"print", "rich.print", "SystemExit"}
        or (name in calls and isinstance(node, ast.Call))
        or (name.startswith(streams) and "write" in name)
    }


def test_only_the_command_line_prints_or_exits() -> None:
    def used(path: Path) -> set[str]:
        is_free = package_of(path) == "cli" or path == PACKAGE / "__main__.py"
        return set() if is_free else printing_in(parse(path))

    assert broken_by(used) == {}


@pytest.mark.parametrize(
    "source",
    [
        "print(1)",
        "list(map(print, names))",
        "from sys import exit as leave\nleave(1)",
        "import sys\nsys.stdout.writelines(lines)",
        "import sys\nsys.stderr.buffer.write(line)",
        "raise SystemExit",
    ],
)
def test_the_rule_about_printing_finds_what_breaks_it(source: str) -> None:
    assert printing_in(ast.parse(source))


def bound_in(path: Path) -> set[str]:
    """Return the names that a source gives to anything."""
    bound = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.split(".")[-1])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
    return bound


def test_no_name_is_one_that_asv_collects() -> None:
    assert broken_by(lambda path: {name for name in bound_in(path) if name.lower().startswith(ASV_PREFIXES)}) == {}


def test_importing_the_command_line_leaves_tensorflow_alone() -> None:
    assert run_python("import sys, pyopbench.cli.app; print('tensorflow' in sys.modules)") == "False"


def test_the_judging_half_runs_without_tensorflow_and_the_measuring_half() -> None:
    forbidden = [*sorted(TENSORFLOW), *(name for name in modules_in(MEASURING) if name != "pyopbench.ports")]
    code = f"import sys, {', '.join(modules_in(JUDGING))}; print([m for m in {forbidden} if m in sys.modules])"
    assert run_python(code) == "[]"


OF_EXTRAS = (".for_numba.helpers",)
"""In the names of modules that are imported only where an extra is installed."""


def test_the_measuring_half_brings_no_heavy_library_along() -> None:
    """What TensorFlow itself imports is its own affair, so it is imported first; Numba is an extra."""
    without_extras = [name for name in modules_in(MEASURING) if not any(part in name for part in OF_EXTRAS)]
    code = (
        f"import sys, tensorflow; before = set(sys.modules); import {', '.join(without_extras)}\n"
        f"print([m for m in {sorted(HEAVY)} + {modules_in(JUDGING)} if m in set(sys.modules) - before])"
    )
    assert run_python(code) == "[]"


def tracked_files() -> list[Path]:
    """Return what is committed or about to be; skips where the tree is no checkout, and fails where git is no help."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("pattern", [REGISTRY_HOSTS, MACHINE_PATHS])
def test_no_file_names_a_package_registry_or_a_path_of_one_machine(pattern: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        for match in re.finditer(pattern, path.read_text(encoding="utf-8", errors="ignore"))
    }
    assert not found


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda lock: lock.stem)
def test_a_lock_pins_and_hashes_everything_and_names_no_index(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    requirements = [line for line in text.splitlines() if line[:1].isalnum()]
    assert requirements
    assert all("==" in line and line.endswith("\\") for line in requirements)
    assert not re.search(r"://|^-|--(extra-)?index|--find-links", text, re.MULTILINE)
