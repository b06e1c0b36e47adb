"""Programs as processes that are forked of one that has imported what is slow to import and leaves no trace: libraries.

A command imports pandas, SciPy and Altair before it says anything, and tests run dozens of commands. Each still has a
process of its own, with its arguments, current folder, environment and files, and imports pyopbench itself; what is
not seen is a library that pyopbench uses without importing it, which all tests that start Python see.

`ForkedPrograms.write` writes a program that asks the process (`python forked_programs.py SOCKET`) for a fork, and ends
as that does. So it can be started by anything: a test, a shell, a workflow.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import shlex
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HELPERS = Path(__file__).parent
LIBRARIES = ("altair", "jinja2", "msgspec", "numpy", "pandas", "rich.table", "scipy.optimize", "scipy.special", "typer")
MOST_BYTES = 1 << 20
PROGRAM = '#!/bin/sh\nexec {python} -IS {client} "$@"\n'
CLIENT = """
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    asked = {{"module": {module!r}, "arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}}
    socket.send_fds(connection, [json.dumps(asked).encode() + b"\\n"], [0, 1, 2])
    code = int(connection.recv(16))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


class ForkedPrograms:
    """The process that is forked. Use as a context manager: leaving it ends the process and what it has forked."""

    def __init__(self) -> None:
        """Start it, without waiting for it."""
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")  # the address of a socket has to be short
        self._listening = socket.socket(socket.AF_UNIX)
        self._address = str(Path(self._folder.name) / "socket")
        self._listening.bind(self._address)
        self._listening.listen()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self._listening.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[self._listening.fileno()],
            start_new_session=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a fork has the one thread that asked for it
        )

    def __enter__(self) -> ForkedPrograms:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._listening.close()
        self._folder.cleanup()

    def write(self, path: Path, module: str = "pyopbench") -> Path:
        """Write a program that does what `python -m MODULE` does, and return its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        client = path.with_name(f"{path.name}_client.py")
        client.write_text(CLIENT.format(address=self._address, module=module), encoding="utf-8")
        program = PROGRAM.format(python=shlex.quote(sys.executable), client=shlex.quote(str(client)))
        path.write_text(program, encoding="utf-8")
        path.chmod(stat.S_IRWXU)
        return path


def _serve(listening: socket.socket) -> None:
    """Fork for whoever asks, one at a time, until standard input ends."""
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        connection, _ = listening.accept()
        with connection:
            told, files, _, _ = socket.recv_fds(connection, MOST_BYTES, 3)
            while not told.endswith(b"\n"):
                told += connection.recv(MOST_BYTES)
            process = os.fork()
            if process == 0:
                connection.close()
                listening.close()
                _become(json.loads(told), files)
            for file in files:
                os.close(file)
            _, status = os.waitpid(process, 0)
            connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _become(asked: Mapping[str, Any], files: Sequence[int]) -> None:
    """Run a module as a program in this process, with the files of who asks, and end the process."""
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = list(asked["arguments"])
    sys.path[0] = asked["folder"]  # as where Python is started with -m
    runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
    sys.exit()


def main() -> None:
    """Import what programs would, and wait for who asks."""
    import gc
    from importlib import import_module

    for name in LIBRARIES:
        import_module(name)
    sys.path.insert(1, str(HELPERS))
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
