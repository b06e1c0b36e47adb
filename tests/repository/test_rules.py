"""The rules of the tree, read off its sources: two halves apart, imports down the path, one module that prints."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from places import ROOT

PACKAGE = ROOT / "pyopbench"

# The path that data takes. A module imports only what stands before it in its own half, or is common to both.
# A new module is placed here; a file of a folder (`ops`, `variants`, `sections`) stands where its folder does.
COMMON = ("__init__", "errors", "model", "text", "own", "targets", "files", "marker", "guard", "caches", "places")
MEASURING = (
    "messages",
    "arrays",
    "rebinding",
    "explaining",
    "nvml",
    "environment",
    "compiler",
    "cuda",
    "alignment",
    "gradients",
    "smoothness",
    "device",
    "custom_ops",
    "compiled",
    "callbacks",
    "completing",
    "own_files",
    "ops",
    "variants",
    "floor",
    "parts",
    "catalogue",
    "controls",
    "plan",
    "checks",
    "executed_graph",
    "node_graph",
    "segments",
    "reference",
    "finite_differences",
    "gpu",
    "count_copies",
    "prepare",
    "sampling",
    "overhead",
    "machine_limits",
    "host_copies",
    "gpu_copies",
    "noise",
    "leftovers",
    "group",
    "peers",
    "subjects",
    "probes",
    "probe",
    "worker",
    "suite_api",
    "tallies",
    "recorder",
    "finder",
    "injected",
)
JUDGING = (
    "unresolved",
    "answers",
    "validation",
    "certificate",
    "schema",
    "store",
    "documents",
    "counted_copies",
    "copy_costs",
    "wording",
    "remains",
    "capabilities",
    "throttling",
    "results",
    "readers",
    "versions",
    "declared",
    "foreign",
    "asv_files",
    "asv_results",
    "pytest_benchmark_results",
    "sources",
    "spending",
    "spread",
    "slopes",
    "stats",
    "arguments",
    "mix_file",
    "mix",
    "latencies",
    "split",
    "bounds",
    "verdicts",
    "unpaired",
    "disturbance",
    "candidates",
    "choice",
    "crossovers",
    "requirements",
    "evidence",
    "gpu_advice",
    "step_savings",
    "decide",
    "tried_ports",
    "stopping",
    "judging",
    "sides",
    "axes",
    "contrast",
    "across",
    "figures",
    "wording",
    "looks",
    "scales",
    "encodings",
    "charts",
    "shares",
    "stacks",
    "gains",
    "markdown",
    "comparison_output",
    "sections",
    "pages",
    "ticket",
    "hypertext",
    "decisions_json",
    "report",
    "terminal",
    "judging",
    "environments",
    "worker_log",
    "memory_limit",
    "worker_process",
    "worker_loop",
    "settings",
    "lost_cases",
    "budget",
    "remaining_work",
    "measure",
    "planning",
    "runs",
    "version_runs",
    "probe_run",
    "certify",
    "verify",
    "bindings",
    "surroundings",
    "risks",
    "callsites",
    "graph_callbacks",
    "scanning",
    "snippets",
    "drafts",
    "usage",
    "recording",
    "count_copies_run",
    "measure_copies",
    "starting",
    "cli_output",
    "cli_errors",
    "cli_new",
    "cli_options",
    "cli_list",
    "cli_certify",
    "cli_build",
    "cli_scan",
    "cli_record",
    "cli_compare",
    "cli_versions",
    "cli_placement",
    "cli_copies",
    "cli_probe",
    "cli_report",
    "cli_run",
    "cli_resume",
    "cli",
    "__main__",
)

TENSORFLOW = {"tensorflow", "keras"}
COMMAND_LINE = {"typer", "rich"}
HEAVY = {"pandas", "scipy", "altair", "vl_convert", "jinja2", "msgspec"} | COMMAND_LINE

ERRORS_OF_USERS = {"BadInput", "CannotStore", "NothingMeasured"}

LAST_NAMES = {
    "ops": "OP",
    "floor": "OP",
    "parts": "VARIANT",
    "variants": "VARIANT",
    "sections": "SECTION",
    "probes": "PROBE",
}

# asv collects names that begin so from every module below its benchmark folder, imported ones too.
ASV_PREFIXES = ("time_", "timeraw_", "mem_", "peakmem_", "track_")

# Letters in brackets keep this file from naming what it looks for.
REGISTRY_HOSTS = r"p[y]pi\.org|p[y]thonhosted\.org|npm[j]s\.(org|com)|d[e]b\.debian\.org|[c]rates\.io"
MACHINE_PATHS = r"(?<![\w.])/(wor[k]|roo[t]|opt/p[y]pi|opt/wheel[s])\b"

SOURCES = sorted(PACKAGE.rglob("*.py"))
each_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())


@cache
def parse(path: Path) -> ast.Module:
    """Each source is looked at by many rules, and parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_of(path: Path) -> str:
    """Return the module's name on the path: its own, or its folder's."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Return what a source imports anywhere in it, for type checking too: dotted names of modules or their members."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def own_imports(path: Path) -> set[str]:
    """Return the modules of the package that a source imports, by their names on the path."""
    names = [name.split(".") for name in imports_of(parse(path))]
    members = {parts[1] for parts in names if parts[0] == "pyopbench" and len(parts) > 1}
    return {name if (PACKAGE / name).exists() or (PACKAGE / f"{name}.py").exists() else "__init__" for name in members}


@cache
def outside_imports(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports_of(parse(path))} - {"pyopbench"}


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of names, and an empty text for anything else."""
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""


