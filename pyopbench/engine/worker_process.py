"""Starts worker processes, asks them, and survives them: a worker that hangs or dies costs one case."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pyopbench.engine import bytecode, memory_limit, worker_python
from pyopbench.engine.worker_log import cause_of_end, how_ended, tail_of
from pyopbench.model.checkout import Checkout
from pyopbench.model.errors import WorkerLost
from pyopbench.model.marker import BYTES, VARIABLE, Marker
from pyopbench.model.process_guard import TemporaryFolder, end_group

START_TIMEOUT_SECONDS = 180.0
"""Importing TensorFlow from a cold disk takes tens of seconds on a busy machine."""

COMMAND = (sys.executable, "-m", "pyopbench.worker")

WORKER_VARIABLES = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
"""TensorFlow is silent, output is not kept back, and where a body crashes is told."""

LONGEST_ANSWER = 100
"""How much of an answer that is none is shown, in bytes."""

FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals by which somebody else ends a process, or the kernel that is out of memory; no body does so by mistake."""

READ_SECONDS = 5.0
"""How long what an ended worker has said may take to read: longer only if a process that it left holds the pipe."""


Status: TypeAlias = Literal["timeout", "crashed", "raised"]


class CaseLost(WorkerLost):
    """The worker hung or died in the middle of a request.

    Attributes:
        case: id of the case it was at, or None if it had not come to one.
        status: `timeout`, `crashed`, or `raised` where it answered that the case took all the memory.
        reason: in words.
        from_outside: it was ended by a signal that its bodies hardly send themselves.
    """

    def __init__(self, case: str | None, status: Status, reason: str, *, from_outside: bool = False) -> None:
        super().__init__(reason)
        self.case = case
        self.status = status
        self.reason = reason
        self.from_outside = from_outside


