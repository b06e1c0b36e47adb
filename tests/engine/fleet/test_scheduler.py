"""A fleet over a real scheduler of Dask on loopback, with hosts in this process; and which addresses are spoken to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dask_hosts
import fleet_fakes
from pyopbench.engine import host_lock
from pyopbench.engine.fleet import facts, scheduler
from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.engine.fleet import host as on_host
from pyopbench.engine.fleet.dispatch import FleetResult, Rules, measure_fleet
from pyopbench.engine.fleet.scheduler import Access, Scheduler
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
def connection(cluster: Any, events: list[FleetEvent]) -> Iterator[Scheduler]:
    with Scheduler(Access(cluster.scheduler_address), events.append, 10.0) as connection:
        yield connection


def run(
    here: Path, connection: Scheduler, events: list[FleetEvent], *words: str, shards: int = 6, replicates: int = 1
) -> FleetResult:
    plan = fleet_folder.FleetPlan(words=list(words), own_words=[], shards=shards, replicates=replicates)
    fleet_folder.create(here / "fleet", plan)
    return measure_fleet(here / "fleet", [], connection, Rules(events.append, patience_seconds=5.0))


def test_every_shard_is_measured_once_and_merged(here: Path, connection: Scheduler, events: list[FleetEvent]) -> None:
    result = run(here, connection, events)
    assert (result.missing, result.odd, result.is_wrong) == ((), (), False)
    assert sorted(fleet_folder.arrivals(here / "fleet")) == [1, 2, 3, 4, 5, 6]
    assert (result.merged / "run.json").exists()
    assert {event.host for event in events if event.kind == "joined"} == set(HOSTS)


def test_hosts_forget_what_was_handed_over(here: Path, connection: Scheduler, events: list[FleetEvent]) -> None:
    run(here, connection, events)
    assert not list((here / "cache" / "pyopbench" / "fleet").glob("*/*"))


def test_a_host_that_cannot_measure_is_named_and_its_shards_go_to_others(
    here: Path, connection: Scheduler, events: list[FleetEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SHARD_BAD", "b=--full")
    result = run(here, connection, events)
    assert result.missing == ()
    assert set(fleet_folder.arrivals(here / "fleet").values()) <= {"a", "c"}


def test_a_wrong_host_is_named(
    here: Path, connection: Scheduler, events: list[FleetEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SHARD_BAD", "b=--wrong")
    result = run(here, connection, events, "--settings", "replicates=3", shards=3, replicates=3)
    assert [(odd.host, odd.kind) for odd in result.odd] == [("b", "wrong_here")]
    assert result.is_wrong


def test_hosts_are_asked_what_they_are(connection: Scheduler) -> None:
    hosts = connection.workers()
    assert {one.name for one in hosts} == set(HOSTS)
    (kind,) = facts.kinds_of(hosts)
    assert sorted(kind) == sorted(HOSTS)
    assert {problem.kind for host in hosts for problem in facts.problems_of(host)} <= {"tensorflow", "compiler", "disk"}


def test_a_host_that_measures_says_so(connection: Scheduler) -> None:
    with host_lock.held(host="b"):
        problems = [problem for host in connection.workers() for problem in facts.problems_of(host)]
    assert [problem.host for problem in problems if problem.kind == "measuring"] == ["b"]


def test_hosts_that_are_stopped_say_so_and_keep_what_they_have_begun(
    here: Path, connection: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hosts are in the middle of a shard, which never ends by itself, as each has said through a pipe."""
    fifo, program = here / "fifo", here / "measuring.py"
    os.mkfifo(fifo)
    program.write_text(f"import signal\nopen({str(fifo)!r}, 'w').write('on\\n')\nsignal.pause()\n", encoding="utf-8")
    monkeypatch.setenv(on_host.COMMAND_VARIABLE, f"{sys.executable} {program}")
    hosts = connection.hosts()
    futures = [
        connection.submit(hosts[host], on_host.Request(fleet_fakes.FLEET, shard, 2, ("double",)))
        for shard, host in enumerate(("a", "b"), start=1)
    ]
    with os.fdopen(os.open(fifo, os.O_RDWR), encoding="utf-8") as begun:
        assert [begun.readline() for _ in range(2)] == ["on\n", "on\n"]
    connection.stop(fleet_fakes.FLEET)
    for future in futures:
        with pytest.raises(on_host.ShardStopped):
            future.result(timeout=60.0)


