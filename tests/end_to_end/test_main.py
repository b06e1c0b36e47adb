"""The way into the command line: Ctrl-C while it is imported ends it without a word, and with 130."""

from __future__ import annotations

import signal
import subprocess
import sys

import pyopbench

INTERRUPTED_WHILE_IMPORTING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "pyopbench.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["pyopbench", "--version"]
from pyopbench.__main__ import main
main()
"""


def run(*arguments: str, ignoring: bool = False) -> tuple[int, str, str]:
    """Run Python, which listens to SIGINT or ignores it, as what a shell starts in the background does."""
    handler = signal.SIG_IGN if ignoring else signal.SIG_DFL
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=lambda: signal.signal(signal.SIGINT, handler),
    )
    return done.returncode, done.stdout, done.stderr


def test_ctrl_c_while_importing_ends_it_without_a_word() -> None:
    assert run("-c", INTERRUPTED_WHILE_IMPORTING) == (130, "", "")


def test_where_sigint_is_ignored_it_stays_ignored() -> None:
    assert run("-c", INTERRUPTED_WHILE_IMPORTING, ignoring=True) == (0, f"{pyopbench.__version__}\n", "")


def test_it_is_a_module_to_run_too() -> None:
    assert run("-m", "pyopbench", "--version") == (0, f"{pyopbench.__version__}\n", "")