class Worker:
    """One worker process. Use as a context manager: leaving it ends the process, whatever state it is in.

    What is asked of it may be waited for (`ask`), or sent and looked for now and then (`send` and `answer`), so that
    several workers are at work at the same time. The first answer is that it has come up.

    Attributes:
        timeout_seconds: longest silence within a request.
        environment: what it says of itself and its machine, once it has come up.
    """

    environment: Mapping[str, Any]

    def __init__(
        self,
        timeout_seconds: float,
        python: Path | None = None,
        limit_bytes: int | None = None,
        *,
        heard: threading.Event | None = None,
        checkout: Checkout | None = None,
    ) -> None:
        """Start the process and wait until it has imported TensorFlow.

        Args:
            timeout_seconds: longest silence within a request, in seconds.
            python: the interpreter that has the TensorFlow; this one if None.
            limit_bytes: how much memory it may take, as in `memory_limit.limit`; None for as much as there is.
            heard: is set whenever the worker has said something. Then it is not waited for: that it has come up is the
                first of its answers.
            checkout: the files of the revision that it stands for; None for the working tree.

        Raises:
            WorkerLost: it did not come up; with the end of its log.
        """
        self.timeout_seconds = timeout_seconds
        self._python, self._limit_bytes = python, limit_bytes
        self._is_up, self._anything = False, heard
        self._case: str | None = None
        self._log = tempfile.TemporaryFile()
        with tempfile.TemporaryFile() as shared:
            # Written, not only sized: a page that a full disk has no room for would end the worker when it is touched.
            shared.write(bytes(BYTES))
            shared.flush()
            self._marker = Marker(shared)
            # Whatever ends the worker, what TensorFlow, compilers and bodies leave in a temporary folder goes with it.
            self._folder = TemporaryFolder()
            try:
                self._process = self._start(shared.fileno(), python, checkout)
            except BaseException:
                self._folder.close()
                raise
        self._folder.guard.watch(self._process.pid)
        memory_limit.offer(self._process.pid)
        if limit_bytes is not None:
            memory_limit.limit(self._process.pid, limit_bytes)
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._reader.start()
        self._watcher.start()
        self._heard = time.monotonic()
        if heard is None:
            try:
                self._wait()
            except BaseException:  # it did not come up, or Ctrl-C while TensorFlow is being imported
                self.close()
                raise

    @property
    def process(self) -> int:
        """The id of the process."""
        return self._process.pid

    def _start(self, shared: int, python: Path | None, checkout: Checkout | None) -> subprocess.Popen[bytes]:
        command = worker_python.command(COMMAND, python)
        own = {VARIABLE: str(shared), "TMPDIR": str(self._folder.path)}
        variables = worker_python.variables(python) | bytecode.variables(python)
        if checkout is not None:
            variables |= checkout.variables()
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **variables, **WORKER_VARIABLES, **own},
            pass_fds=(shared,),
            cwd=None if checkout is None else checkout.current_folder,
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
        self.send(request)
        return self._wait()

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request, whose answer `answer` has later.

        Raises:
            CaseLost: the worker has ended.
        """
        assert self._process.stdin is not None
        self._case = None
        self._marker.clear()
        self._heard = time.monotonic()
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._ended(None) from error

    def answer(self, seconds: float) -> dict[str, Any] | None:
        """Return the answer to what was sent, or None if it has not come after so many seconds.

        Raises:
            CaseLost: the worker was silent for too long and has been killed, or it ended.
            WorkerLost: it did not come up.
        """
        until = time.monotonic() + seconds
        try:
            while True:
                event = self._next(until)
                if event is None:
                    return None
                kind = event.pop("event")
                if kind == "full":
                    raise CaseLost(event["case"], "raised", event["reason"])
                if kind == "ready":
                    self._is_up, self.environment = True, event["environment"]
                if kind in ("ready", "done"):
                    return event
                self._case = event.get("case", self._case)  # an event without one only shows that there is life
        except CaseLost as lost:
            if self._is_up:
                raise
            within = "" if self._limit_bytes is None else f" within the memory limit of {self._limit_bytes:,} bytes"
            what = f"the worker process did not start{within}: {lost.reason}"
            raise WorkerLost(what, hint=worker_python.remedy(self._python)) from lost

    def _wait(self) -> dict[str, Any]:
        while True:
            found = self.answer(self.timeout_seconds)
            if found is not None:
                return found

    def close(self) -> None:
        """End the process, and what it has started in its group, and close what belongs to it. May be called twice."""
        self._kill()
        self._watcher.join()
        self._folder.close()
        if self._process.stdin is not None:
            _close_quietly(self._process.stdin)
        self._log.close()
        self._marker.close()

    def _kill(self) -> None:
        # The whole group: a compiler that it has started would go on, beside whatever is measured next.
        if self._process.poll() is None:
            end_group(self._process.pid)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                if line.endswith(b"\n"):  # or else the process ended in the middle of it
                    self._put(line)

    def _watch(self) -> None:
        """Wait for the end of the process, end what it leaves, and say so behind the last of its lines.

        The end of the pipe is no sign: a process that a body has forked may hold it open.
        """
        self._process.wait()
        end_group(self._process.pid)
        self._reader.join(READ_SECONDS)
        self._put(b"")

    def _put(self, line: bytes) -> None:
        self._lines.put(line)
        if self._anything is not None:
            self._anything.set()

    def _next(self, until: float) -> dict[str, Any] | None:
        """Return the next event, or None if there is none until some moment."""
        allowed = self.timeout_seconds if self._is_up else START_TIMEOUT_SECONDS
        silent_until = self._heard + allowed
        try:
            line = self._lines.get(timeout=max(min(until, silent_until) - time.monotonic(), 0.0))
        except queue.Empty:
            if time.monotonic() < silent_until:
                return None
            self._kill()
            reason = f"no sign of life for {allowed:g} s; the worker was killed"
            raise CaseLost(self._marker.get() or self._case, "timeout", reason) from None
        self._heard = time.monotonic()
        if not line:
            raise self._ended(self._marker.get() or self._case)
        try:
            event: dict[str, Any] = json.loads(line)
            return {"event": event.pop("event"), **event}
        except (ValueError, AttributeError, KeyError) as error:
            self._kill()
            said = line[:LONGEST_ANSWER].decode(errors="replace").rstrip()
            reason = f"the worker was killed because its answer is invalid: {said}"
            raise CaseLost(self._marker.get() or self._case, "crashed", reason) from error

    def _ended(self, case: str | None) -> CaseLost:
        code = self._process.wait()
        outside = -code in FROM_OUTSIDE
        cause = "" if self._log.closed else cause_of_end(tail_of(self._log), case)
        words = ", from outside or out of memory" if outside else cause and f": {cause}"
        return CaseLost(case, "crashed", f"the worker process {how_ended(code)}{words}", from_outside=outside)


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
