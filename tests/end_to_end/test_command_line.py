"""The command line: what goes to stdout and stderr, exit codes, and that no input ends in a traceback.

Most runs have a worker that measures nothing (fake_worker.py). Two whole runs at the end are real, in processes of
their own: one whose variants misbehave in every way, and which is interrupted and resumed, and one of `verify`.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import stored
from commands import CRASHED, ENVIRONMENT, REPORT, Call, Ended, begin, groups
from fake_worker import FAILURES
from processes import is_gone
from pyopbench.cli import output
from pyopbench.engine import plan, run
from pyopbench.model import formatting
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import WorkerLost
from pyopbench.store.run import RUN_FILE, SAMPLES_FILE

pytestmark = pytest.mark.long


def test_a_full_disk_ends_a_run_with_what_was_finished(
    call: Call, planned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned("native")
    fsync = os.fsync

    def fail_on_samples(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(SAMPLES_FILE) and rooms.pop() == "none":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    before = ["launch", "launch", "prepared", "prepared", "group"]
    rooms = ["none", *["some" for _ in before]]  # taken from the end
    monkeypatch.setattr(os, "fsync", fail_on_samples)
    ended = call("run", "double", "--launches", 2, "--out", tmp_path / "run")
    assert ended.code == 2
    assert "  received: [Errno 28] No space left on device" in ended.err.splitlines()
    lines = stored.read_lines(tmp_path / "run")
    assert sorted(line["kind"] for line in lines[: len(before)]) == sorted(before), "two workers prepare in any order"
    monkeypatch.setattr(os, "fsync", fsync)
    again = call("resume", tmp_path / "run")
    assert again.code == 0, again.err
    kept = stored.read_lines(tmp_path / "run")
    assert kept[: len(lines)] == lines
    assert launches_of(tmp_path / "run")[stored.group()] >= 2


def test_an_interrupt_while_planning_ends_with_its_exit_code(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(plan, "plan_in", interrupted)
    assert call("run", "sinh").code == 130


def test_a_run_stores_its_settings(call: Call, planned: Callable[..., None], tmp_path: Path) -> None:
    planned()
    ended = call("run", "double", "--launches", 3, "--budget", "2m", "--quick", "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    settings = stored.read_run(tmp_path / "run")["settings"]
    assert (settings["launches"], settings["budget_seconds"], settings["quick"]) == (3, 120.0, True)
    assert settings["until"] == "decided"
    assert stored.read_run(tmp_path / "run")["command"][:3] == ["pyopbench", "run", "double"]


def test_progress_goes_to_stderr_and_results_to_stdout(
    call: Call, planned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned("native")
    monkeypatch.setattr(formatting, "duration", lambda seconds: "no time")
    folder = tmp_path / "[run]"
    ended = call("run", "double", "--launches", 2, "--out", folder)
    assert ended.code == 0, ended.err
    progress = ended.err.splitlines()
    assert progress[0] == f"2 cases to try, 1 not supported; results in {folder}"
    assert progress[1] == "sweep 1 (2 workers), 1 of 1 groups"
    assert ended.out.startswith("1 decision on 1 op: ")
    assert ended.out.endswith(f"report: {folder / 'report.html'}\n")
    files = {*REPORT, RUN_FILE, SAMPLES_FILE}
    assert files == {path.name for path in folder.iterdir()}


def test_a_run_with_failures_goes_on_and_says_so(call: Call, planned: Callable[..., None], tmp_path: Path) -> None:
    planned("raising", "crashing", "impossible")
    ended = call("run", "double", "--launches", 2, "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    place = lines.index(f"crashed  {stored.case('crashing')}")
    assert lines[place + 1 : place + 4] == [f"  {CRASHED}", f"raised  {stored.case('raising')}", "  ValueError: no"]
    assert stored.case("impossible") not in ended.out


def test_many_reasons_are_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_failures([Failure(stored.case("raising"), "raised", f"reason {i}") for i in range(25)])
    *shown, last = capsys.readouterr().out.splitlines()
    assert shown[1::2] == [f"  reason {i}" for i in range(output.SHOWN_FAILURES)]
    assert last == f"and {25 - output.SHOWN_FAILURES} more reasons"


def test_a_wrong_variant_ends_a_run_and_its_report_with_1(
    call: Call, planned: Callable[..., None], tmp_path: Path
) -> None:
    planned("wrong", "native")
    ended = call("run", "double", "--launches", 2, "--out", tmp_path / "run")
    assert ended.code == 1
    assert f"wrong  {stored.case('wrong')}\n" in ended.out
    assert "index [3]: expected 1.5, got 2.5" in ended.out
    measured = {key for line in stored.read_lines(tmp_path / "run") for key in line.get("samples", {})}
    assert measured == {stored.case("py_function_numpy"), stored.case("native")}
    again = call("report", tmp_path / "run", "--out", tmp_path / "again")
    assert (again.code, again.err) == (1, "")
    for name in REPORT:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()


def test_a_run_in_which_nothing_works_measured_nothing(
    call: Call, planned: Callable[..., None], tmp_path: Path
) -> None:
    planned(cases=[stored.case("raising")])
    ended = call("run", "double", "--out", tmp_path / "run")
    assert ended.code == 3
    assert f"  received: {tmp_path / 'run'}: 1 failure; the first: ValueError: no" in ended.err.splitlines()


def test_a_spent_budget_is_told(call: Call, planned: Callable[..., None], tmp_path: Path) -> None:
    planned()
    ended = call("run", "double", "--launches", 500, "--budget", "0.1s", "--out", tmp_path / "run")
    assert re.search(r"\b\d+ of at most 500 launches", ended.err.splitlines()[-2]), ended.err


def test_axes_that_leave_no_case_are_bad_input(call: Call, planned: Callable[..., None], tmp_path: Path) -> None:
    planned(cases=[])
    for command in ("run", "verify"):
        ended = call(command, "double")
        assert ended.code == 2
        assert "pyopbench run --list" in ended.err.splitlines()[-1]


def test_json_goes_to_stdout_alone(call: Call, planned: Callable[..., None], tmp_path: Path) -> None:
    planned("wrong")
    call("run", "double", "--launches", 2, "--out", tmp_path / "run")
    reported = call("report", tmp_path / "run", "--json")
    assert (reported.code, reported.err) == (1, "")
    assert json.loads(reported.out) == json.loads((tmp_path / "run" / "decisions.json").read_text(encoding="utf-8"))
    verified = call("verify", "--json")
    assert verified.code == 1
    assert [finding["failure"] and finding["failure"]["status"] for finding in json.loads(verified.out)] == [
        None,
        "wrong",
    ]
    listed = call("run", "--list", "--json")
    assert listed.code == 0
    assert json.loads(listed.out)["cases"] == [stored.case("py_function_numpy"), stored.case("wrong")]


def test_verify_counts_and_tells_what_is_wrong(call: Call, planned: Callable[..., None]) -> None:
    planned("wrong", "crashing", "impossible")
    ended = call("verify", "double")
    assert (ended.code, ended.err) == (1, "")
    lines = [line.strip() for line in ended.out.splitlines()]
    assert lines[-4:-1] == [FAILURES["wrong"][1], f"crashed  {stored.case('crashing')}", CRASHED]
    assert lines[-1] == "1 right, 2 failed, 1 not supported"


def test_a_run_lists_ops_variants_and_why_a_case_cannot_be(call: Call, planned: Callable[..., None]) -> None:
    planned("native")
    ended = call("run", "--list")
    assert (ended.code, ended.err) == (0, "")
    assert {"double", "py_function_numpy"} <= {*ended.out.split()}
    assert ended.out.splitlines()[-1] == f"{stored.case('xla')}  not supported: it did not work"


# Real runs, in processes of their own.

# A shell lets what it starts in the background ignore SIGINT, and these tests with it.
CODE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from pyopbench.cli.app import main
from pyopbench.engine import worker_process
worker_process.COMMAND = {command!r}
main()
"""
TIMEOUT_SECONDS = 10
IMPATIENCE = f"""
from msgspec.structs import replace
from pyopbench.engine import plan
short = {{"first_rounds": 6, "rounds": 20, "until": "end", "case_timeout_seconds": {TIMEOUT_SECONDS}.0}}
plan.QUICK = replace(plan.QUICK, **short, budget_seconds=None)
"""
"""With this, there are few rounds in a launch, and a case that hangs given up soon."""
LAUNCHES = 2
"""As few as take turns: each loses a worker to each of two bodies, and is begun anew when the run is resumed."""
MISBEHAVING = ("raising", "crashing", "hanging", "wrong_value", "wrong_gradient")
BEHAVING = ("numpy_function", "twin", "printing")
WRONG_VALUE = "output 0 differs at index [3]: expected -1.796194, got -1.8141559 (relative error 0.01, tolerance 1e-05)"
WRONG_GRADIENT = (
    "gradient of input 0 differs at index [3]: expected -0.7279315, got -0.73521084 (relative error 0.0082, "
    "tolerance 1e-05)"
)
"""Both variants are off by one in a hundred, in numbers drawn from a fixed seed."""

