"""`pyopbench fleet`: what it refuses before anything is connected to, and a fleet from command to merged results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dask_hosts
from commands import Call
from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.engine.fleet import scheduler

LOOPBACK = ("--scheduler", "tcp://127.0.0.1:1")


@pytest.fixture
def _unconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> None:
        raise AssertionError("it was connected to")

    monkeypatch.setattr(scheduler.Scheduler, "__init__", connect)


@pytest.mark.usefixtures("_unconnected")
@pytest.mark.parametrize("command", [("run", "double"), ("resume", "fleet"), ("doctor",)])
@pytest.mark.parametrize("address", ["tcp://10.1.2.3:8786", "tls://10.1.2.3:8786", "http://127.0.0.1:8786"])
def test_an_address_that_may_not_be_spoken_to_is_refused_with_the_reason(
    command: tuple[str, ...], address: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fleet_folder.create(tmp_path / "fleet", fleet_plan())
    ended = call("fleet", *command, "--scheduler", address)
    assert ended.code == 2
    assert address in ended.err


def fleet_plan() -> fleet_folder.FleetPlan:
    import fleet_fakes

    return fleet_fakes.plan(4)


@pytest.mark.usefixtures("_unconnected")
@pytest.mark.parametrize(
    "words",
    [
        ("--shard", "1/4"),
        ("--rev", "main"),
        ("--json",),
        ("--mix", "mix.csv"),
        ("--require", "xla"),
        ("--fail-on", "slower:5%"),
    ],
)
def test_what_hosts_are_not_given_is_refused(words: tuple[str, ...], call: Call) -> None:
    ended = call("fleet", "run", "double", *words, *LOOPBACK)
    assert ended.code == 2
    assert words[0] in ended.err


@pytest.mark.usefixtures("_unconnected")
def test_a_misspelled_option_is_found_before_any_host_is_asked(call: Call) -> None:
    ended = call("fleet", "run", "double", "--quik", *LOOPBACK)
    assert ended.code == 2
    assert "--quik" in ended.err


@pytest.mark.usefixtures("_unconnected")
@pytest.mark.parametrize(
    ("words", "received"),
    [
        (("doubel",), "doubel"),
        (("double", "--variant", "natve"), "natve"),
        (("double", "--baseline", "natve"), "natve"),
        (("double", "--axis", "size=0"), "0"),
        (("double", "--budget", "long"), "long"),
        (("double", "--send", "missing.py"), "missing.py"),
        (("double", "--tls-ca-file", "missing.pem"), LOOPBACK[1]),
    ],
)
def test_a_slip_is_found_before_any_host_is_asked(words: tuple[str, ...], received: str, call: Call) -> None:
    ended = call("fleet", "run", *words, *LOOPBACK)
    assert ended.code == 2
    assert received in ended.err


@pytest.mark.usefixtures("_unconnected")
def test_a_folder_that_holds_a_fleet_is_not_begun_again(call: Call, tmp_path: Path) -> None:
    fleet_folder.create(tmp_path / "fleet", fleet_plan())
    ended = call("fleet", "run", "double", "--out", tmp_path / "fleet", *LOOPBACK)
    assert ended.code == 2
    assert "resume" in ended.err
    assert str(tmp_path / "fleet") in ended.err.replace("\n", "")


@pytest.mark.usefixtures("_unconnected")
def test_an_op_in_a_file_is_sent_only_with_the_users_word(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_op.py").write_text("x = 1\n", encoding="utf-8")
    ended = call("fleet", "run", "my_op.py", *LOOPBACK)
    assert ended.code == 2
    assert {"--send", "my_op.py"} <= set(ended.err.split())


@pytest.mark.usefixtures("_unconnected")
def test_a_file_that_was_changed_since_is_not_sent(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_op.py").write_text("x = 1\n", encoding="utf-8")
    import fleet_fakes

    files = [fleet_folder.PlannedFile(text="my_op.py", sha256="0" * 64)]
    fleet_folder.create(tmp_path / "fleet", fleet_fakes.plan(4, files=files))
    assert call("fleet", "resume", "fleet", *LOOPBACK).code == 2


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, value in dask_hosts.variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    with dask_hosts.dask_hosts("a", "b") as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore")
def test_a_fleet_from_command_to_merged_results(
    cluster: Any, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, scheduler = tmp_path / "fleet", ("--scheduler", cluster.scheduler_address)
    sent = tmp_path / "my_op.py"
    sent.write_text("x = 1\n", encoding="utf-8")
    of_run = (f"{sent}:f", "--input", "np.zeros(3)", "--settings", "seed=3")
    words = (*of_run, "--shards", "4", "--send", sent, "--out", out)
    ended = call("fleet", "run", *words, *scheduler)
    assert ended.code == 0, ended.err
    assert str(out / "merged") in ended.out
    plan = fleet_folder.read_plan(out)
    assert plan.words == [*of_run]
    assert plan.own_words == [f"{sent}:f", "--input", "np.zeros(3)"]

    monkeypatch.setenv("FAKE_SHARD_BAD", "a=--wrong")
    ended = call("fleet", "resume", out, "--without-host", "b", *scheduler)
    assert set(fleet_folder.arrivals(out).values()) == {"a"}
    assert ended.code in (0, 1)
    assert str(out / "merged-2") in ended.out

    ended = call("fleet", "doctor", "--json", *scheduler)
    told = json.loads(ended.out)
    assert sorted(one["facts"]["host"] for one in told["hosts"]) == ["a", "b"]
    ended = call("fleet", "doctor", *scheduler)
    assert ended.code == 0
    assert "a" in ended.out
