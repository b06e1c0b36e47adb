"""A shard on its host: measured by a process of its own under the lock, kept until it is handed over, continued."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

import dask_hosts
import fleet_fakes
from pyopbench.engine import host_lock
from pyopbench.engine.fleet import host as on_host
from pyopbench.engine.fleet.host import Delivery, Request, SentFile, ShardFailed, ShardStopped
from pyopbench.store import run_folder
from pyopbench.store.line_types import GroupLine

FILES = {run_folder.RUN_FILE, run_folder.SAMPLES_FILE}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in dask_hosts.variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


def request(*words: str, shard: int = 2, files: tuple[SentFile, ...] = ()) -> Request:
    return Request(fleet_fakes.FLEET, shard, 4, ("double", *words), files=files)


def measure(*words: str, host: str = "a", shard: int = 2, files: tuple[SentFile, ...] = ()) -> Delivery:
    return on_host.measure(request(*words, shard=shard, files=files), host, threading.Event())


def kept(host: str = "a") -> tuple[list[int], list[int]]:
    return on_host.kept_shards(fleet_fakes.FLEET, dask_worker=SimpleNamespace(name=on_host.NAMED + host))


def times(here: Path) -> int:
    """Return how often anything was measured."""
    return len((here / "times").read_text(encoding="utf-8").splitlines()) if (here / "times").exists() else 0


def test_a_shard_comes_back_with_its_results_and_without_reports(here: Path) -> None:
    delivery = measure()
    assert delivery.host == "a"
    assert set(delivery.files) == FILES
    run = msgspec.json.decode(delivery.files[run_folder.RUN_FILE])
    assert (run["shard"]["index"], run["shard"]["of"], run["shard"]["host"]) == (2, 4, "a")
    assert host_lock.is_free("a")


def test_what_is_finished_is_handed_over_again_and_not_measured_again(here: Path) -> None:
    first = measure()
    assert kept() == ([2], [])
    assert measure().files == first.files
    assert times(here) == 1


def test_hosts_with_one_home_keep_their_shards_apart(here: Path) -> None:
    measure(host="a")
    assert kept("b") == ([], [])
    measure(host="b")
    assert times(here) == 2


def test_what_was_interrupted_is_continued(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four pairs of cases one was measured; the others are, and that one not again."""
    monkeypatch.setenv("FAKE_SHARD_CASES", "8")
    whole = measure()
    folder = on_host.folder_of(fleet_fakes.FLEET, "a") / "2"
    samples = folder / on_host.RESULTS / run_folder.SAMPLES_FILE
    samples.write_bytes(b"".join(whole.files[run_folder.SAMPLES_FILE].splitlines(keepends=True)[:2]) + b'{"kind": "gro')
    (folder / on_host.FINISHED).unlink()
    assert kept() == ([], [2])
    measure()
    assert times(here) == 4 + 3
    lines, _ = run_folder.read_lines(folder / on_host.RESULTS)
    assert sum(isinstance(line, GroupLine) for line in lines) == 4


def test_what_cannot_be_continued_is_begun_again(here: Path) -> None:
    measure()
    folder = on_host.folder_of(fleet_fakes.FLEET, "a") / "2"
    (folder / on_host.FINISHED).unlink()
    (folder / on_host.RESULTS / run_folder.RUN_FILE).write_text("{", encoding="utf-8")
    assert set(measure().files) == FILES


def test_a_shard_that_fails_says_why_and_is_not_kept_as_finished(here: Path) -> None:
    with pytest.raises(ShardFailed) as raised:
        measure("--fail")
    assert str(raised.value)
    assert kept()[0] == []


def test_a_wrong_variant_is_a_result(here: Path) -> None:
    assert set(measure("--wrong").files) == FILES


def test_a_cache_that_cannot_be_written_to_is_told_to_the_client(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "file"))
    with pytest.raises(ShardFailed) as raised:
        measure()
    assert str(raised.value)


def test_files_that_came_along_lie_under_their_hash_and_are_what_the_command_is_given(here: Path) -> None:
    content = b"OP = 'mine'\n"
    file = SentFile(text="ops/my.py", name="my.py", sha256=hashlib.sha256(content).hexdigest(), content=content)
    measure("ops/my.py", files=(file,))
    folder = on_host.folder_of(fleet_fakes.FLEET, "a")
    assert (folder / on_host.SENT / file.sha256 / "my.py").read_bytes() == content
    assert (folder / "2" / on_host.LOG).read_bytes() == content


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("my.py", "/x/my.py"),
        ("my.py:function", "/x/my.py:function"),
        ("points=my.py", "points=/x/my.py"),
        ("other/my.py", "other/my.py"),
        ("--seed", "--seed"),
    ],
)
def test_words_name_sent_files_where_they_are(word: str, expected: str) -> None:
    assert on_host._on_this_host([word], {"my.py": Path("/x/my.py")}) == [expected]


