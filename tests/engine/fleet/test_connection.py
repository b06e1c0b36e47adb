"""A fleet over a real scheduler of Dask on loopback, with hosts in this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dask_hosts
import fleet_fakes
from pyopbench.engine import host_lock
from pyopbench.engine.fleet import addresses, doctor, host_shard, messages, plan_folder, whole
from pyopbench.engine.fleet import connection as connections
from pyopbench.engine.fleet.addresses import Access
from pyopbench.engine.fleet.answers import Told
from pyopbench.engine.fleet.connection import Connection
from pyopbench.engine.fleet.dispatch import Rules, Watch
from pyopbench.engine.fleet.whole import FleetRequest, FleetResult
from pyopbench.model.errors import BadInput
from pyopbench.store.fleet_findings import FleetEvent

pytest.importorskip("distributed", reason="Dask.distributed is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, of ports and event loops

HOSTS = ("a", "b", "c")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with dask_hosts.dask_hosts(*HOSTS) as cluster:
        yield cluster


@pytest.fixture
def events() -> list[FleetEvent]:
    return []


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in dask_hosts.variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def connection(cluster: Any, events: list[FleetEvent]) -> Iterator[Connection]:
    with Connection(Access(cluster.scheduler_address), events.append, 10.0) as connection:
        yield connection


def run(
    here: Path, connection: Connection, events: list[FleetEvent], *words: str, shards: int = 6, replicates: int = 1
) -> FleetResult:
    folder = whole.begin(here / "fleet", FleetRequest(words, (), replicates, (), shards), connection)
    watch = Watch(events.append, lambda snapshot: None)
    return whole.go_on(folder, [], connection, watch, Rules(patience_seconds=5.0))


def test_every_shard_is_measured_once_and_merged(here: Path, connection: Connection, events: list[FleetEvent]) -> None:
    result = run(here, connection, events)
    assert (result.end.missing, result.end.set_aside, result.odd, result.is_wrong) == ((), {}, (), False)
    assert sorted(plan_folder.arrivals(here / "fleet")) == [1, 2, 3, 4, 5, 6]
    assert (result.merged / "run.json").exists()
    assert {event.host for event in events if event.kind == "joined"} == set(HOSTS)


def test_hosts_forget_what_was_handed_over(here: Path, connection: Connection, events: list[FleetEvent]) -> None:
    run(here, connection, events)
    assert not list((here / "cache" / "pyopbench" / "fleet").glob("*/*"))


def test_a_host_that_cannot_measure_is_named_and_its_shards_go_to_others(
    here: Path, connection: Connection, events: list[FleetEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SHARD_BAD", "b=--full")
    result = run(here, connection, events)
    assert result.end.missing == ()
    assert {arrival.host for arrival in plan_folder.arrivals(here / "fleet").values()} <= {"a", "c"}


def test_a_wrong_host_is_named(
    here: Path, connection: Connection, events: list[FleetEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SHARD_BAD", "b=--wrong")
    result = run(here, connection, events, "--settings", "replicates=3", shards=3, replicates=3)
    assert [(odd.host, odd.kind) for odd in result.odd] == [("b", "wrong_here")]
    assert result.is_wrong


def test_a_result_that_is_pickled_is_not_read(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput):
        messages.read(object(), messages.Delivery, "here")


def test_hosts_are_asked_what_they_are(connection: Connection) -> None:
    examined, problems = doctor.examine(connection)
    assert {one.name for one in examined} == set(HOSTS)
    assert doctor.kinds_of(examined) == [sorted(HOSTS)] or sorted(doctor.kinds_of(examined)[0]) == sorted(HOSTS)
    assert {problem.kind for problem in problems} <= {"tensorflow", "compiler", "disk"}
    assert not connection.may_steal()


def test_a_host_that_measures_says_so(connection: Connection) -> None:
    with host_lock.held(host="b"):
        _, problems = doctor.examine(connection)
    assert [problem.host for problem in problems if problem.kind == "measuring"] == ["b"]


def test_hosts_that_are_stopped_say_so_and_keep_what_they_have_begun(
    here: Path, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hosts are in the middle of a shard, which never ends by itself, as each has said through a pipe."""
    fifo, program = here / "fifo", here / "measuring.py"
    os.mkfifo(fifo)
    program.write_text(f"import signal\nopen({str(fifo)!r}, 'w').write('on\\n')\nsignal.pause()\n", encoding="utf-8")
    monkeypatch.setenv(host_shard.COMMAND_VARIABLE, f"{sys.executable} {program}")
    hosts = connection.hosts()
    for shard, host in enumerate(("a", "b"), start=1):
        request = messages.Request(fleet=fleet_fakes.FLEET, shard=shard, of=2, words=["double"], own_words=[], files=[])
        connection.begin(hosts[host], host, request)
    with os.fdopen(os.open(fifo, os.O_RDWR), encoding="utf-8") as begun:
        assert [begun.readline() for _ in range(2)] == ["on\n", "on\n"]
    connection.stop(fleet_fakes.FLEET)
    told: list[Told] = []
    while len(told) < 2:
        told += connection.wait(60.0)
    assert sorted((one.host, one.delivery and one.delivery.outcome) for one in told) == [
        ("a", "stopped"),
        ("b", "stopped"),
    ]


def test_workers_without_the_resource_are_named_with_what_they_lack(events: list[FleetEvent]) -> None:
    with (
        dask_hosts.dask_hosts("a", "b", idle=("b",)) as cluster,
        Connection(Access(cluster.scheduler_address), events.append, 10.0) as connection,
    ):
        assert list(connection.hosts()) == ["a"]
        assert list(connection.refused()) == ["b"]
        assert connections.RESOURCE in connection.refused()["b"]


def test_a_host_with_another_pyopbench_is_given_nothing(
    cluster: Any, events: list[FleetEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = Connection(Access(cluster.scheduler_address), events.append, 10.0)
    monkeypatch.setattr(connections, "other_pyopbench", lambda facts: "9.9.9")
    with connection:
        assert connection.hosts() == {}
    assert {event.kind for event in events} == {"refused"}


def test_a_host_at_an_address_that_is_not_allowed_is_not_spoken_to(
    connection: Connection, events: list[FleetEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "is_loopback", lambda host: False)
    assert connection.hosts() == {}
    assert {event.kind for event in events} == {"refused"}


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate that vouches for itself, and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([program, *words, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def test_over_tls_hosts_are_spoken_to_with_the_right_certificate_alone(here: Path, events: list[FleetEvent]) -> None:
    from distributed.security import Security

    cert, key = certificate(here, "right")
    other, other_key = certificate(here, "other")
    certs = {f"tls_{who}_cert": str(cert) for who in ("scheduler", "worker", "client")}
    keys = {f"tls_{who}_key": str(key) for who in ("scheduler", "worker", "client")}
    security = Security(require_encryption=True, tls_ca_file=str(cert), **certs, **keys)
    with dask_hosts.dask_hosts("a", security=security) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        with Connection(Access(address, (), cert, cert, key), events.append, 10.0) as connection:
            assert run(here, connection, events, shards=2).end.missing == ()
        for ca_file, shown, its_key in ((cert, other, other_key), (other, cert, key)):
            with pytest.raises(BadInput):
                Connection(Access(address, (), ca_file, shown, its_key), events.append, 0.5)
        with pytest.raises(BadInput):
            Connection(Access(address.replace("tls", "tcp")), events.append, 0.5)


def test_nobody_at_the_address_is_told(events: list[FleetEvent]) -> None:
    with pytest.raises(BadInput):
        Connection(Access("tcp://127.0.0.1:1"), events.append, 0.2)
