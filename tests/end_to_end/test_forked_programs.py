"""A forked program is what `python -m` would have started: its files, its end, and the end of who has asked for it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from forked_programs import ForkedPrograms
from processes import has_ended
from pyopbench.model.marker import VARIABLE

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child")

LONG = 60.0
NUMBERS = range(3, 24)
"""Of open files: more than the process has that programs are forked of."""

READING = f"""
import os, sys
with os.fdopen(int(os.environ[{VARIABLE!r}]), "r+b") as file:
    print(file.read().decode(), sys.stdin.read(), os.getcwd(), *sys.argv[1:], sep="|")
"""
WAITING = "import os, time; print(os.getpid(), flush=True); time.sleep(3600)"

Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin(forked_programs: ForkedPrograms, tmp_path: Path) -> Begin:
    """Begin a program of this text, the same for a whole test; before that, its shell opens files."""
    client = forked_programs.write_client(tmp_path / "client.py", "written")

    def run(text: str, opening: str = ":") -> subprocess.Popen[str]:
        if not (tmp_path / "written.py").exists():
            (tmp_path / "written.py").write_text(text, encoding="utf-8")
        command = ["bash", "-c", f'{opening}; exec "$@"', "bash", sys.executable, "-IS", str(client), "argument"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=tmp_path, text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    return run


def test_a_file_that_is_handed_over_arrives_whatever_number_it_has(begin: Begin, tmp_path: Path) -> None:
    """Also one that, in the process that is forked, belongs to somebody else, or is the one that it arrives with."""
    begun = {}
    for number in NUMBERS:
        (tmp_path / f"file-{number}").write_text(f"content {number}", encoding="utf-8")
        begun[number] = begin(READING, f"exec {number}<>file-{number}; export {VARIABLE}={number}")
    for number, process in begun.items():
        told, errors = process.communicate(f"input {number}", timeout=LONG)
        assert (process.returncode, errors) == (0, "")
        assert told == f"content {number}|input {number}|{tmp_path}|argument\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os._exit(3)", 3),
        ("import os; os.kill(os.getpid(), 11)", -signal.SIGSEGV),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_it_ends_as_the_fork_ends(begin: Begin, text: str, code: int) -> None:
    process = begin(text)
    process.communicate(timeout=LONG)
    assert process.returncode == code


def test_the_fork_ends_with_who_has_asked_for_it(begin: Begin) -> None:
    process = begin(WAITING)
    assert process.stdout is not None
    fork = int(process.stdout.readline())
    process.kill()
    assert has_ended(fork)
    process.communicate(timeout=LONG)
    assert fork != process.pid


def test_who_asks_for_nothing_does_no_harm(forked_programs: ForkedPrograms, begin: Begin) -> None:
    for half in (b"", b"{"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(forked_programs.address)
            connection.sendall(half)
    process = begin("raise SystemExit(7)")
    process.communicate(timeout=LONG)
    assert process.returncode == 7


def test_the_forks_end_with_what_they_are_forked_of(tmp_path: Path) -> None:
    (tmp_path / "written.py").write_text(WAITING, encoding="utf-8")
    with ForkedPrograms("nothing") as programs:
        program = programs.write(tmp_path / "program", "written")
        process = subprocess.Popen([program], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        fork = int(process.stdout.readline())
    assert has_ended(fork)
    process.communicate(timeout=LONG)
    assert process.returncode != 0
