"""Starts worker processes, asks them, and survives them: a worker that hangs or dies costs one case."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pyopbench.errors import WorkerLost
from pyopbench.files import PACKAGE
from pyopbench.marker import BYTES, VARIABLE, Marker
from pyopbench.tensorflows import folder_with_only

START_TIMEOUT_SECONDS = 180.0
"""Importing TensorFlow from a cold disk takes tens of seconds on a busy machine."""

COMMAND = (sys.executable, "-m", "pyopbench.worker")

SILENT_TENSORFLOW = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}

LOG_TAIL_BYTES = 4000

LOG_NOISE = re.compile(r"[IW]\d{4} |\d{4}-\d\d-\d\d [^]]*: [IW] |WARNING: All log messages before absl")
"""Beginnings of lines that TensorFlow logs without anything being wrong: information and warnings."""

LOG_PREFIX = re.compile(r"^[EF]\d{4} [\d:.]+\s+\d+ ")
"""Severity, time and thread of a line that TensorFlow logs: nothing that tells two runs of the same apart."""


class CaseLost(WorkerLost):
    """The worker hung or died in the middle of a request.

    Attributes:
        case: id of the case it was at, or None if it had not come to one.
        status: `timeout` or `crashed`.
        reason: in words.
    """

    def __init__(self, case: str | None, status: Literal["timeout", "crashed"], reason: str) -> None:
        super().__init__(reason)
        self.case = case
        self.status = status
        self.reason = reason


class Worker:
    """One worker process. Use as a context manager: leaving it ends the process, whatever state it is in."""

    def __init__(self, timeout_seconds: float, python: Path | None = None) -> None:
        """Start the process and wait until it has imported TensorFlow.

        Args:
            timeout_seconds: longest silence within a request, in seconds.
            python: the interpreter that has the TensorFlow; this one if None.

        Raises:
            WorkerLost: it did not come up; with the end of its log.
        """
        self.timeout_seconds = timeout_seconds
        self._log = tempfile.TemporaryFile()
        with tempfile.TemporaryFile() as shared:
            shared.truncate(BYTES)
            self._marker = Marker(shared)
            self._process = self._start(shared.fileno(), python)
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.environment: Mapping[str, Any] = self._next(START_TIMEOUT_SECONDS, None)["environment"]
        except CaseLost as lost:
            self.close()
            raise WorkerLost(
                f"the worker process did not start: {lost.reason}",
                next_step=_remedy(python),
            ) from lost
        except BaseException:  # Ctrl-C while TensorFlow is being imported
            self.close()
            raise

    def _start(self, shared: int, python: Path | None) -> subprocess.Popen[bytes]:
        command, variables = (COMMAND, {}) if python is None else _elsewhere(python)
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **variables, **SILENT_TENSORFLOW, VARIABLE: str(shared)},
            pass_fds=(shared,),
            # A terminal's Ctrl-C is for the parent, which decides what becomes of the worker.
            start_new_session=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            CaseLost: the worker was silent for too long and has been killed, or it ended.
        """
        assert self._process.stdin is not None
        case: str | None = None
        self._marker.clear()
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise CaseLost(None, "crashed", self._how_it_ended(None)) from error
        while True:
            event = self._next(self.timeout_seconds, case)
            if event.pop("event") == "done":
                return event
            case = event.get("case", case)  # an event without one only shows that there is life

    def close(self) -> None:
        """End the process and close what belongs to it. May be called twice."""
        if self._process.poll() is None:
            # The whole group: a compiler that it has started would go on, beside whatever is measured next.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                _close_quietly(stream)
        self._log.close()
        self._marker.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                if line.endswith(b"\n"):  # or else the process ended in the middle of it
                    self._lines.put(line)
        except ValueError:  # closed by close() while reading
            pass
        self._lines.put(b"")

    def _next(self, timeout_seconds: float, case: str | None) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=timeout_seconds)
        except queue.Empty:
            self._process.kill()
            raise CaseLost(
                self._marker.get() or case,
                "timeout",
                f"no sign of life for {timeout_seconds:g} s; the worker was killed",
            ) from None
        if not line:
            case = self._marker.get() or case
            raise CaseLost(case, "crashed", self._how_it_ended(case))
        event: dict[str, Any] = json.loads(line)
        return event

    def _how_it_ended(self, case: str | None) -> str:
        code = self._process.wait()
        how = f"ended by signal {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        return f"the worker process {how}{self._last_words(case)}"

    def _last_words(self, case: str | None) -> str:
        """Return the last line that tells something, of those logged since the worker said that it came to the case."""
        if self._log.closed:
            return ""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - LOG_TAIL_BYTES))
        log = self._log.read().decode(errors="replace")
        lines = [line.strip() for line in (log if case is None else log.rpartition(case)[2]).splitlines()]
        telling = [LOG_PREFIX.sub("", line) for line in lines if line and not LOG_NOISE.match(line)]
        return f": {telling[-1][:200]}" if telling else ""


def _remedy(python: Path | None) -> str:
    if python is None:
        return "see that `python -c 'import tensorflow'` works in this environment: pip install -e '.[cpu]'"
    return f"see that `{python} -c 'import tensorflow'` works; delete {python.parent.parent} to have it made again"


def _elsewhere(python: Path) -> tuple[Sequence[str], dict[str, str]]:
    """Return the command of a worker with another interpreter, and what lets that find pyopbench and nothing else.

    Where pyopbench is installed, the folder that it is in holds this Python's TensorFlow too, which would come first.
    """
    places = [str(folder_with_only(PACKAGE)), *filter(None, [os.environ.get("PYTHONPATH")])]
    return (str(python), *COMMAND[1:]), {"PYTHONPATH": os.pathsep.join(places)}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _close_quietly(stream: Any) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        pass  # what was still to be written concerns nobody any more


def ask_once(
    request: Mapping[str, Any], timeout_seconds: float = START_TIMEOUT_SECONDS, python: Path | None = None
) -> dict[str, Any]:
    """Answer one request by a worker of its own, with the arguments of `Worker`."""
    with Worker(timeout_seconds, python) as worker:
        return worker.ask(request)
