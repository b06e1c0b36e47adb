"""Shards are given out until all are here, each once, whatever hosts do; nothing here waits or needs Dask."""

from __future__ import annotations

from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

import fleet_fakes
from fleet_fakes import FLEET, FakeHosts
from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.engine.fleet.dispatch import Dispatch, Rules, Snapshot
from pyopbench.engine.fleet.scheduler import Scheduler
from pyopbench.model.errors import NothingMeasured
from pyopbench.store.fleet_findings import FleetEvent

HOSTS = {"a": "tcp://1", "b": "tcp://2", "c": "tcp://3"}


class Fleet:
    """A fleet of made-up hosts, and what was told of it."""

    def __init__(self, tmp_path: Path, hosts: FakeHosts, **changes: Any) -> None:
        self.folder, self.hosts = tmp_path / "fleet", hosts
        self.events: list[FleetEvent] = []
        self.shown: list[Snapshot] = []
        if not self.folder.exists():
            fleet_folder.create(self.folder, fleet_fakes.plan(hosts.of, **changes))

    def run(self, *without: str) -> tuple[int, ...]:
        ticks = count()
        rules = Rules(
            self.events.append, self.shown.append, without, patience_seconds=5.0, clock=lambda: float(next(ticks))
        )
        return Dispatch(self.folder, [], cast("Scheduler", self.hosts), rules).run()

    def kinds(self) -> Counter[str]:
        return Counter(event.kind for event in self.events)


@pytest.fixture
def hosts(tmp_path: Path) -> FakeHosts:
    return FakeHosts(tmp_path, 6, dict(HOSTS))


def test_every_shard_is_given_out_once_and_is_on_the_disk_in_the_end(tmp_path: Path, hosts: FakeHosts) -> None:
    fleet = Fleet(tmp_path, hosts)
    assert fleet.run() == ()
    assert sorted(shard for _, shard in hosts.given) == [1, 2, 3, 4, 5, 6]
    assert Counter(fleet_folder.arrivals(fleet.folder).values()) == {"a": 2, "b": 2, "c": 2}
    assert [fleet_fakes.samples_of(fleet.folder, shard) for shard in range(1, 7)] == [4] * 6
    assert set(hosts.forgotten[-3:]) == {(address, ()) for address in HOSTS.values()}
    assert fleet.shown[-1].done == fleet.shown[-1].of == 6


