"""What README and the pages show of a command's output is what the command prints."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import page_commands
from forked_programs import ForkedPrograms
from places import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.long]

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
SESSIONS = [
    pytest.param(session, id=f"{page.stem}-{'-'.join(session.command[1:3])}")
    for page in PAGES
    for session in page_commands.sessions(page.read_text(encoding="utf-8"))
]
COLUMNS = "100"
ENDED = (0, 1)
"""Done, or done with something wrong or slower; a page shows no command that is refused."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the sessions name: the examples, and the run that is committed."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "results" / "reference", folder / "results" / "reference")
    return folder


@pytest.fixture(scope="module")
def program(forked_programs: ForkedPrograms, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return forked_programs.write(tmp_path_factory.mktemp("program") / "pyopbench")


@pytest.mark.usefixtures("kernels")  # or else the simulated device would be compiled beside those who wait for it
@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_is_what_the_command_prints(session: page_commands.Session, clone: Path, program: Path) -> None:
    assert session.command[0] == program.name
    done = subprocess.run(
        [program, *session.command[1:]],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": COLUMNS},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert page_commands.is_printed(session.lines, done.stdout), done.stdout
    assert done.returncode in ENDED, done.stdout


def test_each_session_shows_a_line_and_none_is_passed_over() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    shown = [session for text in texts for session in page_commands.sessions(text)]
    assert len(shown) == len(SESSIONS) == sum(text.count("\n$ ") for text in texts)
    assert [session.command for session in shown if not set(session.lines) - {page_commands.LEFT_OUT, ""}] == []
    assert not [page.name for page, text in zip(PAGES, texts, strict=True) if page_commands.INDENTED.search(text)]


def test_a_console_block_without_a_command_is_refused() -> None:
    for text in ("```console\nanswer\n```\n", "```console\n```\n", "```console\nanswer\n$ run\n```\n"):
        with pytest.raises(ValueError, match="dollar sign"):
            list(page_commands.sessions(text))
    (session,) = page_commands.sessions('```console title="x"\n$ pyopbench run\nanswer\n```\n')
    assert session.lines == ("answer",)


def test_the_readme_shows_four() -> None:
    """The fifth thing that it shows is the certificate, which scripts/quote_reference.py quotes."""
    assert len(list(page_commands.sessions((ROOT / "README.md").read_text(encoding="utf-8")))) == 4


def test_lines_that_are_not_printed_are_found() -> None:
    printed = "one\ntwo\nthree\n"
    assert page_commands.is_printed(("one", "...", "three"), printed)
    assert page_commands.is_printed(("two", "three"), printed)
    assert not page_commands.is_printed(("one", "three"), printed)
    assert not page_commands.is_printed(("three", "...", "one"), printed)
    assert not page_commands.is_printed(("tw",), printed)
