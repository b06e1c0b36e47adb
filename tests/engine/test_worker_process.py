"""Workers are asked, and their loss is survived and explained."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from multiprocessing.connection import wait
from pathlib import Path

import pytest

import stored
from fake_worker import EXIT_CODE
from places import FAKE_WORKER, FAKE_WORKER_COMMAND
from processes import LONG, has_ended, is_gone
from pyopbench.engine import worker_process
from pyopbench.engine.worker_process import CaseLost, Worker, ask_each, cause_of_end
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import WorkerLost
from pyopbench.model.own_target import Target, own_ops
from pyopbench.model.side import Checkout

pytestmark = pytest.mark.measures

SHORT = 1.0
NO_MODULE = "ModuleNotFoundError: No module named 'nothing_of_this_name'"
DOES_NOT_START = (
    f"the worker process did not start: the worker process ended with exit code 1: {NO_MODULE}",
    "check that this works: python -c 'import tensorflow'",
)
"""What is wrong with a worker that is no more than an import of nothing, and what to try."""
EXITED = f"the worker process ended with exit code {EXIT_CODE}: some.cc:1] last words"
"""Why the fake worker's variants that exit have no number."""


@pytest.fixture
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)


@pytest.mark.usefixtures("_fake")
@pytest.mark.parametrize("is_revision", [False, True])
def test_a_worker_is_sent_the_own_ops_with_its_first_request_as_its_revision_has_them(
    is_revision: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = (tmp_path.resolve() / name for name in ("here", "there"))
    for folder in (here, there):
        folder.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    own = own_ops(Target("mine", str(here / "mine.py")))
    checkout = Checkout(here, there, PACKAGE.parent) if is_revision else None
    with Worker(LONG, checkout=checkout, own=own) as worker:
        for _ in range(2):
            worker.ask(prepare("well"))
    first, second = map(json.loads, (tmp_path / "log").read_text(encoding="utf-8").splitlines())
    sent = own_ops(Target("mine", str((there if is_revision else here) / "mine.py")))
    assert own_ops(*map(Target.from_plain, first.pop("own"))) == sent
    assert first == second


def prepare(*variants: str) -> dict[str, object]:
    cases = [stored.case(variant) for variant in variants]
    return {"do": "prepare", "cases": cases, "launch": 0, "finite_differences": True}


def pid_of(worker: Worker) -> int:
    return int(worker.environment["pid"])


@pytest.mark.usefixtures("_fake")
def test_several_workers_are_at_work_at_the_same_time() -> None:
    """Each comes up and answers when it is ready; whoever waits for both is told when there is something to hear."""
    with Worker(LONG, waits=False) as one, Worker(LONG, waits=False) as other:
        answered: dict[int, dict[str, object]] = {}
        for request in (None, prepare("lasting", "well")):
            if request is not None:
                for worker in (one, other):
                    worker.send(request)
            answered.clear()
            while len(answered) < 2:
                left = [worker for worker in (one, other) if worker.process not in answered]
                assert wait([worker.fileno() for worker in left], LONG)
                told = {worker.process: worker.answer(0.0) for worker in left}
                answered.update({process: answer for process, answer in told.items() if answer is not None})
        assert all(len(answer["checked"]) == 2 for answer in answered.values())  # type: ignore[arg-type]
        assert one.environment["pid"] != other.environment["pid"]


@pytest.mark.usefixtures("_fake")
def test_an_answer_that_is_not_there_yet_is_waited_for_no_longer_than_asked() -> None:
    with Worker(LONG) as worker:
        worker.send(prepare("hanging"))
        assert worker.answer(0.01) is None
    with Worker(SHORT) as worker:
        worker.send(prepare("hanging"))
        with pytest.raises(CaseLost) as caught:
            worker.answer(LONG)
        assert (caught.value.status, caught.value.case) == ("timeout", stored.case("hanging"))
        assert caught.value.reason == f"no sign of life for {SHORT:g} s; the worker was killed"


def test_what_a_worker_leaves_in_its_temporary_folder_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries and compilers that are killed remove nothing, and a worker is ended by a signal nobody can handle."""
    leave = 'import os, tempfile; os.symlink(tempfile.mkdtemp(), os.environ["MADE"]); os.kill(os.getpid(), 9)'
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, "-c", leave))
    monkeypatch.setenv("MADE", str(tmp_path / "made"))
    with pytest.raises(WorkerLost):
        Worker(LONG)
    assert (tmp_path / "made").is_symlink()
    assert not (tmp_path / "made").exists()


def line_of(source: str) -> str:
    """Return where in the fake worker a line stands, as Python's faulthandler tells it of the innermost frame."""
    lines = [line.strip() for line in FAKE_WORKER.read_text(encoding="utf-8").splitlines()]
    return f"behave ({FAKE_WORKER}:{lines.index(source) + 1})"


SEGFAULT = line_of("os.kill(os.getpid(), signal.SIGSEGV)")


@pytest.mark.usefixtures("_fake")
@pytest.mark.parametrize(
    ("variant", "status", "reason"),
    [
        ("crashing", "crashed", f"the worker process ended by signal SIGSEGV: Segmentation fault in {SEGFAULT}"),
        ("killed", "crashed", "the worker process ended by signal SIGKILL, from outside or out of memory"),
        ("noisy", "crashed", "the worker was killed because its answer is invalid: printed by a library"),
        ("exiting", "crashed", f"the worker process ended with exit code {EXIT_CODE}: some.cc:1] last words"),
        ("torn", "crashed", "the worker process ended with exit code 0"),
        ("hanging", "timeout", f"no sign of life for {SHORT:g} s; the worker was killed"),
    ],
)
def test_a_lost_worker_names_the_case_and_says_how(variant: str, status: str, reason: str) -> None:
    with Worker(SHORT if status == "timeout" else LONG) as worker:
        pid = pid_of(worker)
        with pytest.raises(CaseLost) as caught:
            worker.ask(prepare("talking", variant, "well"))
    assert caught.value.case == stored.case(variant)
    assert caught.value.status == status
    assert caught.value.reason == reason
    assert caught.value.from_outside == (variant == "killed")
    assert is_gone(pid)


@pytest.mark.usefixtures("_fake")
def test_a_process_that_a_body_leaves_is_ended_and_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WORKER_LEFT", str(tmp_path / "left"))
    with Worker(LONG) as worker, pytest.raises(CaseLost) as caught:
        worker.ask(prepare("forking"))
    assert caught.value.reason == EXITED
    assert has_ended(int((tmp_path / "left").read_text(encoding="utf-8")))


@pytest.mark.usefixtures("_fake")
def test_a_worker_that_died_between_requests_is_lost() -> None:
    with Worker(LONG) as worker:
        os.kill(pid_of(worker), signal.SIGKILL)
        with pytest.raises(CaseLost) as caught:
            worker.ask(prepare("well"))
    assert (caught.value.case, caught.value.status, caught.value.from_outside) == (None, "crashed", True)
    expected = "the worker process ended by signal SIGKILL, from outside or out of memory"
    assert caught.value.reason == expected


def test_a_worker_that_does_not_come_up_says_why_and_what_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, "-c", "import nothing_of_this_name"))
    with pytest.raises(WorkerLost) as caught:
        Worker(LONG)
    assert (caught.value.message, caught.value.hint) == DOES_NOT_START
    assert not isinstance(caught.value, CaseLost)