def test_no_host_has_two_shards_at_a_time(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.behaves = lambda host, shard: "well" if len(hosts.given) >= 3 else "never"
    most = 0

    def look(hosts: FakeHosts, times: int) -> None:
        nonlocal most
        most = max([most, *Counter(one.host for one in hosts.waiting).values()])

    hosts.before = look
    Fleet(tmp_path, hosts).run()
    assert most <= 1


def test_what_a_lost_host_was_at_goes_to_another(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.behaves = lambda host, shard: "never" if host == "a" else "well"

    def lose(hosts: FakeHosts, times: int) -> None:
        if times == 3:
            del hosts.there["a"]

    hosts.before = lose
    fleet = Fleet(tmp_path, hosts)
    assert fleet.run() == ()
    lost = next(event for event in fleet.events if event.kind == "lost")
    assert (lost.host, lost.shard) == hosts.given[0]
    assert fleet_folder.arrivals(fleet.folder)[lost.shard] != "a"


def test_a_worker_that_was_started_again_is_another_one_with_what_its_host_kept(
    tmp_path: Path, hosts: FakeHosts
) -> None:
    """Killed after its shard was finished and before that was handed over: it is not measured again elsewhere."""
    hosts.behaves = lambda host, shard: "never" if hosts.there.get("a") == "tcp://1" else "well"

    def restart(hosts: FakeHosts, times: int) -> None:
        if times == 2:
            hosts.there["a"] = "tcp://9"
            hosts.kept_by["a"] = ([hosts.given[0][1]], [])

    hosts.before = restart
    fleet = Fleet(tmp_path, hosts)
    fleet.run()
    host, shard = hosts.given[0]
    assert host == "a"
    assert fleet_folder.arrivals(fleet.folder)[shard] == "a"
    assert hosts.given.count(("a", shard)) == 2


def test_what_was_begun_on_a_host_is_continued_there(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.kept_by = {"c": ([], [1])}
    Fleet(tmp_path, hosts).run()
    assert ("c", 1) in hosts.given
    assert len(hosts.given) == 6


def test_what_is_finished_on_a_host_is_fetched_though_another_is_at_it(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.there = {"a": "tcp://1"}
    hosts.behaves = lambda host, shard: "never" if host == "a" and len(hosts.given) < 3 else "well"

    def come(hosts: FakeHosts, times: int) -> None:
        if times == 2:
            hosts.there["b"] = "tcp://2"
            hosts.kept_by["b"] = ([1], [])

    hosts.before = come
    fleet = Fleet(tmp_path, hosts)
    fleet.run()
    assert fleet_folder.arrivals(fleet.folder)[1] == "b"
    assert fleet.kinds()["doubled"] == 1
    assert fleet_fakes.samples_of(fleet.folder, 1) == 4


def test_a_result_that_is_not_as_it_was_written_is_measured_again(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.behaves = lambda host, shard: "torn" if hosts.given.index((host, shard)) == 0 else "well"
    fleet = Fleet(tmp_path, hosts)
    assert fleet.run() == ()
    assert fleet.kinds()["failed"] == 1
    host, shard = hosts.given[0]
    assert (HOSTS[host], (shard,)) in hosts.forgotten
    assert fleet_folder.arrivals(fleet.folder)[shard] != host


def test_a_host_that_fails_twice_is_set_aside_and_named(tmp_path: Path, hosts: FakeHosts) -> None:
    """A full disk, for example: its shards go to others."""
    hosts.behaves = lambda host, shard: "fails" if host == "b" else "well"
    fleet = Fleet(tmp_path, hosts)
    assert fleet.run() == ()
    assert [(event.host, event.told) for event in fleet.events if event.kind == "set_aside"] == [("b", "no room")]
    assert sum(host == "b" for host, _ in hosts.given) == 2
    assert "b" not in fleet_folder.arrivals(fleet.folder).values()


def test_a_shard_that_fails_everywhere_is_given_up_and_the_others_are_measured(
    tmp_path: Path, hosts: FakeHosts
) -> None:
    hosts.behaves = lambda host, shard: "fails" if shard == 2 else "well"
    fleet = Fleet(tmp_path, hosts)
    assert fleet.run() == (2,)
    assert set(fleet_folder.arrivals(fleet.folder)) == {1, 3, 4, 5, 6}
    assert sorted(host for host, shard in hosts.given if shard == 2) == ["a", "b", "c"]


def test_it_ends_when_every_host_is_set_aside(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.behaves = lambda host, shard: "fails"
    fleet = Fleet(tmp_path, hosts)
    with pytest.raises(NothingMeasured):
        fleet.run()
    assert fleet.kinds()["set_aside"] == 3


def test_it_ends_when_no_host_comes(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.there = {}
    with pytest.raises(NothingMeasured):
        Fleet(tmp_path, hosts).run()
    assert hosts.stopped == [FLEET]


def test_hosts_that_are_there_and_get_nothing_are_named_with_why(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.there, hosts.unfit = {}, {"a": "pyopbench 0.0.1, here 0.1.0"}
    with pytest.raises(NothingMeasured) as raised:
        Fleet(tmp_path, hosts).run()
    assert raised.value.received == "a: pyopbench 0.0.1, here 0.1.0"


def test_a_host_that_is_left_out_is_given_nothing(tmp_path: Path, hosts: FakeHosts) -> None:
    fleet = Fleet(tmp_path, hosts)
    fleet.run("b")
    assert set(fleet_folder.arrivals(fleet.folder).values()) == {"a", "c"}


def test_what_a_left_out_host_measured_is_measured_again_by_others(tmp_path: Path, hosts: FakeHosts) -> None:
    fleet = Fleet(tmp_path, hosts)
    fleet.run()
    gone = fleet_folder.leave_out(fleet.folder, ["b"])
    assert len(gone) == 2
    fleet.run("b")
    assert set(fleet_folder.arrivals(fleet.folder)) == {1, 2, 3, 4, 5, 6}
    assert "b" not in fleet_folder.arrivals(fleet.folder).values()


def test_an_interrupt_stops_hosts_and_what_came_is_not_measured_again(tmp_path: Path, hosts: FakeHosts) -> None:
    def interrupt(hosts: FakeHosts, times: int) -> None:
        if times == 2:
            raise KeyboardInterrupt

    hosts.before = interrupt
    fleet = Fleet(tmp_path, hosts)
    with pytest.raises(KeyboardInterrupt):
        fleet.run()
    assert hosts.stopped == [FLEET]
    assert len(fleet_folder.arrivals(fleet.folder)) == 3
    hosts.before = lambda hosts, times: None
    assert fleet.run() == ()
    assert sorted(shard for _, shard in hosts.given) == [1, 2, 3, 4, 5, 6]


def test_replicates_of_a_part_are_measured_on_different_hosts(tmp_path: Path, hosts: FakeHosts) -> None:
    fleet = Fleet(tmp_path, hosts, replicates=3)
    fleet.run()
    here = fleet_folder.arrivals(fleet.folder)
    assert [{here[shard] for shard in (part, part + 2, part + 4)} for part in (1, 2)] == [set(HOSTS)] * 2


def test_a_replicate_that_only_the_host_of_another_could_measure_is_given_up(tmp_path: Path, hosts: FakeHosts) -> None:
    hosts.of, hosts.there = 2, {"a": "tcp://1", "b": "tcp://2"}
    hosts.behaves = lambda host, shard: "fails" if host == "b" else "well"
    fleet = Fleet(tmp_path, hosts, replicates=2)
    assert len(fleet.run()) == 1


def test_time_left_comes_from_what_shards_have_taken(tmp_path: Path, hosts: FakeHosts) -> None:
    fleet = Fleet(tmp_path, hosts)
    fleet.run()
    assert fleet.shown[0].seconds_left is None or fleet.shown[0].done
    assert all(shown.seconds_left is None or shown.seconds_left >= 0 for shown in fleet.shown)
