"""Starts worker processes and survives their failures: a worker that hangs or dies costs one case."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeVar

from pyopbench.engine import environments
from pyopbench.model import machine
from pyopbench.model.case import Status
from pyopbench.model.child_process import MARKER_BYTES, MARKER_VARIABLE, Marker, end_group
from pyopbench.model.errors import WorkerLost
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import Checkout

START_TIMEOUT_SECONDS = 180.0
"""Importing TensorFlow from a cold disk takes tens of seconds on a busy machine."""

COMMAND = (sys.executable, "-m", "pyopbench.worker")

WORKER_VARIABLES = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "PYTHONUNBUFFERED": "1",
    "PYTHONFAULTHANDLER": "1",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}
"""TensorFlow is silent, output is not buffered, and a crash is reported with its place. Each worker takes only the GPU
memory that it needs: several are warm at once, and by default the first would take nearly all of it."""

WITHOUT_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
"""Hides the GPU from a worker, whatever a user's module does when it is imported: once an op has run, TensorFlow
refuses to hide it."""

READ_BYTES = 1 << 16
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals sent from outside, or by the kernel when memory runs out; no body sends them by mistake."""


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
        self.case, self.status, self.reason, self.from_outside = case, status, reason, from_outside


class Worker:
    """One worker process. Use as a context manager: leaving it ends the process, whatever state it is in.

    Requests are answered at once (`ask`), or sent and looked for now and then (`send` and `answer`), so that several
    workers are busy at the same time.
    """

    environment: Mapping[str, Any]  # what it reports about itself and its machine, once it is up

    def __init__(  # noqa: PLR0913 - each is known where it is started
        self,
        timeout_seconds: float,
        python: Path | None = None,
        *,
        waits: bool = True,
        checkout: Checkout | None = None,
        own: OwnOps = NO_OWN_OPS,
        hides_gpu: bool = False,
    ) -> None:
        """Start the process, which imports TensorFlow; raises `WorkerLost` if it is waited for and fails to start.

        Args:
            timeout_seconds: longest silence within a request, in seconds.
            python: the interpreter that has the TensorFlow; this one if None.
            waits: return only when it is up? If not, the first `answer` says that it is.
            checkout: the files of the revision to measure; None for the working tree.
            own: the own ops of the run, which are sent with the first request.
            hides_gpu: is the worker for the CPU alone?
        """
        self.timeout_seconds = timeout_seconds
        self._unsent = own if checkout is None else checkout.moved_ops(own)
        self._python = python
        self._is_up = False
        self._case: str | None = None
        with ExitStack() as resources:
            self._log = resources.enter_context(tempfile.TemporaryFile())
            # What TensorFlow, compilers and bodies leave in their temporary folder goes with the worker.
            scratch = tempfile.TemporaryDirectory(prefix="pyopbench-", ignore_cleanup_errors=True)
            folder = resources.enter_context(scratch)
            with tempfile.TemporaryFile() as shared:
                # Written, not only sized: a page that a full disk has no room for would end the worker when it is used.
                shared.write(bytes(MARKER_BYTES))
                shared.flush()
                self._marker = Marker(shared.fileno())
                variables = {
                    **environments.worker_variables(python),
                    **WORKER_VARIABLES,
                    **(checkout.variables() if checkout is not None else {}),
                    **(WITHOUT_GPU if hides_gpu else {}),
                    MARKER_VARIABLE: str(shared.fileno()),
                    "TMPDIR": folder,
                }
                self._process = subprocess.Popen(
                    COMMAND if python is None else (str(python), *COMMAND[1:]),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._log,
                    env={**os.environ, **variables},
                    pass_fds=(shared.fileno(),),
                    cwd=None if checkout is None else checkout.current_folder,
                    # A terminal's Ctrl-C is for the parent, which decides what becomes of the worker.
                    start_new_session=True,
                )
            self._resources = resources.pop_all()
        self.process = self._process.pid
        machine.offer_memory(self.process)
        self._unread = b""
        self._heard = time.monotonic()
        if waits:
            try:
                self._wait()
            except BaseException:  # it did not come up, or Ctrl-C while TensorFlow is being imported
                self.close()
                raise

    def fileno(self) -> int:
        """Return the descriptor that is readable when the worker has sent a line, or has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer."""
        self.send(request)
        return self._wait()

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request, whose answer `answer` returns later."""
        assert self._process.stdin is not None
        self._case = None
        self._marker.set("")
        self._heard = time.monotonic()
        if self._unsent:  # not when it is started: then it reads nothing yet, and a pipe takes no more than 64 KiB
            request, self._unsent = {**request, "own": [*map(asdict, self._unsent.values())]}, NO_OWN_OPS
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
            while (event := self._next(until)) is not None:
                kind = event.pop("event")
                if kind == "full":
                    raise CaseLost(event["case"], "raised", event["reason"])
                if kind == "ready":
                    self._is_up, self.environment = True, event["environment"]
                if kind in ("ready", "done"):
                    return event
                self._case = event.get("case", self._case)  # an event without one is only a sign of life
        except CaseLost as lost:
            if self._is_up:
                raise
            python = "python" if self._python is None else self._python
            raise WorkerLost(
                f"the worker process did not start: {lost.reason}",
                hint=f"check that this works: {python} -c 'import tensorflow'",
            ) from lost
        return None

    def _wait(self) -> dict[str, Any]:
        while (answer := self.answer(self.timeout_seconds)) is None:
            pass
        return answer

    def close(self) -> None:
        """End the process, and what it has started in its group, and close what belongs to it. May be called twice."""
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):  # what was still to be written concerns nobody any more
                stream.close()  # type: ignore[union-attr]
        self._resources.close()

    def _kill(self) -> None:
        # The whole group: a compiler that it has started would go on, next to whatever is measured next.
        if self._process.returncode is None:
            end_group(self._process.pid)

    def _next(self, until: float) -> dict[str, Any] | None:
        """Return the next event, or None if there is none until some moment."""
        allowed = self.timeout_seconds if self._is_up else START_TIMEOUT_SECONDS
        silent_until = self._heard + allowed
        while b"\n" not in self._unread:
            if wait([self.fileno()], max(min(until, silent_until) - time.monotonic(), 0.0)):
                read = os.read(self.fileno(), READ_BYTES)
                if not read:  # perhaps in the middle of a line
                    raise self._ended(self._marker.get() or self._case)
                self._unread += read
            elif time.monotonic() < silent_until:
                return None
            else:
                self._kill()
                reason = f"no sign of life for {allowed:g} s; the worker was killed"
                raise CaseLost(self._marker.get() or self._case, "timeout", reason)
        self._heard = time.monotonic()
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            event: dict[str, Any] = json.loads(line)
            return {"event": event.pop("event"), **event}
        except (ValueError, AttributeError, KeyError) as error:
            self._kill()
            reason = (
                f"the worker was killed because its answer is invalid: {line[:100].decode(errors='replace').rstrip()}"
            )
            raise CaseLost(self._marker.get() or self._case, "crashed", reason) from error

    def _ended(self, case: str | None) -> CaseLost:
        with suppress(subprocess.TimeoutExpired):  # it may hang at its exit
            self._process.wait(self.timeout_seconds)
        end_group(self._process.pid)  # what it has started
        code = self._process.wait()
        outside = -code in FROM_OUTSIDE
        cause = ""
        if not self._log.closed:
            self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - TAIL_BYTES))
            cause = cause_of_end(self._log.read().decode(errors="replace"), case)
        words = ", from outside or out of memory" if outside else cause and f": {cause}"
        names = {-number.value: number.name for number in signal.Signals}
        how = f"ended with exit code {code}" if code >= 0 else f"ended by signal {names.get(code, -code)}"
        return CaseLost(case, "crashed", f"the worker process {how}{words}", from_outside=outside)


Item = TypeVar("Item")


def ask_each(
    asked: Iterable[tuple[Item, Mapping[str, Any]]], start: Callable[[], Worker], first: Worker | None = None
) -> Iterator[tuple[Item, dict[str, Any]]]:
    """Yield each item with the answer to its request, or with a `failure` if its worker was lost; then another starts.

    `first` is a worker that is up already; it is ended like the others. Raises `WorkerLost` if one does not start.
    """
    worker = first
    try:
        for item, request in asked:
            worker = worker or start()
            try:
                answer = worker.ask(request)
            except CaseLost as lost:
                answer = {"failure": {"status": lost.status, "reason": lost.reason}}
                worker.close()
                worker = None
            yield item, answer
    finally:
        if worker is not None:
            worker.close()


LOG_NOISE = re.compile(r"[IW]\d{4} |\d{4}-\d\d-\d\d [^]]*: [IW] |WARNING: All log messages before absl")
LOG_PREFIX = re.compile(r"^[EF]\d{4} [\d:.]+\s+\d+ ")
"""How lines of TensorFlow's log begin: information and warnings; severity, time and thread of an error."""
FATAL = "Fatal Python error: "
"""How Python's faulthandler begins: what is wrong, then a stack for each thread, the current one first."""
FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')
LIBRARY = re.compile(r"/lib/python\d|<frozen")
LONGEST_LINE = 200
TAIL_BYTES = 64_000
"""More than the stacks of a hundred threads, which are behind the words that count."""


def cause_of_end(log: str, case: str | None) -> str:
    """Return the words of the end of a log that say most about how a worker ended at a case, or nothing."""
    since = log if case is None else log.rpartition(case)[2]
    before, _, dump = since.partition(FATAL)
    lines = [line.strip() for line in before.splitlines()]
    lines = [LOG_PREFIX.sub("", line) for line in lines if line and not LOG_NOISE.match(line)]
    # "Aborted" alone says less than what was said before it, for example by a `terminate` for want of memory.
    return "; ".join(filter(None, (_place(dump), *[line[:LONGEST_LINE] for line in lines[-1:]])))


def _place(dump: str) -> str:
    """Return what was wrong and where: the innermost frame that is not of Python's own library or of a package."""
    what, _, stacks = dump.partition("\n")
    current = stacks.partition("Current thread")[2].partition("\n\n")[0]
    frame = next((frame for frame in FRAME.finditer(current) if not LIBRARY.search(frame["file"])), None)
    return f"{what.strip()} in {frame['function']} ({frame['file']}:{frame['line']})" if frame else what.strip()
