"""Programs as processes that are forked of one that has imported what is slow to import and leaves no trace: libraries.

A command imports pandas, SciPy and Altair before it says anything, a worker TensorFlow, and tests run dozens of both.
Each still has a process of its own, with its arguments, current folder, environment and files, and imports pyopbench
itself; what is not seen is a library that pyopbench uses without importing it, which all tests that start Python see.

`ForkedPrograms.write` writes a program that asks the process (forking_process.py) for a fork, and ends as that does. So
it can be started by anything: a test, a shell, a workflow. What ends the program ends the fork, a moment later.
"""

from __future__ import annotations

import os
import shlex
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import forking_process
from pyopbench.model import marker

PROGRAM = '#!/bin/sh\nexec {python} -IS {client} "$@"\n'
CLIENT = """
import json, os, signal, socket, sys
handed = [name for name in {handed!r} if name in os.environ]
files = [0, 1, 2, *(int(os.environ[name]) for name in handed)]
asked = {{"module": {module!r}, "arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}}
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    socket.send_fds(connection, [json.dumps({{**asked, "handed": handed}}).encode() + b"\\n"], files)
    code = int(connection.recv(16))
if code < 0:
    if -code != signal.SIGKILL:  # which nobody can handle
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


class ForkedPrograms:
    """The process that is forked. Use as a context manager: leaving it ends the process and what it has forked.

    Attributes:
        address: of the socket at which it is asked.
    """

    def __init__(self, imported: str, environment: Mapping[str, str] | None = None) -> None:
        """Start it, without waiting for it.

        Args:
            imported: what it imports, by its name in `forking_process.IMPORTED`.
            environment: variables that Python and its libraries read once, when they are started or imported.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")  # the address of a socket has to be short
        self._listening = socket.socket(socket.AF_UNIX)
        self.address = str(Path(self._folder.name) / "socket")
        self._listening.bind(self.address)
        self._listening.listen()
        self._process = subprocess.Popen(
            [sys.executable, forking_process.__file__, imported, str(self._listening.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[self._listening.fileno()],
            start_new_session=True,
            # A fork has the one thread that asked for it.
            env={**os.environ, **(environment or {}), "OPENBLAS_NUM_THREADS": "1"},
        )

    def __enter__(self) -> ForkedPrograms:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()  # closes its standard input, which whatever it has forked ends with
        self._listening.close()
        self._folder.cleanup()

    def write_client(self, path: Path, module: str) -> Path:
        """Write a Python file that does what `python -m MODULE` does, and needs nothing installed; return its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = CLIENT.format(address=self.address, module=module, handed=[marker.VARIABLE])
        path.write_text(text, encoding="utf-8")
        return path

    def write(self, path: Path, module: str = "pyopbench") -> Path:
        """Write a program that does what `python -m MODULE` does, and return its path."""
        client = self.write_client(path.with_name(f"{path.name}_client.py"), module)
        program = PROGRAM.format(python=shlex.quote(sys.executable), client=shlex.quote(str(client)))
        path.write_text(program, encoding="utf-8")
        path.chmod(stat.S_IRWXU)
        return path
