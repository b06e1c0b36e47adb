"""A group is prepared and timed in rounds: samples for each case that works, and a row for each that does not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from extra_cases import case, ignore
from places import EXTRAS
from pyopbench.engine.launch import line_of_answer
from pyopbench.model.case import Case
from pyopbench.model.discover import PATH_VARIABLE
from pyopbench.store.types import GroupLine
from pyopbench.worker import group as measuring
from pyopbench.worker.group import PreparedGroup
from pyopbench.worker.prepare import node_graph, prepare
from pyopbench.worker.prepare.checks import Checked
from pyopbench.worker.prepare.prepare import Prepared
from pyopbench.worker.sampling import Timer

pytestmark = pytest.mark.measures


@pytest.fixture(autouse=True)
def _extras(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(PATH_VARIABLE, str(EXTRAS))
    use = node_graph.use_grappler
    yield
    use(enabled=True)


def measure(*cases: str, **changes: Any) -> dict[str, Any]:
    request = {
        "cases": cases,
        "launch": 0,
        "seed": 0,
        "rounds": 4,
        "block_seconds": 1e-6,
        "group_seconds": 60.0,
        "finite_differences": False,
        "first_round": 0,
        "pass": 0,
        **changes,
    }
    emit = request.pop("emit", ignore)
    groups = measuring.WarmGroups()
    prepared, sampled = groups.prepare(request, emit), groups.sample(request, emit)
    answer = {**prepared, **sampled, "failures": prepared["failures"] + sampled["failures"]}
    return dict(json.loads(json.dumps(answer)))


def test_every_case_has_a_sample_for_each_round() -> None:
    keys = [case("native"), case("numpy_function"), case("twin"), case("slowed")]
    answer = measure(*keys)
    assert list(answer["samples"]) == keys
    for rows in answer["samples"].values():
        assert [row[0] for row in rows] == [0, 1, 2, 3]
        assert all(calls >= 1 and seconds >= 0 for _, _, calls, seconds in rows)
    for number in range(4):
        assert sorted(rows[number][1] for rows in answer["samples"].values()) == [0, 1, 2, 3]
    assert answer["failures"] == []
    assert answer["timer_seconds"] > 0


def places(answer: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the place of each case in each round."""
    return {key: [row[1] for row in rows] for key, rows in answer["samples"].items()}


def test_backward_and_forward_backward_come_from_the_same_pass() -> None:
    backward, both = case("numpy_function", "backward"), case("numpy_function", "forward_backward")
    samples = measure(backward, both)["samples"]
    for part, whole in zip(samples[backward], samples[both], strict=True):
        assert part[:3] == whole[:3]
        assert part[3] < whole[3]


