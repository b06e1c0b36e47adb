"""What hosts lack, and which of them are alike."""

from __future__ import annotations

import time
from typing import Any

import pytest

import fleet_fakes
from pyopbench.engine.fleet import doctor
from pyopbench.engine.fleet.answers import Known
from pyopbench.engine.fleet.doctor import Examined


def problems(offset: float = 0.0, *, has_resource: bool = True, refused: str = "", **changes: Any) -> set[str]:
    facts = fleet_fakes.facts("a", **changes)
    examined = Examined("tcp://1", facts, offset, 0.01)
    return {one.kind for one in doctor.problems_of(examined, Known("tcp://1", facts, has_resource, refused))}


def test_a_host_that_lacks_nothing_has_no_problem() -> None:
    assert problems() == set()


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"has_resource": False}, "resource"),
        ({"refused": "another pyopbench"}, "version"),
        ({"tensorflow": None}, "tensorflow"),
        ({"compiler": None}, "compiler"),
        ({"lock": "a link"}, "lock"),
        ({"free_bytes": 2**20}, "disk"),
        ({"offset": -3.0}, "clock"),
        ({"dask": ["profiler"]}, "dask"),
        ({"is_measuring": True}, "measuring"),
    ],
)
def test_what_is_wrong_with_a_host_is_named(changes: dict[str, Any], kind: str) -> None:
    assert problems(**changes) == {kind}


def test_an_environment_is_as_good_as_an_installed_tensorflow() -> None:
    assert problems(tensorflow=None, environments=["2.21.0"]) == set()


@pytest.mark.parametrize(("refused", "kind"), [("10.0.0.2 is not allowed", "address"), ("", "silent")])
def test_a_host_that_was_not_asked_or_does_not_answer_goes_by_its_address(refused: str, kind: str) -> None:
    known = Known("tcp://10.0.0.2:1", None, has_resource=True, refused=refused)
    (problem,) = doctor.problems_of(Examined("tcp://10.0.0.2:1", None), known)
    assert (problem.host, problem.kind) == ("tcp://10.0.0.2:1", kind)


def test_a_clock_is_told_by_the_middle_of_question_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host answers at 104.2 of a question that took from 100.0 to 100.4: it is 4 s ahead, give or take 0.2 s."""
    times = iter([100.0, 100.4])
    facts = fleet_fakes.facts("a", now=104.2)
    monkeypatch.setattr(time, "time", lambda: next(times))

    class Hosts:
        def ask_for_facts(self, address: str) -> Any:
            return facts

    one = doctor._examine(Hosts(), Known("tcp://1", facts, has_resource=True))  # type: ignore[arg-type]
    assert (one.offset_seconds, one.error_seconds) == pytest.approx((4.0, 0.2))


def test_hosts_are_alike_by_all_that_times_depend_on() -> None:
    made = [
        Examined("1", fleet_fakes.facts("a")),
        Examined("2", fleet_fakes.facts("b", free_bytes=1, now=1.0, memory_bytes=2**33 + 2**20)),
        Examined("3", fleet_fakes.facts("c", cpu="another")),
        Examined("4", None),
    ]
    assert doctor.kinds_of(made) == [["a", "b"], ["c"]]
    for changed in ({"cores": 4}, {"governor": "powersave"}, {"tensorflow": "2.20.0"}, {"gpus": ["one"]}):
        other = Examined("5", fleet_fakes.facts("d", **changed))
        assert ["d"] in doctor.kinds_of([*made, other])
