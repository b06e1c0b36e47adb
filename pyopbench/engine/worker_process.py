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
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Generic, Literal, TypeAlias, TypeVar

from pyopbench.engine import environments, memory
from pyopbench.model.checkout import Checkout
from pyopbench.model.errors import WorkerLost
from pyopbench.model.marker import BYTES, VARIABLE, Marker
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.process_guard import TemporaryFolder, end_group

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

    def __init__(  # noqa: PLR0913 - each is known where it is started
        self,
        timeout_seconds: float,
        python: Path | None = None,
        *,
        heard: threading.Event | None = None,
        checkout: Checkout | None = None,
        own: OwnOps = NO_OWN_OPS,
        hides_gpu: bool = False,
    ) -> None:
        """Start the process and wait until it has imported TensorFlow.

        Args:
            timeout_seconds: longest silence within a request, in seconds.
            python: the interpreter that has the TensorFlow; this one if None.
            heard: is set whenever the worker has said something. Then it is not waited for: that it has come up is the
                first of its answers.
            checkout: the files of the revision that it stands for; None for the working tree.
            own: the own ops of the run, which its first request has with it.
            hides_gpu: is the worker for the CPU alone?

        Raises:
            WorkerLost: it did not come up; with the end of its log.
        """
        self.timeout_seconds = timeout_seconds
        self._unsent = own if checkout is None else checkout.moved_ops(own)
        self._python = python
        self._is_up, self._anything, self._hides_gpu = False, heard, hides_gpu
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
        memory.offer(self._process.pid)
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
        command = COMMAND if python is None else (str(python), *COMMAND[1:])
        own = {VARIABLE: str(shared), "TMPDIR": str(self._folder.path)}
        variables = environments.worker_variables(python)
        if checkout is not None:
            variables |= checkout.variables()
        if self._hides_gpu:
            variables |= WITHOUT_GPU
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
        if self._unsent:  # not when it is started: then it reads nothing yet, and a pipe takes no more than 64 KiB
            request, self._unsent = {**request, "own": self._unsent.plain}, NO_OWN_OPS
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
            what = f"the worker process did not start: {lost.reason}"
            python = "python" if self._python is None else self._python
            raise WorkerLost(what, hint=f"check that this works: {python} -c 'import tensorflow'") from lost

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
    request: Mapping[str, Any],
    timeout_seconds: float = START_TIMEOUT_SECONDS,
    python: Path | None = None,
    own: OwnOps = NO_OWN_OPS,
) -> dict[str, Any]:
    """Answer one request by a worker of its own, with the arguments of `Worker`."""
    with Worker(timeout_seconds, python, own=own) as worker:
        return worker.ask(request)


Item = TypeVar("Item")


class WorkerLoop(ABC, Generic[Item]):
    """Asks about items in order, by one worker for as long as that lasts, and by the next one from there on.

    A subclass says how workers are started and asked, and records what came of each item.

    Attributes:
        items: what is asked about.
        done: how many of them, from the first, are done with.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.done = 0

    @property
    def left(self) -> Sequence[Item]:
        """What is still to be asked about, the current item first."""
        return self.items[self.done :]

    def run(self, first: Worker | None = None) -> None:
        """Ask about every item.

        Args:
            first: a worker that is up already, to be asked before any is started; it is ended as all are.

        Raises:
            WorkerLost: a worker did not start; what is left was not asked about.
        """
        while self.left:
            with first or self.start() as worker:
                first = None
                is_usable = self.prepare(worker)
                while is_usable and self.left:
                    is_usable = self._ask_next(worker)

    def _ask_next(self, worker: Worker) -> bool:
        item = self.items[self.done]
        try:
            is_usable, is_done = self.ask(worker, item), True
        except CaseLost as lost:
            is_usable, is_done = False, self.record_loss(item, lost)
        self.done += is_done
        return is_usable

    def end(self) -> None:
        """Count all that is left as done with, and ask no more."""
        self.done = len(self.items)

    @abstractmethod
    def start(self) -> Worker:
        """Start a worker.

        Raises:
            WorkerLost: it does not start.
        """

    def prepare(self, worker: Worker) -> bool:
        """Do what comes before the first item of each worker; can it be asked about items?

        What it asks the worker it has to survive itself. If it returns False, it has to have changed something, or the
        next worker ends in the same way.
        """
        return True

    @abstractmethod
    def ask(self, worker: Worker, item: Item) -> bool:
        """Ask about an item and record the answer; can the same worker be asked about the next one?

        Raises:
            CaseLost: the worker was lost.
        """

    @abstractmethod
    def record_loss(self, item: Item, lost: CaseLost) -> bool:
        """Record that a worker was lost at an item, and why; is that all there is to the item?

        If not, the next worker is asked about it again, so that each loss has to leave less to ask.
        """


LOG_NOISE = re.compile(r"[IW]\d{4} |\d{4}-\d\d-\d\d [^]]*: [IW] |WARNING: All log messages before absl")
"""Beginnings of lines that TensorFlow logs without anything being wrong: information and warnings."""

LOG_PREFIX = re.compile(r"^[EF]\d{4} [\d:.]+\s+\d+ ")
"""Severity, time and thread of a line that TensorFlow logs: nothing that tells two runs of the same apart."""

FATAL = "Fatal Python error: "
"""How Python's faulthandler begins: what is wrong, then a stack for each thread, the current one first."""

FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')

LIBRARY = re.compile(r"/lib/python\d|<frozen")

LONGEST = 200

TAIL_BYTES = 64_000
"""More than the stacks of a hundred threads, which are behind the words that count."""


def how_ended(code: int) -> str:
    """Return how a process ended in words, by its exit code; below 0 it is the number of a signal."""
    return f"ended by signal {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"


def tail_of(log: IO[bytes]) -> str:
    """Return the end of a log."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - TAIL_BYTES))
    return log.read().decode(errors="replace")


def cause_of_end(log: str, case: str | None) -> str:
    """Return the line of a log that tells most about how a worker ended; nothing if none tells anything.

    Args:
        log: the end of the log.
        case: the case that the worker was at; only what was logged since it said so counts.
    """
    since = log if case is None else log.rpartition(case)[2]
    said, fatal, dump = since.partition(FATAL)
    lines = [line.strip() for line in said.splitlines()]
    telling = [LOG_PREFIX.sub("", line) for line in lines if line and not LOG_NOISE.match(line)]
    if not fatal:
        return telling[-1][:LONGEST] if telling else ""
    # "Aborted" alone says less than what was said before it, for example by a `terminate` for want of memory.
    return "; ".join(part for part in (_place(dump), telling[-1][:LONGEST] if telling else "") if part)


def _place(dump: str) -> str:
    """Return what was wrong and where: the innermost frame that is not of Python's own library or of a package."""
    what, _, stacks = dump.partition("\n")
    current = stacks.partition("Current thread")[2].partition("\n\n")[0]
    frames = list(FRAME.finditer(current))
    own = [frame for frame in frames if not LIBRARY.search(frame["file"])]
    frame = next(iter(own or frames), None)
    return f"{what.strip()} in {frame['function']} ({frame['file']}:{frame['line']})" if frame else what.strip()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
