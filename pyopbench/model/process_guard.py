"""Sees to it that nothing outlives a parent, even one that is ended by kill -9: no worker, and no temporary folder.

A worker that hangs in C cannot look whether anybody is still there, and what its bodies have forked never would. The
guard sleeps in a read on a pipe that only the parent writes to; when the parent has ended, however, the read returns.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

END = """
read -r group
read -r _
[ -z "$group" ] || kill -s KILL -- "-$group"
[ -z "$1" ] || rm -rf -- "$1"
"""
"""The first line is written as soon as there is a group, the second never."""


ENTER = 'echo "$$" >&0 && exec "$@" < /dev/null'
"""First command of a process that is guarded from its start: it writes its group id to the guard's pipe, which is its
input until then, and becomes the command."""


def end_group(group: int) -> None:
    """End every process of a group, if any is left."""
    with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says the latter of zombies
        os.killpg(group, signal.SIGKILL)


class Guard:
    """Ends a process group, and removes a folder, when this process has ended, even by kill -9."""

    def __init__(self, group: int | None = None, *, folder: Path | None = None) -> None:
        """Begin to watch over the process group of this id, and over a folder, which need not be there yet."""
        self._process = subprocess.Popen(
            ("/bin/sh", "-c", END, "pyopbench-guard", "" if folder is None else str(folder)),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Whoever ends the group of the parent, as a terminal or a supervisor does, does not end the guard.
            start_new_session=True,
        )
        if group is not None:
            self.watch(group)

    def watch(self, group: int) -> None:
        """Watch over the process group of this id too; a guard watches at most one."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # somebody has ended the guard
            self._process.stdin.write(f"{group}\n".encode())

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a command without input in a process group of its own, which becomes the group that is watched.

        A process that was watched only once it had been started would be left if this one were killed in between.

        Args:
            command: a program by its path, and its arguments.
            options: of `subprocess.Popen`, but for the input and the session.
        """
        words = ("/bin/sh", "-c", ENTER, "pyopbench-guarded", *command)
        return subprocess.Popen(words, stdin=self._process.stdin, start_new_session=True, **options)

    def close(self) -> None:
        """Watch no longer. May be called twice."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


class TemporaryFolder:
    """A new folder for temporary files, removed at the end with all that is in it, also if this process is killed.

    Use as a context manager, which gives its path.

    Attributes:
        path: of the folder, which nobody else can read.
        guard: removes it if this process is killed, and before that ends the process group that it is given, if any.
    """

    def __init__(self) -> None:
        """Make it."""
        self.path = Path(tempfile.gettempdir(), f"pyopbench-{secrets.token_hex(8)}")
        # Before there is a folder, or one would stay if this process were killed in between.
        self.guard = Guard(folder=self.path)
        try:
            self.path.mkdir(mode=0o700)
        except OSError:
            self.guard.close()
            raise

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove it. May be called twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.guard.close()