def run_python(code: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def modules_in(half: tuple[str, ...]) -> list[str]:
    """Return the dotted names of every source of a half."""
    paths = [path for path in SOURCES if module_of(path) in half]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths]


@each_source
def test_every_module_has_its_place_on_the_path(path: Path) -> None:
    assert module_of(path) in {*COMMON, *MEASURING, *JUDGING}, "place it in COMMON, MEASURING or JUDGING"


@pytest.mark.parametrize("name", [*COMMON, *MEASURING, *JUDGING])
def test_the_path_names_only_what_exists(name: str) -> None:
    assert (PACKAGE / f"{name}.py").exists() or (PACKAGE / name / "__init__.py").exists()


@each_source
def test_imports_point_down_the_path(path: Path) -> None:
    """The half of a module that is in neither half is the common part, which imports from neither."""
    name = module_of(path)
    half = next((half for half in (MEASURING, JUDGING) if name in half), ())
    line = (*COMMON, *half)
    before = {*line[: line.index(name)], name} if name in line else set()
    assert own_imports(path) <= before


@each_source
def test_tensorflow_stays_in_the_measuring_half(path: Path) -> None:
    assert module_of(path) in MEASURING or not outside_imports(path) & TENSORFLOW


@each_source
def test_what_judges_and_shows_stays_in_the_judging_half(path: Path) -> None:
    assert module_of(path) in JUDGING or not outside_imports(path) & HEAVY


@each_source
def test_only_the_command_line_prints_or_exits(path: Path) -> None:
    if module_of(path) in ("cli", "__main__") or module_of(path).startswith("cli_"):
        return
    assert not outside_imports(path) & COMMAND_LINE
    calls = {dotted(node.func) for node in ast.walk(parse(path)) if isinstance(node, ast.Call)}
    names = {dotted(node) for node in ast.walk(parse(path)) if isinstance(node, ast.Name)}
    assert not calls & {"print", "input", "exit", "quit", "sys.exit", "os._exit"}
    assert not calls & {f"sys.{stream}.write" for stream in ("stdout", "stderr")}
    assert "SystemExit" not in names


@each_source
def test_no_name_is_one_that_asv_collects(path: Path) -> None:
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
    assert not [name for name in sorted(bound) if name.lower().startswith(ASV_PREFIXES)]


@each_source
def test_an_error_of_the_user_says_what_received_legal_and_next_step(path: Path) -> None:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call) and dotted(node.func) in ERRORS_OF_USERS:
            told = {keyword.arg for keyword in node.keywords}
            assert told >= {"received", "legal", "next_step"} or None in told, f"line {node.lineno}"


@each_source
def test_a_file_of_a_folder_ends_with_what_it_holds(path: Path) -> None:
    folder = path.parent.name
    if folder not in LAST_NAMES or path.stem.startswith("_"):
        return
    last = parse(path).body[-1]
    target = last.targets[0] if isinstance(last, ast.Assign) else getattr(last, "target", None)
    assert isinstance(target, ast.Name)
    assert target.id == LAST_NAMES[folder]


def test_importing_the_command_line_leaves_tensorflow_alone() -> None:
    assert run_python("import sys, pyopbench.cli.app; print('tensorflow' in sys.modules)") == "False"


def test_the_judging_half_runs_without_tensorflow_and_the_measuring_half() -> None:
    forbidden = [*sorted(TENSORFLOW), *modules_in(MEASURING)]
    code = f"import sys, {', '.join(modules_in(JUDGING))}; print([m for m in {forbidden} if m in sys.modules])"
    assert run_python(code) == "[]"


def test_the_measuring_half_brings_no_heavy_library_along() -> None:
    """What TensorFlow itself imports is its own affair, so it is imported first; Numba is an extra."""
    without_numba = tuple(module for module in MEASURING if module != "compiled")
    code = (
        f"import sys, tensorflow; before = set(sys.modules); import {', '.join(modules_in(without_numba))}\n"
        f"print([m for m in {sorted(HEAVY)} + {modules_in(JUDGING)} if m in set(sys.modules) - before])"
    )
    assert run_python(code) == "[]"


def tracked_files() -> list[Path]:
    """Return what is committed or about to be; skips where the tree is no checkout."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("pattern", [REGISTRY_HOSTS, MACHINE_PATHS])
def test_no_file_names_a_package_registry_or_a_path_of_one_machine(pattern: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        for match in re.finditer(pattern, path.read_text(encoding="utf-8", errors="ignore"))
    }
    assert not found


@pytest.mark.parametrize("name", ["uv", "run", "dev", "peers", "gpu"])
def test_a_lock_pins_and_hashes_everything_and_names_no_index(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    requirements = [line for line in text.splitlines() if line[:1].isalnum()]
    assert requirements
    assert all("==" in line and line.endswith("\\") for line in requirements)
    assert not re.search(r"://|^-|--(extra-)?index|--find-links", text, re.MULTILINE)
