"""A worker that hangs, dies or never comes up costs one request, says why, and leaves no process behind.

Most of it is shown on a worker that measures nothing (fake_worker.py); what only a real one can show is at the end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import stored
from fake_worker import EXIT_CODE, VERSIONS
from places import EXTRAS, FAKE_WORKER, FAKE_WORKER_COMMAND
from processes import LONG, has_ended, is_gone
from pyopbench.engine import worker_process
from pyopbench.engine.worker_process import CaseLost, Worker, ask_once
from pyopbench.model.case import Case
from pyopbench.model.discover import PACKAGE, PATH_VARIABLE
from pyopbench.model.errors import WorkerLost

pytestmark = pytest.mark.measures

SHORT = 1.0
NO_MODULE = "ModuleNotFoundError: No module named 'nothing_of_this_name'"
DOES_NOT_START = (
    f"the worker process did not start: the worker process ended with exit code 1: {NO_MODULE}",
    "check that `python -c 'import tensorflow'` works in this environment: pip install -e '.[cpu]'",
)
"""What is wrong with a worker that is no more than an import of nothing, and what to try."""
EXITED = f"the worker process ended with exit code {EXIT_CODE}: some.cc:1] last words"
"""Why the fake worker's variants that exit have no number."""
HANGING = Case("negate", "hanging", "none", "forward", "call", "float32", 4).id


@pytest.fixture
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)


def prepare(*variants: str) -> dict[str, object]:
    cases = [stored.case(variant) for variant in variants]
    return {"do": "prepare", "cases": cases, "launch": 0, "finite_differences": True}


def pid_of(worker: Worker) -> int:
    return int(worker.environment["pid"])


@pytest.mark.usefixtures("_fake")
def test_a_worker_may_have_another_python_which_finds_pyopbench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that is installed beside the package comes with it; what PYTHONPATH names already comes after it."""
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\necho "$PYTHONPATH" > {tmp_path}/found\nexec {sys.executable} "$@"\n', encoding="utf-8"
    )
    python.chmod(0o700)
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    with Worker(LONG, python) as worker:
        assert worker.ask(prepare("well"))["checked"]
    first, second = (tmp_path / "found").read_text(encoding="utf-8").strip().split(":")
    assert second == "/elsewhere"
    assert [path.resolve() for path in Path(first).iterdir()] == [PACKAGE]


@pytest.mark.usefixtures("_fake")
def test_another_python_without_its_modules_is_named_with_what_to_do(tmp_path: Path) -> None:
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    python.chmod(0o700)
    with pytest.raises(WorkerLost) as lost:
        Worker(LONG, python)
    remade = f"delete {tmp_path / 'environment'} to have it created again"
    assert lost.value.hint == f"check that `{python} -c 'import tensorflow'` works; {remade}"


@pytest.mark.usefixtures("_fake")
def test_a_worker_answers_one_request_after_another() -> None:
    with Worker(LONG) as worker:
        assert worker.environment["tensorflow"] == VERSIONS["tensorflow"]
        for _ in range(2):
            answer = worker.ask(prepare("well", "raising"))
            assert list(answer["checked"]) == [stored.case("well")]
            assert answer["failures"][0]["reason"] == "ValueError: no"


@pytest.mark.usefixtures("_fake")
def test_an_event_without_a_case_is_a_sign_of_life() -> None:
    """A kernel that is compiled belongs to no case."""
    with Worker(LONG) as worker:
        assert worker.ask({"do": "build", "ops": ["a", "b"]})["libraries"] == {
            "a": "/cache/a-1.so",
            "b": "/cache/b-1.so",
        }


@pytest.mark.usefixtures("_fake")
def test_several_workers_are_at_work_at_the_same_time() -> None:
    """Each comes up and answers when it is ready; whoever waits for both is told when there is something to hear."""
    heard = threading.Event()
    with Worker(LONG, heard=heard) as one, Worker(LONG, heard=heard) as other:
        answered: dict[int, dict[str, object]] = {}
        for request in (None, prepare("lasting", "well")):
            if request is not None:
                for worker in (one, other):
                    worker.send(request)
            answered.clear()
            while len(answered) < 2:
                assert heard.wait(LONG)
                heard.clear()
                told = {worker.process: worker.answer(0.0) for worker in (one, other) if worker.process not in answered}
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


def test_a_worker_that_is_not_waited_for_says_as_well_why_it_does_not_come_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, "-c", "import nothing_of_this_name"))
    with Worker(LONG, heard=threading.Event()) as worker, pytest.raises(WorkerLost) as caught:
        worker.answer(LONG)
    assert (caught.value.message, caught.value.hint) == DOES_NOT_START


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


def test_leaving_a_worker_ends_its_process() -> None:
    with Worker(LONG) as worker:
        pid = pid_of(worker)
        assert not is_gone(pid)
    assert is_gone(pid)
    worker.close()


@pytest.mark.usefixtures("_fake")
def test_one_request_may_have_a_worker_of_its_own() -> None:
    assert ask_once(prepare("well"))["failures"] == []


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
    """It holds the worker's pipe open, so that the end of the pipe would never come."""
    monkeypatch.setenv("FAKE_WORKER_LEFT", str(tmp_path / "left"))
    with Worker(LONG) as worker, pytest.raises(CaseLost) as caught:
        worker.ask(prepare("forking"))
    assert caught.value.reason == EXITED
    assert has_ended(int((tmp_path / "left").read_text(encoding="utf-8")))


@pytest.mark.usefixtures("_fake")
def test_a_worker_lost_before_it_came_to_a_case_names_none() -> None:
    with Worker(SHORT) as worker, pytest.raises(CaseLost) as caught:
        worker.ask(prepare("silent"))
    assert caught.value.case is None
    assert caught.value.status == "timeout"


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


@pytest.mark.usefixtures("_fake")
def test_an_interrupt_while_a_worker_comes_up_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def interrupted(self: Worker, until: float) -> None:
        started.append(self._process)
        raise KeyboardInterrupt

    monkeypatch.setattr(Worker, "_next", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Worker(LONG)
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.usefixtures("_fake")
def test_an_interrupt_while_a_worker_is_asked_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(timeout: float) -> bytes:
        raise KeyboardInterrupt

    def ask() -> None:
        with Worker(LONG) as worker:
            pids.append(pid_of(worker))
            monkeypatch.setattr(worker._lines, "get", interrupted)
            worker.ask(prepare("hanging"))

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        ask()
    assert is_gone(pids[0])


PARENT = """
import sys
from pyopbench.engine.worker_process import Worker
with Worker(600) as worker:
    worker.ask({"do": "verify", "case": sys.argv[1], "finite_differences": False})
"""


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[int]:
    """The process id of a real worker that is in a body that never returns, and whose parent has just been killed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    environment = {**os.environ, PATH_VARIABLE: str(EXTRAS), "PYOPBENCH_TESTS_HANGING": str(pipe)}
    with subprocess.Popen([sys.executable, "-c", PARENT, HANGING], env=environment) as parent:
        pid = int(pipe.read_text(encoding="utf-8"))  # opens when the body writes to it
        parent.kill()
    yield pid
    if not is_gone(pid):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of a process that is no child")
def test_a_worker_in_a_hanging_body_ends_with_its_parent(orphan: int) -> None:
    assert has_ended(orphan)