def eight_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every group have eight copies: how many are enough, and affordable, depends on the machine."""
    monkeypatch.setattr(prepare, "enough_copies", lambda empty, one: 8)
    monkeypatch.setattr(node_graph, "shortest_call", lambda call: 1e-6)


def test_a_case_of_mode_node_has_its_copies_in_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    eight_copies(monkeypatch)
    keys = [case(variant, mode="node") for variant in ("native", "numpy_function")]
    answer = measure(*keys)
    assert answer["failures"] == []
    for key, copies in zip(keys, (8, 1), strict=True):
        assert [(row[0], row[4]) for row in answer["samples"][key]] == [(number, copies) for number in range(4)]
    line_of_answer(GroupLine, answer, launch=0, group=Case.from_id(keys[0]).group)


def test_copies_that_are_not_executed_are_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    use = node_graph.use_grappler
    monkeypatch.setattr(node_graph, "use_grappler", lambda *, enabled: use(enabled=True))
    eight_copies(monkeypatch)
    keys = [case("native", mode="node"), case("numpy_function", mode="node")]
    answer = measure(*keys)
    (failure,) = answer["failures"]
    assert (failure["case"], failure["status"]) == (keys[0], "elided")
    assert failure["reason"] == "the executed graph of 8 copies has 1 Neg instead of 8"
    assert list(answer["samples"]) == keys[1:], "callbacks are stateful, and Grappler keeps them"


def test_what_fails_is_a_row_and_the_rest_of_the_group_is_measured() -> None:
    keys = [case(name, "backward") for name in ("numpy_function", "wrong_gradient", "twin")]
    answer = measure(*keys, launch=3)
    assert list(answer["samples"]) == [keys[0], keys[2]]
    (failure,) = answer["failures"]
    assert (failure["case"], failure["status"], failure["launch"]) == (keys[1], "wrong", 3)


def test_nothing_wrong_is_ever_called_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    timed: list[str] = []
    sample = measuring.PreparedGroup.sample

    def spy(group: measuring.PreparedGroup, wanted: Sequence[str], *others: Any) -> Any:
        timed.extend(wanted)
        assert list(group.runners) == timed
        return sample(group, wanted, *others)

    monkeypatch.setattr(measuring.PreparedGroup, "sample", spy)
    measure(case("native"), case("wrong_value"), case("raising"))
    assert timed == ["native/none"]


def test_a_case_that_raises_while_it_is_timed_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [case("numpy_function"), case("twin"), case("wrong_value")]
    real = prepare.prepare

    def prepare_flaky(one: Case, **options: Any) -> Prepared:
        prepared = real(one, **options)
        calls = iter(range(3))
        segments = (lambda: next(calls),) if one.variant == "twin" else prepared.segments
        return Prepared(prepared.case, segments, prepared.checked)

    monkeypatch.setattr(prepare, "prepare", prepare_flaky)
    answer = measure(*keys)
    assert list(answer["samples"]) == keys[:1]
    assert len(answer["samples"][keys[0]]) == 4
    earlier, failure = answer["failures"]
    assert (earlier["case"], earlier["status"]) == (keys[2], "wrong")
    assert (failure["case"], failure["status"]) == (keys[1], "raised")
    assert "StopIteration" in failure["reason"]


def test_every_step_that_may_hang_is_announced_with_its_case() -> None:
    keys = [case("native"), case("twin")]
    events: list[Mapping[str, Any]] = []
    measure(*keys, emit=events.append, rounds=2)
    assert [event["event"] for event in events] == 2 * ["at"] + (len(events) - 2) * ["timing"]
    prepared, calibrated, timed = events[:2], events[2:4], events[4:]
    assert [event["case"] for event in prepared] == keys
    assert [event["case"] for event in calibrated] == keys
    assert sorted(event["case"] for event in timed) == sorted(keys * 2)


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_what_an_op_of_a_control_costs_in_a_graph_is_higher_by_its_share(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call is 100 us and each of 4 copies 40 us, blocks vary by 5%, and the machine gets slower by a quarter."""
    rng, now = np.random.default_rng(0), [1.0]

    def clock() -> float:
        now[0] += 1e-7
        return now[0]

    def body(seconds: float) -> Any:
        def call() -> None:
            now[0] += seconds * (1 + now[0] / 20) * float(np.exp(0.05 * rng.standard_normal()))

        return call

    named = {"empty": ("empty_graph", 0, 0.0), "native": ("native", 4, 0.0), "slowed": ("native", 4, share)}
    runners = {
        name: Prepared(Case.from_id(case(of, mode="node")), (body(1e-4 + copies * 4e-5),), Checked(0.0), copies, at)
        for name, (of, copies, at) in named.items()
    }
    monkeypatch.setattr(measuring, "time", SimpleNamespace(perf_counter=clock))
    request = {"block_seconds": 1e-3, "group_seconds": 1e9, "rounds": 1_500}
    blocks = PreparedGroup(runners).sample(list(named), request, rng, Timer(0.0, 0.0), lambda event: None)
    seconds = {name: np.array([one.segment_seconds[0] for one in blocks[name]]) for name in named}
    beyond = (seconds["slowed"] - seconds["empty"]) / np.median(seconds["native"] - seconds["empty"])
    assert now[0] > 6.0
    assert np.median(beyond) == pytest.approx(1 + share, abs=0.01)


def test_what_is_prepared_stays_and_is_timed_again_with_as_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is prepared or calibrated again; rounds go on, in other orders; what is closed is left out."""
    keys = [case("native"), case("numpy_function"), case("twin")]
    request = {"launch": 1, "seed": 0, "finite_differences": False, "block_seconds": 1e-5, "group_seconds": 60.0}
    groups = measuring.WarmGroups()
    groups.prepare({**request, "cases": keys}, ignore)
    first = groups.sample({**request, "cases": keys, "rounds": 12, "first_round": 0, "pass": 0}, ignore)["samples"]
    monkeypatch.setattr(prepare, "prepare", lambda *given, **named: pytest.fail("prepared"))
    monkeypatch.setattr(measuring, "calibrate", lambda *given: pytest.fail("calibrated"))
    again = groups.sample({**request, "cases": keys, "rounds": 12, "first_round": 12, "pass": 1}, ignore)["samples"]
    assert [row[0] for row in again[keys[0]]] == list(range(12, 24))
    assert places({"samples": first}) != places({"samples": again})
    for key in keys:
        assert len({row[2] for row in (*first[key], *again[key])}) == 1
    some = groups.sample({**request, "cases": keys[1:], "rounds": 2, "first_round": 24, "pass": 2}, ignore)
    assert list(some["samples"]) == keys[1:]
