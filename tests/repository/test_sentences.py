"""Nothing reads a sentence: no code and no test finds words in one that pyopbench made."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from places import ROOT

TWO_WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}")
"""What makes a text a piece of a sentence, and neither a name nor a path."""

CUTTING = {"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "removeprefix", "removesuffix"}
SEARCHING = {*CUTTING, "replace", "index", "find"}
PATTERNS = {"compile", "match", "search", "fullmatch", "findall", "finditer", "split", "sub"}

OF_OTHERS = {
    "catalogue/for_numba/source.py": 1,
    "catalogue/own/changes.py": 4,
    "catalogue/own/explain.py": 9,
    "results/validation.py": 1,
    "run/worker_log.py": 2,
    "worker/environment.py": 1,
    "worker/probes/concurrent_calls.py": 1,
}
"""Modules of the package -> in how many places they read words of msgspec, TensorFlow, Numba, Python or the system."""


def is_sentence(node: ast.AST | None) -> bool:
    """Is it a text with two words in a row, or one that is made with such a part?"""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and TWO_WORDS.search(node.value) is not None
    return isinstance(node, ast.JoinedStr) and any(is_sentence(part) for part in node.values)


def found_in(tree: ast.AST) -> Iterator[int]:
    """Yield the lines on which words are searched for: by `in`, by a method of a text, by a pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn) and is_sentence(node.left):
            yield node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and any(map(is_sentence, node.args)):
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if node.func.attr in (PATTERNS if of_re else SEARCHING):
                yield node.lineno


def is_of_others(error: ast.expr) -> bool:
    """Is it an exception of Python or TensorFlow, whose words are not pyopbench's?"""
    if isinstance(error, ast.Tuple):
        return all(map(is_of_others, error.elts))
    if isinstance(error, ast.Name):
        return hasattr(builtins, error.id)
    return ast.unparse(error).startswith("tf.errors.")


def matched_in(tree: ast.AST) -> Iterator[int]:
    """Yield the lines on which an error of pyopbench is told by its words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and not is_of_others(node.args[0]):
            yield from (keyword.lineno for keyword in node.keywords if keyword.arg == "match" and _has_words(keyword))


def _has_words(keyword: ast.keyword) -> bool:
    return isinstance(keyword.value, ast.Constant | ast.JoinedStr)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


MODULES = sorted((ROOT / "pyopbench").rglob("*.py"))
TESTS = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__))


def test_the_package_reads_no_sentence() -> None:
    found = {path.relative_to(ROOT / "pyopbench").as_posix(): list(found_in(parse(path))) for path in MODULES}
    assert {name: lines for name, lines in found.items() if len(lines) > OF_OTHERS.get(name, 0)} == {}


def test_no_test_reads_a_sentence() -> None:
    trees = {path.relative_to(ROOT / "tests").as_posix(): parse(path) for path in TESTS}
    found = {name: [*found_in(tree), *matched_in(tree)] for name, tree in trees.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        'assert "was not measured" in printed',
        'assert "was not measured" not in printed',
        'assert f"{n} cases were left" in printed',
        'text.startswith("no such op")',
        'text.partition("; the first: of these")',
        'text.replace("not measured", "")',
        're.search(r"of \\d+ cases were", text)',
    ],
)
def test_what_reads_a_sentence_is_found(source: str) -> None:
    assert list(found_in(ast.parse(source))) == [1]


@pytest.mark.parametrize(
    "source",
    [
        "assert miss_text(miss) in printed",
        'assert "native" in names',
        'name.startswith("py_function_")',
        'assert text == "a whole sentence as it is"',
        'text.split(", ")',
    ],
)
def test_what_compares_values_is_not(source: str) -> None:
    assert not list(found_in(ast.parse(source)))


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('pytest.raises(BadInput, match="corrupt results")', [1]),
        ('pytest.raises(BadInput, match="corrupt")', [1]),
        ('pytest.raises(BadInput, match=f"{key} differs")', [1]),
        ("pytest.raises(BadInput, match=re.escape(refusal_text(name)))", []),
        ('pytest.raises(ValueError, match="must be rank")', []),
        ('pytest.raises((TypeError, tf.errors.InvalidArgumentError), match="is double")', []),
    ],
)
def test_an_error_that_is_told_by_its_words_is_found(source: str, lines: list[int]) -> None:
    assert list(matched_in(ast.parse(source))) == lines