def test_a_clock_is_known_by_the_middle_of_question_and_answer(
    connection: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host answers at 104.2 of a question that took from 100.0 to 100.4: it is 4 s ahead, give or take 0.2 s."""
    times = iter([100.0, 100.4])
    monkeypatch.setattr(connection, "_ask", lambda *_: fleet_fakes.facts("a", now=104.2))
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(time=lambda: next(times)))
    host = connection.examine("tcp://1", has_resource=True)
    assert (host.offset_seconds, host.error_seconds) == pytest.approx((4.0, 0.2))


def test_workers_without_the_resource_are_named_with_what_they_lack(events: list[FleetEvent]) -> None:
    with (
        dask_hosts.dask_hosts("a", "b", idle=("b",)) as cluster,
        Scheduler(Access(cluster.scheduler_address), events.append, 10.0) as connection,
    ):
        assert list(connection.hosts()) == ["a"]
        assert list(connection.refused()) == ["b"]
        assert scheduler.RESOURCE in connection.refused()["b"]


def test_a_host_with_another_pyopbench_is_given_nothing(
    cluster: Any, events: list[FleetEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = Scheduler(Access(cluster.scheduler_address), events.append, 10.0)
    monkeypatch.setattr(facts, "other_pyopbench", lambda facts: "9.9.9")
    with connection:
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
        with Scheduler(Access(address, (), cert, cert, key), events.append, 10.0) as connection:
            assert run(here, connection, events, shards=2).missing == ()
        for ca_file, shown, its_key in ((cert, other, other_key), (other, cert, key)):
            with pytest.raises(BadInput):
                Scheduler(Access(address, (), ca_file, shown, its_key), events.append, 0.5)
        with pytest.raises(BadInput):
            Scheduler(Access(address.replace("tls", "tcp")), events.append, 0.5)


def test_nobody_at_the_address_is_told(events: list[FleetEvent]) -> None:
    with pytest.raises(BadInput):
        Scheduler(Access("tcp://127.0.0.1:1"), events.append, 0.2)


FILES = {"ca_file": Path("ca.pem"), "certificate": Path("cert.pem")}


@pytest.fixture
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ca.pem", "cert.pem", "key.pem"):
        Path(name).touch()


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://[::1]:8786", "tcp://127.3.2.1:1/"]
)
def test_this_machine_is_spoken_to_without_tls(address: str) -> None:
    Access(address).check()
    assert Access(address).security() is None


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.1:8786",
        "tcp://example.org:8786",
        "tcp://localhost.example.org:8786",
        "tcp://0.0.0.0:8786",
        "tcp://127.0.0.1.example.org:8786",
        "tcp://[::ffff:10.0.0.1]:8786",
        "tcp://2130706433:8786",
    ],
)
def test_others_are_refused_without_tls_and_may_be_allowed_by_name(address: str) -> None:
    with pytest.raises(BadInput) as raised:
        Access(address).check()
    assert raised.value.received == address
    host = address.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    Access(address, (host,)).check()
    with pytest.raises(BadInput):
        Access(address, ("other",)).check()


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(
    "address", ["ucx://10.0.0.1:1", "ws://127.0.0.1:1", "127.0.0.1:8786", "tcp://", "tcp://a:1/x", "inproc://1/2/3", ""]
)
def test_other_protocols_and_what_is_no_address_are_refused(address: str) -> None:
    with pytest.raises(BadInput):
        Access(address, **FILES).check()


@pytest.mark.usefixtures("_files")
def test_tls_needs_certificates_and_certificates_need_tls() -> None:
    with pytest.raises(BadInput):
        Access("tls://10.0.0.1:8786").check()
    with pytest.raises(BadInput):
        Access("tls://10.0.0.1:8786", ca_file=Path("ca.pem")).check()
    with pytest.raises(BadInput):
        Access("tcp://127.0.0.1:8786", **FILES).check()
    Access("tls://10.0.0.1:8786", **FILES).check()


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("missing", ["ca.pem", "cert.pem", "key.pem"])
def test_certificates_that_cannot_be_read_are_named_before_anything_is_connected_to(missing: str) -> None:
    access = Access("tls://10.0.0.1:8786", key=Path("key.pem"), **FILES)
    access.check()
    Path(missing).unlink()
    with pytest.raises(BadInput) as raised:
        access.check()
    assert missing in str(raised.value.received)


@pytest.mark.usefixtures("_files")
def test_certificates_are_passed_to_dask() -> None:
    pytest.importorskip("distributed", reason="Dask.distributed is not installed")
    security = Access("tls://10.0.0.1:8786", **FILES).security()
    assert security.require_encryption
    told = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
    assert told == ("ca.pem", "cert.pem", "cert.pem")
    security = Access("tls://10.0.0.1:8786", key=Path("key.pem"), **FILES).security()
    assert security.tls_client_key == "key.pem"
