"""Nothing reads a sentence: no code, test, helper or script finds words in one that pyopbench made."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Set
from pathlib import Path

import pytest

from places import ROOT

TWO_WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}")
"""What makes a text a piece of a sentence, and neither a name nor a path."""

CUTTING = {"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "removeprefix", "removesuffix"}
SEARCHING = {*CUTTING, "replace", "index", "find", "count", "contains"}
PATTERNS = {"compile", "match", "search", "fullmatch", "findall", "finditer", "split", "sub"}

OF_OTHERS = {
    "benchmarks/peers/pyperf.py": 2,
    "benchmarks/peers/pytest_benchmark.py": 2,
    "pyopbench/ports/for_numba/instead.py": 1,
    "pyopbench/ports/tensor_functions/sources.py": 1,
    "pyopbench/ops/own/explain.py": 13,
    "pyopbench/cli/errors.py": 1,
    "pyopbench/model/failures.py": 1,
    "pyopbench/store/strict_json.py": 3,
    "pyopbench/engine/worker_process.py": 3,
    "pyopbench/worker/probes/bodies.py": 2,
    "pyopbench/worker/values.py": 2,
    "scripts/quote_reference.py": 2,
    "scripts/ported_functions.py": 2,
    "tests/cli/test_probe.py": 1,
    "tests/end_to_end/test_command_line.py": 2,
    "tests/helpers/figures.py": 2,
    "tests/helpers/mutants.py": 2,
    "tests/repository/test_named_versions.py": 5,
    "tests/helpers/simulation_tables.py": 1,
    "tests/judge/test_ports.py": 1,
    "tests/report/charts/test_history.py": 1,
    "tests/report/test_history_scale.py": 1,
    "tests/report/test_write.py": 1,
    "tests/store/test_read.py": 2,
    "tests/worker/test_op_subject.py": 2,
    "tests/worker/test_probes.py": 1,
}
"""Files -> on how many lines they read words that no code of pyopbench makes, or that the file itself has put or found
elsewhere: those of msgspec, TensorFlow, Numba, Typer, Python, the system, other tools, markup, and marks of pages."""


def is_sentence(node: ast.AST | None, named: Set[str] = frozenset()) -> bool:
    """Is it a text with two words in a row, one that is made with such a part, a tuple with one, or a name of one?"""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and TWO_WORDS.search(node.value) is not None
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(is_sentence(one, named) for one in node.elts)
    if isinstance(node, ast.Name):
        return node.id in named
    return isinstance(node, ast.JoinedStr) and any(is_sentence(part) for part in node.values)


def names_of_sentences(tree: ast.AST) -> set[str]:
    """Return the constants of a module that are sentences, and the names that loops give to each sentence of some."""
    found: set[str] = set()
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Assign) and is_sentence(node.value):
            found |= {one.id for one in node.targets if isinstance(one, ast.Name) and one.id.isupper()}
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension) and is_sentence(node.iter, found):
            found |= {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
    return found


def found_in(tree: ast.AST) -> Iterator[int]:
    """Yield the lines on which words are searched for: by `in`, by a method of a text, by a pattern."""
    named = names_of_sentences(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            searched = zip((node.left, *node.comparators), node.ops, strict=False)
            if any(isinstance(how, ast.In | ast.NotIn) and is_text(left, named) for left, how in searched):
                yield node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            is_search = node.func.attr in (PATTERNS if of_re else SEARCHING) and not is_count(node.func.value)
            searched_for = node.args[1:2] if node.func.attr == "contains" else node.args[:1]
            if is_search and any(is_sentence(one, named) for one in searched_for):
                yield node.lineno


def is_count(node: ast.AST) -> bool:
    """Is it what counts values: the lines of a text, or things that `model/formatting.py` puts a number before?"""
    return ast.unparse(node) == "formatting" or ast.unparse(node).endswith(".splitlines()")


def is_text(node: ast.AST, named: Set[str]) -> bool:
    """Is it one sentence? A tuple that is looked for in a list is compared as a value."""
    return not isinstance(node, ast.Tuple | ast.List | ast.Set) and is_sentence(node, named)


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


FOLDERS = ("benchmarks", "pyopbench", "scripts", "tests")
SOURCES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
    if path != Path(__file__) and "data" not in path.relative_to(ROOT).parts
)
"""Not tests/data, which holds what other programs have written."""


def test_nothing_reads_a_sentence() -> None:
    trees = {path.relative_to(ROOT).as_posix(): parse(path) for path in SOURCES}
    found = {name: sorted({*found_in(tree), *matched_in(tree)}) for name, tree in trees.items()}
    assert {path.relative_to(ROOT).parts[0] for path in SOURCES} == {*FOLDERS}
    assert {name: lines for name, lines in found.items() if len(lines) != OF_OTHERS.get(name, 0)} == {}
    assert sorted(OF_OTHERS) == sorted(name for name, lines in found.items() if lines)


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
        'text.count("was not measured")',
        'text.startswith(("was not", "is not"))',
        'operator.contains(text, "was not measured")',
        'any(word in text for word in ("measured", "was not measured"))',
        '"cause" in text in "was not measured" in lines',
        'SAID = "was not measured"; found = SAID in text',
        'ALL = ("is", "was not"); found = [one for one in ALL if one in text]',
    ],
)
def test_what_reads_a_sentence_is_found(source: str) -> None:
    assert set(found_in(ast.parse(source))) == {1}


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