def test_whoever_waits_for_the_lock_stops_waiting_when_the_fleet_is_stopped(here: Path) -> None:
    stopped = threading.Event()
    stopped.set()
    # Another thread, because this one would not wait for what it holds itself.
    with host_lock.held(host="a"), ThreadPoolExecutor(1) as thread, pytest.raises(ShardStopped):
        thread.submit(on_host.measure, request(), "a", stopped).result()
    assert times(here) == 0


def test_a_process_that_is_stopped_ends_and_the_shard_can_be_continued(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_host, "POLL_SECONDS", 0.01)
    monkeypatch.setenv(on_host.COMMAND_VARIABLE, f"{sys.executable} -c 'import signal; signal.pause()'")
    stopped = threading.Event()
    stopped.set()
    with host_lock.held(host="a") as lock, pytest.raises(ShardStopped):
        on_host._Shard(request(), here, "a", lock, stopped)._call(["run"])
    assert not (here / on_host.FINISHED).exists()


HOLD = """
import sys
import threading
from pyopbench.engine.fleet import host
host.measure(host.Request({fleet!r}, 2, 4, ()), "a", threading.Event())
"""


def test_the_process_ends_with_the_worker_of_dask_and_the_host_is_locked_until_then(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kill -9` of the worker in the middle of a shard: the lock is free when the process that measures is gone too."""
    fifo, program = here / "fifo", here / "measuring.py"
    os.mkfifo(fifo)
    program.write_text(f"import signal\nopen({str(fifo)!r}, 'w').write('on')\nsignal.pause()\n", encoding="utf-8")
    monkeypatch.setenv(on_host.COMMAND_VARIABLE, f"{sys.executable} {program}")
    process = subprocess.Popen([sys.executable, "-c", HOLD.format(fleet=fleet_fakes.FLEET)])
    assert fifo.read_text(encoding="utf-8") == "on"
    assert not host_lock.is_free("a")
    process.kill()
    process.wait()
    with host_lock.held(host="a"):
        pass


WORKER = SimpleNamespace(name=f"{on_host.NAMED}a", periodic_callbacks={})


@pytest.mark.parametrize(
    "name", ["tcp://127.0.0.1:3", 7, None, *(on_host.NAMED + name for name in ("", "../b", "a b", "-a", "a\n"))]
)
def test_a_host_goes_by_its_variable_or_by_the_name_that_a_worker_is_given_for_it(
    name: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is that of a folder too."""
    monkeypatch.setenv("PYOPBENCH_HOST", "told")
    assert on_host.host_of(SimpleNamespace(name=name)) == "told"
    assert on_host.host_of(WORKER) == "a"


def test_what_is_kept_is_forgotten_when_it_is_asked_for() -> None:
    measure(shard=2)
    measure(shard=3)
    assert kept() == ([2, 3], [])
    on_host.forget(fleet_fakes.FLEET, [2], dask_worker=WORKER)
    assert kept() == ([3], [])
    on_host.forget(fleet_fakes.FLEET, [], dask_worker=WORKER)
    assert not on_host.folder_of(fleet_fakes.FLEET, "a").exists()


def test_only_the_fleet_that_is_named_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    running = on_host.Running("f" * 16, threading.Event())
    monkeypatch.setitem(on_host._running, "a", running)
    on_host.stop(fleet_fakes.FLEET, dask_worker=WORKER)
    assert not running.stopped.is_set()
    on_host.stop("f" * 16, dask_worker=WORKER)
    assert running.stopped.is_set()


def test_a_profiler_that_is_on_is_seen() -> None:
    pytest.importorskip("dask", reason="Dask.distributed is not installed")
    assert "profiler" not in on_host._disturbing_parts(WORKER)
    assert "profiler" in on_host._disturbing_parts(SimpleNamespace(periodic_callbacks={"profile": None}))


@pytest.mark.parametrize("error", [ShardFailed("no room"), ShardStopped("a")])
def test_what_ends_a_shard_reaches_the_client_as_it_is(error: Exception) -> None:
    """Dask pickles it."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
