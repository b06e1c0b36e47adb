"""A shard on its host: measured by a process of its own under the lock, kept until it is handed over, continued."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

import dask_hosts
import fleet_fakes
from pyopbench.engine import host_lock
from pyopbench.engine.fleet import host_shard
from pyopbench.engine.fleet.host_shard import Running
from pyopbench.engine.fleet.messages import Delivery, Request, SentFile
from pyopbench.store import run_folder

FILES = {run_folder.RUN_FILE, run_folder.SAMPLES_FILE}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in dask_hosts.variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


def request(*words: str, shard: int = 2, files: tuple[SentFile, ...] = ()) -> Request:
    sent = list(files)
    return Request(fleet=fleet_fakes.FLEET, shard=shard, of=4, words=["double", *words], own_words=[], files=sent)


def measure(*words: str, host: str = "a", files: tuple[SentFile, ...] = ()) -> Delivery:
    return host_shard.measure(request(*words, files=files), host, Running(fleet_fakes.FLEET))


def times(here: Path) -> int:
    """Return how often anything was measured."""
    return len((here / "times").read_text(encoding="utf-8").splitlines()) if (here / "times").exists() else 0


def test_a_shard_comes_back_with_its_results_and_without_reports(here: Path) -> None:
    delivery = measure()
    told = (delivery.outcome, delivery.exit_code, delivery.host, delivery.shard, delivery.told)
    assert told == ("measured", 0, "a", 2, "")
    assert set(delivery.files) == FILES
    run = msgspec.json.decode(delivery.files[run_folder.RUN_FILE])
    assert (run["shard"]["index"], run["shard"]["of"], run["shard"]["host"]) == (2, 4, "a")
    assert host_lock.is_free("a")


def test_what_is_finished_is_handed_over_again_and_not_measured_again(here: Path) -> None:
    first = measure()
    assert host_shard.kept_in(host_shard.folder_of(fleet_fakes.FLEET, "a")) == ([2], [])
    assert measure().files == first.files
    assert times(here) == 1


def test_hosts_with_one_home_keep_their_shards_apart(here: Path) -> None:
    measure(host="a")
    assert host_shard.kept_in(host_shard.folder_of(fleet_fakes.FLEET, "b")) == ([], [])
    measure(host="b")
    assert times(here) == 2


def test_what_was_interrupted_is_continued(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four pairs of cases one was measured; the others are, and that one not again."""
    monkeypatch.setenv("FAKE_SHARD_CASES", "8")
    whole = measure()
    folder = host_shard.folder_of(fleet_fakes.FLEET, "a") / "2"
    samples = folder / host_shard.RESULTS / run_folder.SAMPLES_FILE
    samples.write_bytes(b"".join(whole.files[run_folder.SAMPLES_FILE].splitlines(keepends=True)[:2]) + b'{"kind": "gro')
    (folder / host_shard.FINISHED).unlink()
    assert host_shard.kept_in(folder.parent) == ([], [2])
    again = measure()
    assert again.outcome == "measured"
    assert times(here) == 4 + 3
    lines, _ = run_folder.read_lines(folder / host_shard.RESULTS)
    assert sum(line["kind"] == "group" for line in lines) == 4


def test_what_cannot_be_continued_is_begun_again(here: Path) -> None:
    measure()
    folder = host_shard.folder_of(fleet_fakes.FLEET, "a") / "2"
    (folder / host_shard.FINISHED).unlink()
    (folder / host_shard.RESULTS / run_folder.RUN_FILE).write_text("{", encoding="utf-8")
    assert measure().outcome == "measured"


def test_a_shard_that_fails_says_why_and_is_not_kept_as_finished(here: Path) -> None:
    delivery = measure("--fail")
    assert (delivery.outcome, delivery.exit_code, delivery.files) == ("failed", 7, {})
    assert delivery.told
    assert host_shard.kept_in(host_shard.folder_of(fleet_fakes.FLEET, "a"))[0] == []


def test_a_wrong_variant_is_a_result(here: Path) -> None:
    delivery = measure("--wrong")
    assert (delivery.outcome, delivery.exit_code) == ("measured", 1)


def test_a_cache_that_cannot_be_written_to_is_told_to_the_client(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "file"))
    delivery = measure()
    assert (delivery.outcome, delivery.exit_code) == ("failed", None)
    assert delivery.told


def test_files_that_came_along_lie_under_their_hash_and_are_what_the_command_is_given(here: Path) -> None:
    content = b"OP = 'mine'\n"
    file = SentFile(text="ops/my.py", name="my.py", sha256=hashlib.sha256(content).hexdigest(), content=content)
    assert measure("ops/my.py", files=(file,)).outcome == "measured"
    folder = host_shard.folder_of(fleet_fakes.FLEET, "a")
    assert (folder / host_shard.SENT / file.sha256 / "my.py").read_bytes() == content
    assert (folder / "2" / host_shard.LOG).read_bytes() == content


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
    assert host_shard._on_this_host([word], {"my.py": Path("/x/my.py")}) == [expected]


def test_whoever_waits_for_the_lock_stops_waiting_when_the_fleet_is_stopped(here: Path) -> None:
    running = Running(fleet_fakes.FLEET)
    running.stopped.set()
    done: list[Delivery] = []
    with host_lock.held(host="a"):
        thread = threading.Thread(target=lambda: done.append(host_shard.measure(request(), "a", running)))
        thread.start()
        thread.join()
    assert [one.outcome for one in done] == ["stopped"]
    assert times(here) == 0


def test_a_process_that_is_stopped_ends_and_the_shard_can_be_continued(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_shard, "POLL_SECONDS", 0.01)
    monkeypatch.setenv(host_shard.COMMAND_VARIABLE, f"{sys.executable} -c 'import signal; signal.pause()'")
    running = Running(fleet_fakes.FLEET)
    running.stopped.set()
    with host_lock.held(host="a") as lock:
        shard = host_shard._Shard(request(), here, "a", lock, running)
        ended = shard._call(["run"])
    assert (ended.outcome, ended.exit_code) == ("stopped", -15)


HOLD = """
import sys
from pyopbench.engine.fleet import host_shard
from pyopbench.engine.fleet.messages import Request
request = Request(fleet={fleet!r}, shard=2, of=4, words=[], own_words=[], files=[])
host_shard.measure(request, "a", host_shard.Running({fleet!r}))
"""


def test_the_process_ends_with_the_worker_of_dask_and_the_host_is_locked_until_then(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kill -9` of the worker in the middle of a shard: the lock is free when the process that measures is gone too."""
    fifo, program = here / "fifo", here / "measuring.py"
    os.mkfifo(fifo)
    program.write_text(f"import signal\nopen({str(fifo)!r}, 'w').write('on')\nsignal.pause()\n", encoding="utf-8")
    monkeypatch.setenv(host_shard.COMMAND_VARIABLE, f"{sys.executable} {program}")
    process = subprocess.Popen([sys.executable, "-c", HOLD.format(fleet=fleet_fakes.FLEET)])
    assert fifo.read_text(encoding="utf-8") == "on"
    assert not host_lock.is_free("a")
    process.kill()
    process.wait()
    with host_lock.held(host="a"):
        pass
