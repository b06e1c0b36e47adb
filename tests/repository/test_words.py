"""What a person reads is short: help in 100 characters, paragraphs in 90 words, the answers of a run on one screen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from places import ROOT
from pyopbench.cli import app
from pyopbench.judge import judge
from pyopbench.judge.judge import Judgement
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.report import write
from pyopbench.report.sections import Bullets, Paragraph, discover
from pyopbench.store import run_folder

MOST_HELP_CHARACTERS = 100
MOST_PARAGRAPH_WORDS = 90
SCREEN_LINES, SCREEN_COLUMNS = 24, 80
REFERENCE = ROOT / "results" / "reference"
PACKAGES = sorted(path.parent.name for path in (ROOT / "pyopbench").glob("*/__init__.py"))


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its name."""
    command: Any = get_command(app.make_app())
    left = [("pyopbench", command)]
    while left:
        name, command = left.pop()
        yield name, command
        left += [(f"{name} {one}", below) for one, below in getattr(command, "commands", {}).items()]


def test_no_help_is_longer_than_a_line_and_a_quarter() -> None:
    found = {}
    for name, command in commands():
        texts = {"": command.help, **{one.name: getattr(one, "help", None) for one in command.params}}
        assert command.help, name
        found.update({f"{name} {what}": len(text) for what, text in texts.items() if text})
    assert {what: length for what, length in found.items() if length > MOST_HELP_CHARACTERS} == {}


def text_of(node: ast.AST) -> str:
    """Return a text, also one that is added up of several, with "x" for whatever is put into it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    return str(node.value) if isinstance(node, ast.Constant) else "x"


def words_in(node: ast.AST) -> int:
    """Return how many words a text has, or a sum of texts; what is put into it counts as one where it stands alone."""
    whole = text_of(node)
    paragraphs = (
        one for one in whole.split("\n\n") if not one.lstrip().startswith("def ")
    )  # of a file that is written
    return max((len(one.split()) for one in paragraphs), default=0)


def texts_in(path: Path) -> Iterator[ast.Constant | ast.JoinedStr | ast.BinOp]:
    """Yield the texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    described |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if (is_text or is_sum) and id(node) not in described:
            yield node  # type: ignore[misc]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_text_of_the_package_is_a_long_paragraph(package: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{text.lineno}": words_in(text)
        for path in sorted((ROOT / "pyopbench" / package).rglob("*.py"))
        for text in texts_in(path)
    }
    assert {place: words for place, words in found.items() if words > MOST_PARAGRAPH_WORDS} == {}


def test_a_long_paragraph_is_found() -> None:
    text = ast.parse(f'f"{"word " * 90}{{more}}"').body[0].value  # type: ignore[attr-defined]
    assert words_in(text) == 91
    assert words_in(ast.parse(f'"def f():\\n    {"word " * 90}"').body[0].value) == 0  # type: ignore[attr-defined]
    assert words_in(ast.parse(f'"{"word " * 50}" + "{"word " * 41}"', mode="eval").body) == 91


@pytest.fixture(scope="module")
def reference() -> Judgement:
    baseline = run_folder.read_run(REFERENCE).settings.baseline
    return judge.judge([REFERENCE], judge.Judging(baseline, MINIMUM_EFFECT))


def test_no_paragraph_of_the_reference_report_is_long(reference: Judgement) -> None:
    found = {}
    for section in discover():
        for block in section.build(reference):
            texts = (block.text,) if isinstance(block, Paragraph) else block.items if isinstance(block, Bullets) else ()
            found.update({f"{section.name}: {text[:40]}": len(text.split()) for text in texts})
    assert found
    assert {place: words for place, words in found.items() if words > MOST_PARAGRAPH_WORDS} == {}


def test_the_answers_of_the_reference_run_fit_one_screen(
    reference: Judgement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judged once, because that takes seconds, as the command judges where nothing else is asked for."""
    monkeypatch.setattr(write, "judge", lambda *_: reference)
    arguments = ["report", str(REFERENCE), "--out", str(tmp_path)]
    ended = CliRunner().invoke(app.make_app(), arguments, env={"COLUMNS": str(SCREEN_COLUMNS)})
    assert ended.exit_code == 0
    shown = ended.stdout.replace(str(tmp_path), "results/reference").splitlines()
    # What is piped is not wrapped: a terminal would break it at its edge.
    assert sum(max(1, -(-len(line) // SCREEN_COLUMNS)) for line in shown) <= SCREEN_LINES