HANGING = """
import sys, time, types
sys.modules["pyopbench.worker.requests"] = requests = types.ModuleType("requests")
def main():
    print('{"event": "ready", "environment": {}}', flush=True)
    time.sleep(600)
requests.main = main
from pyopbench.worker.__main__ import main
main()
"""
"""A worker that reads no input, with a main program as it is, but for TensorFlow."""

PARENT = """
import os, sys
from pyopbench.engine import worker_process
worker_process.COMMAND = (sys.executable, "-c", sys.argv[1])
with worker_process.Worker(600) as worker:
    print(worker.process, flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux ends a worker that reads no input")
def test_a_hanging_worker_ends_with_its_parent(tmp_path: Path) -> None:
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PARENT, HANGING], capture_output=True, text=True, check=False, env=variables
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert has_ended(int(done.stdout))


@pytest.mark.usefixtures("_fake")
def test_a_lost_worker_costs_its_item_and_the_next_worker_goes_on_behind_it() -> None:
    started: list[Worker] = []

    def start() -> Worker:
        assert all(is_gone(worker.process) for worker in started), "one worker at a time"
        started.append(Worker(LONG))
        return started[-1]

    asked = [(name, prepare(name)) for name in ("well", "crashing", "well_too", "killed")]
    answers = list(ask_each(asked, start))
    assert [variant for variant, _ in answers] == ["well", "crashing", "well_too", "killed"]
    assert ["failure" in answer for _, answer in answers] == [False, True, False, True]
    assert len(started) == 2, "nothing was left for a third"
    assert all(is_gone(worker.process) for worker in started)


STACKS_OF_ANY = """\
Fatal Python error: {}

Thread 0x00007f0000000001 (most recent call first):
  File "/python/threading.py", line 1 in wait

Current thread 0x00007f0000000002 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/ops/my_op.py", line 12 in body
  File "/python/script_ops.py", line 3 in __call__

Extension modules: numpy, tensorflow (total: 2)
"""
STACKS, STACKS_OF_ABORTED = map(STACKS_OF_ANY.format, ("Segmentation fault", "Aborted"))


def test_a_crash_names_the_innermost_place_of_the_thread_that_crashed() -> None:
    assert cause_of_end(f"a/case\n{STACKS}", "a/case") == "Segmentation fault in body (/ops/my_op.py:12)"


def test_what_was_said_before_a_crash_is_told_with_it() -> None:
    said = "terminate called after throwing an instance of 'std::bad_alloc'\n"
    assert cause_of_end(said + STACKS_OF_ABORTED, None) == f"Aborted in body (/ops/my_op.py:12); {said.strip()}"
