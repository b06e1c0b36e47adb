"""Which hosts are unlike the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stored
from pyopbench.judge import odd_hosts
from pyopbench.judge.odd_hosts import HostResults

CASES = [stored.case("native", size=size) for size in range(1, 13)]


def quiet(spread: float = 0.01) -> HostResults:
    return HostResults([1], set(), set(CASES), [spread] * 12)


def test_hosts_that_are_alike_are_not_named() -> None:
    found = {"a": quiet(0.01), "b": quiet(0.02), "c": quiet(0.015)}
    assert odd_hosts.odd_hosts(found) == []


def test_a_host_that_is_far_noisier_is_named_with_both_figures() -> None:
    (odd,) = odd_hosts.odd_hosts({"a": quiet(), "b": quiet(0.2), "c": quiet(0.02)})
    assert (odd.host, odd.kind, odd.spread, odd.others, odd.shards) == ("b", "noisy", 0.2, 0.02, (1,))


@pytest.mark.parametrize(
    "hosts", [{"a": quiet(), "b": quiet(0.2)}, {"a": quiet(0.0), "b": quiet(0.0), "c": quiet(0.005)}]
)
def test_of_two_hosts_none_is_odd_and_small_spreads_are_no_matter(hosts: dict[str, HostResults]) -> None:
    assert odd_hosts.odd_hosts(hosts) == []


def test_a_case_that_is_wrong_on_one_host_and_right_on_another_names_the_one() -> None:
    bad = HostResults([2], {CASES[0]}, set(CASES[1:]), [0.01] * 11)
    (odd,) = odd_hosts.odd_hosts({"a": quiet(), "b": bad})
    assert (odd.host, odd.kind, odd.cases) == ("b", "wrong_here", 1)


def test_a_case_that_is_wrong_everywhere_is_the_variants_fault() -> None:
    hosts = {name: HostResults([1], {CASES[0]}, set(CASES[1:]), [0.01] * 11) for name in "abc"}
    assert odd_hosts.odd_hosts(hosts) == []


def test_a_host_that_alone_finds_anything_wrong_is_named() -> None:
    bad = HostResults([2], {stored.case("xla")}, set(), [])
    (odd,) = odd_hosts.odd_hosts({"a": quiet(), "b": bad, "c": quiet()})
    assert (odd.host, odd.kind) == ("b", "wrong_only_here")


def test_spread_is_that_of_blocks_of_one_kind_of_graph_relative_to_their_median() -> None:
    rng = np.random.default_rng(0)
    alone = [[place, 0, 2, 2 * seconds, 1] for place, seconds in enumerate(rng.uniform(1.0, 1.1, 40))]
    more = [[place, 0, 2, 8 * seconds, 4] for place, seconds in enumerate(rng.uniform(1.0, 1.1, 40))]
    (low, middle, high) = np.quantile([sample[3] / 2 for sample in alone], (0.25, 0.5, 0.75))
    first, second = odd_hosts._spread([*alone, *more])
    assert first == pytest.approx((high - low) / 2 / middle)
    assert 0.01 < second < 0.04


def test_results_are_read_by_host(tmp_path: Path) -> None:
    cases = [stored.case("py_function_numpy"), stored.case("native")]
    lines = [stored.launch_line(0), stored.group_line(0, cases[:1], [stored.failure(cases[1], "wrong")])]
    folders = {
        1: ("a", stored.write(tmp_path / "1", stored.run(cases), lines)),
        2: ("a", stored.write(tmp_path / "2", stored.run(cases), [stored.launch_line(0), stored.group_line(0, cases)])),
    }
    found = odd_hosts.results_by_host(folders)
    assert found["a"].shards == [1, 2]
    assert (found["a"].wrong, found["a"].right) == ({cases[1]}, set(cases))
