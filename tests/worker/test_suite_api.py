"""The suites import one module of pyopbench, which is promised to stay, and it holds no more than they use."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from places import ROOT
from pyopbench.worker import suite_api

BENCHMARKS = ROOT / "benchmarks"
SUITES = [
    BENCHMARKS / "conftest.py",
    *sorted((BENCHMARKS / "asv_suite").rglob("*.py")),
    *sorted((BENCHMARKS / "pytest_suite").rglob("*.py")),
    *sorted((BENCHMARKS / "peers" / "suites").rglob("*.py")),
]


def imported(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a source imports from the promised module, and what else it imports of pyopbench."""
    promised: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        names = {alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)}
        if isinstance(node, ast.ImportFrom) and node.module == suite_api.__name__:
            promised |= names
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "pyopbench":
            others.add(str(node.module))
        elif isinstance(node, ast.Import):
            others |= {name for name in names if name.split(".")[0] == "pyopbench"}
    return promised, others


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.relative_to(BENCHMARKS).as_posix())
def test_a_suite_imports_only_what_is_promised(path: Path) -> None:
    promised, others = imported(path.read_text(encoding="utf-8"))
    assert not others, f"import it from {suite_api.__name__}, which stays"
    assert promised <= set(suite_api.__all__)


def test_what_is_promised_is_what_the_suites_use() -> None:
    used = set().union(*(imported(path.read_text(encoding="utf-8"))[0] for path in SUITES))
    assert used == set(suite_api.__all__)