GROUPS = tuple(f"negate/{family}/call/float32/4/cpu" for family in ("forward", "gradient"))


def command_with(worker: Path, first: str = "") -> list[str]:
    return [sys.executable, "-c", first + CODE.format(command=(sys.executable, "-IS", str(worker)))]


def program(worker: Path, *arguments: object) -> Ended:
    done = subprocess.run(
        [*command_with(worker), *map(str, arguments)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def workers_of(lines: Sequence[dict[str, Any]]) -> list[int]:
    return [int(line["environment"]["pid"]) for line in lines if line["kind"] == "launch"]


def launches_of(folder: Path) -> dict[str, int]:
    """Return by how many launches each group was sampled."""
    return dict(Counter(group for _, group in set(groups(folder))))


@dataclass(frozen=True)
class Finished:
    """A run that was interrupted while its launches sampled, and then resumed until it ended."""

    folder: Path
    interrupted: Ended  # how it ended the first time
    workers_were_gone: bool  # whether all workers had ended when the run had
    first: list[dict[str, Any]]  # what it had stored by then
    ended: Ended  # how it ended when it was resumed

    @property
    def failures(self) -> dict[str, dict[str, Any]]:
        """Failures of launches, by variant."""
        lines = stored.read_lines(self.folder)
        return {failure["case"].split("/")[1]: failure for line in lines for failure in line.get("failures", ())}


@pytest.fixture(scope="module", autouse=True)
def misbehaving(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, forked_worker: Path
) -> Iterator[Future[Finished] | None]:
    """The run below, if a test asks for it: begun with the first test, because most of the time it waits."""
    with ThreadPoolExecutor(1) as pool:
        wanted = any("misbehaved" in getattr(item, "fixturenames", ()) for item in request.session.items)
        folder = tmp_path_factory.mktemp("misbehaved") / "run"
        yield pool.submit(misbehave, folder, forked_worker) if wanted else None


@pytest.fixture
def misbehaved(misbehaving: Future[Finished]) -> Finished:
    return misbehaving.result()


def misbehave(folder: Path, worker: Path) -> Finished:
    """Run variants that misbehave in every way, next to some that do not."""
    variants = ",".join((*BEHAVING, *MISBEHAVING, "autograph"))
    axes = "--axis mode=call --axis size=4 --axis direction=forward,backward --baseline numpy_function --quick"
    arguments = ["negate", "--variant", variants, *axes.split(), "--launches", LAUNCHES]
    process = begin(command_with(worker, IMPATIENCE), "run", *arguments, "--out", folder, until="sweep 1 (")
    while not groups(folder):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    interrupted = Ended(process.returncode, out, err)
    first = stored.read_lines(folder)
    were_gone = all(map(is_gone, workers_of(first)))
    return Finished(folder, interrupted, were_gone, first, program(worker, "resume", folder))


def test_a_misbehaving_variant_is_a_row_with_its_reason(misbehaved: Finished) -> None:
    failures = misbehaved.failures
    assert {variant: failure["status"] for variant, failure in failures.items()} == {
        "raising": "raised",
        "crashing": "crashed",
        "hanging": "timeout",
        "wrong_value": "wrong",
        "wrong_gradient": "wrong",
    }
    crash = failures["crashing"].pop("reason")
    assert crash.startswith("the worker process ended by signal SIGSEGV: Segmentation fault")
    assert {variant: failure["reason"] for variant, failure in failures.items() if "reason" in failure} == {
        "raising": "ValueError: raised by the body",
        "hanging": f"no sign of life for {TIMEOUT_SECONDS} s; the worker was killed",
        "wrong_value": WRONG_VALUE,
        "wrong_gradient": WRONG_GRADIENT,
    }


def test_what_cannot_be_is_a_row_with_its_reason(misbehaved: Finished) -> None:
    skips = {skip["case"].split("/")[1]: skip for skip in stored.read_run(misbehaved.folder)["skips"]}
    assert skips["autograph"]["reason"] == "autograph needs a python body, and the op has none"
    assert skips["crashing"]["reason"] == "crashing is for forward cases only"


def test_the_others_of_the_group_are_measured_in_every_launch(misbehaved: Finished) -> None:
    lines = [
        line
        for line in stored.read_lines(misbehaved.folder)
        if line["kind"] == "group" and line["group"].startswith("negate/")
    ]
    for line in lines:
        forward = line["group"].split("/")[1] == "forward"
        measured = {Case.from_id(key).variant for key in line["samples"]}
        assert measured >= {*BEHAVING, *(["wrong_gradient"] if forward else [])}
        assert not measured & {"raising", "crashing", "hanging", "wrong_value"}


def test_the_run_says_at_the_end_what_failed(misbehaved: Finished) -> None:
    assert misbehaved.ended.code == 1, "a wrong gradient"
    for variant, failure in misbehaved.failures.items():
        assert f"{failure['status']}  {failure['case']}\n  {failure['reason']}\n" in misbehaved.ended.out, variant
    assert (misbehaved.folder / "report.html").stat().st_size > 0


def test_neither_stream_holds_a_traceback_or_what_tensorflow_or_bodies_say(misbehaved: Finished) -> None:
    for stream in (misbehaved.ended.out, misbehaved.ended.err):
        for words in ("Traceback", "oneDNN", "absl", "printed by the body", "retracing"):
            assert words not in stream
    *progress, sampled = misbehaved.ended.err.splitlines()
    assert sampled.split()[0].endswith("%")
    assert [line for line in progress if not line.startswith(("1 worker", "2 workers", "3 workers", "sweep "))] == []


def test_verify_finds_a_planted_wrong_gradient(forked_worker: Path) -> None:
    axes = "negate --variant native,wrong_gradient --axis mode=call --axis dtype=float32 --axis size=4"
    ended = program(forked_worker, "verify", *axes.split(), "--axis", "gradient=autodiff,custom_gradient")
    assert ended.code == 1
    assert ended.err == ""
    assert ended.out.splitlines() == [
        "wrong  negate/wrong_gradient/custom_gradient/backward/call/float32/4/cpu",
        f"  {WRONG_GRADIENT}",
        "1 right, 1 failed, 0 not supported",
    ]


def test_an_interrupted_run_keeps_what_is_finished_and_says_how_to_go_on(misbehaved: Finished) -> None:
    assert misbehaved.interrupted.code == 130
    assert misbehaved.interrupted.out == ""
    assert misbehaved.interrupted.err.splitlines()[-3:] == [
        f"interrupted; finished measurements are in {misbehaved.folder}",
        f"  resume: pyopbench resume {misbehaved.folder}",
        f"  report: pyopbench report {misbehaved.folder}",
    ]
    assert "Traceback" not in misbehaved.interrupted.err
    assert misbehaved.workers_were_gone
    assert [line for line in misbehaved.first if line["kind"] == "group"]


def test_a_resumed_run_holds_every_group_of_as_many_launches_as_were_asked_for(misbehaved: Finished) -> None:
    lines = stored.read_lines(misbehaved.folder)
    assert lines[: len(misbehaved.first)] == misbehaved.first
    later = lines[len(misbehaved.first) :]
    assert later
    assert not [line for line in later if line.get("failures")], "what failed is not tried again"
    launches = launches_of(misbehaved.folder)
    assert {group: launches[group] for group in GROUPS} == dict.fromkeys(GROUPS, LAUNCHES)


def test_a_worker_that_does_not_start_any_more_leaves_a_report_of_what_was_measured(
    call: Call, planned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned()
    whole = run.measure

    def measure_and_lose(*arguments: Any) -> Iterator[run.Event]:
        yield from whole(*arguments)
        raise WorkerLost("the worker process did not start")

    monkeypatch.setattr(run, "measure", measure_and_lose)
    ended = call("run", "double", "--quick", "--out", tmp_path / "run")
    assert ended.err.splitlines()[-2:] == [
        "error: the worker process did not start",
        f"  resume: pyopbench resume {tmp_path / 'run'}",
    ]
    assert ended.code == 0
    assert (tmp_path / "run" / "report.html").exists()
