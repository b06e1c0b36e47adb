"""Workers as processes that are forked of one that has imported TensorFlow, which takes most of the time to start one.

Each still has a process of its own, with its arguments, current folder, environment and files, and imports pyopbench
itself. `ForkedWorkers.write_client` writes a program that asks the process (forking_process.py) for a fork, and ends as
that does. What ends the program ends the fork, a moment later.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import forking_process
from pyopbench.engine.worker_process import WORKER_VARIABLES
from pyopbench.model.child_process import MARKER_VARIABLE

CLIENT = """
import json, os, signal, socket, sys
handed = [name for name in {handed!r} if name in os.environ]
files = [0, 1, 2, *(int(os.environ[name]) for name in handed)]
asked = {{"arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}}
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


class ForkedWorkers:
    """The process that is forked. Use as a context manager: leaving it ends the process and what it has forked.

    Attributes:
        address: of the socket at which it is asked.
    """

    def __init__(self) -> None:
        """Start it, without waiting for it."""
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")  # the address of a socket has to be short
        self._listening = socket.socket(socket.AF_UNIX)
        self.address = str(Path(self._folder.name) / "socket")
        self._listening.bind(self.address)
        self._listening.listen()
        self._process = subprocess.Popen(
            [sys.executable, forking_process.__file__, str(self._listening.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[self._listening.fileno()],
            start_new_session=True,
            # A fork has the one thread that asked for it.
            env={**os.environ, **WORKER_VARIABLES, "OPENBLAS_NUM_THREADS": "1"},
        )

    def __enter__(self) -> ForkedWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()  # closes its standard input, which whatever it has forked ends with
        self._listening.close()
        self._folder.cleanup()

    def write_client(self, path: Path) -> Path:
        """Write a Python file that is a worker, and needs nothing installed; return its path."""
        path.write_text(CLIENT.format(address=self.address, handed=[MARKER_VARIABLE]), encoding="utf-8")
        return path
