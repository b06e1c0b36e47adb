"""The process that workers are forked of: `python forking_process.py SOCKET` (forked_workers.py).

Each worker has a watcher, which is forked too: it waits for the end of the worker, tells who has asked for it, and
ends it when that has ended, or the tests have. So workers run at the same time and know nothing of each other.

A file that is handed over keeps the number that it arrives with, and the environment variable that names it is set to
that number. It is not put at the number that it had where it comes from. This process may have a file of its own there,
whose owner would close it later on; or the file may have arrived there, and closing what is left over would close it.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

HELPERS = Path(__file__).parent
TASKS = Path("/proc/self/task")
"""Has the threads of this process, and is on Linux alone."""
MOST_BYTES = 1 << 20
MOST_FILES = 8


def import_as_workers() -> None:
    """Import TensorFlow as a worker does, and forget the module of pyopbench that does it."""
    from pyopbench.worker.late_keras import import_tensorflow

    import_tensorflow()
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyopbench"]:
        del sys.modules[name]


def wait_for_request(listening: socket.socket) -> tuple[Mapping[str, Any], Sequence[int]]:
    """Return, in a fork, what is asked for and the files for it; end with standard input."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # of the watchers, which nobody waits for
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        if sys.stdin in ready:
            sys.exit()
        connection, _ = listening.accept()
        with connection:
            told, files = receive(connection)
            if told and os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                process = os.fork()
                if process:
                    watch(process, connection, files)
                break
            for file in files:
                os.close(file)
    os.setsid()
    return json.loads(told), files


def receive(connection: socket.socket) -> tuple[bytes, Sequence[int]]:
    """Return a line and the files that come with it; nothing instead of a line if who asks ends in the middle of it."""
    told, files, _, _ = socket.recv_fds(connection, MOST_BYTES, MOST_FILES)
    while told and not told.endswith(b"\n"):
        more = connection.recv(MOST_BYTES)
        told = told + more if more else b""
    return told, files


def watch(process: int, connection: socket.socket, files: Sequence[int]) -> NoReturn:
    """Wait for the end of a worker, and tell how it ended; end it with who asked, and with the tests. Never return."""
    for file in files:
        os.close(file)  # or who reads from the program would not see its end
    threading.Thread(target=end_with_others, args=(process, connection), daemon=True).start()
    _, status = os.waitpid(process, 0)
    with suppress(OSError):
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def end_with_others(process: int, connection: socket.socket) -> None:
    """End a worker when who has asked for it or the tests have ended: neither says anything more."""
    select.select([connection, sys.stdin], [], [])
    with suppress(ProcessLookupError):  # it has no group of its own yet
        os.killpg(process, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def become(asked: Mapping[str, Any], files: Sequence[int]) -> None:
    """Be a worker, with the files of who asks."""
    for place, file in enumerate(files[:3]):
        os.dup2(file, place)
        os.close(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.environ.update(zip(asked["handed"], map(str, files[3:]), strict=True))
    sys.argv = list(asked["arguments"])
    # As where Python is started with -m: the folder, then what the environment names.
    named = filter(None, asked["environment"].get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = list(dict.fromkeys([asked["folder"], *named, *sys.path[1:]]))
    runpy.run_module("pyopbench.worker", run_name="__main__", alter_sys=True)


def main() -> None:
    """Import TensorFlow, wait for who asks, and be its worker."""
    gc.disable()
    import_as_workers()
    sys.path.insert(1, str(HELPERS))
    gc.collect()
    gc.freeze()
    gc.enable()
    assert len(list(TASKS.glob("*"))) <= 1, "a fork would lack the other threads"
    become(*wait_for_request(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
