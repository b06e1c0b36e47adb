"""A snapshot follows names as far as they lead, and no further than there is something."""

from __future__ import annotations

from typing import Any

from pyopbench.ports.tracing.snapshot import Snapshot, State

LONG = 3_000
"""Lists inside one another: more than Python's functions may call themselves."""


class MakesUpAttributes:
    """As objects do that log, mock or call another process."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array"):
            raise AttributeError(name)
        return MakesUpAttributes()


def state_of(*values: Any) -> State:
    visible = tuple((f"name{place}", False) for place in range(len(values)))
    return State((), (), get=tuple, set=lambda _: None, seen=lambda: values, visible=visible)


def test_an_object_that_makes_up_attributes_comes_to_an_end() -> None:
    made_up = MakesUpAttributes()
    snapshot = Snapshot(state_of(made_up))
    assert id(made_up) in snapshot.objects
    assert not snapshot.references


def test_a_long_chain_is_followed_to_its_end_and_put_back() -> None:
    last: list[Any] = [0]
    first: list[Any] = last
    for _ in range(LONG):
        first = [first]
    snapshot = Snapshot(state_of(first))
    assert len(snapshot.containers) == LONG + 1
    assert snapshot.references[id(last)] == 1
    last[0] = 1
    snapshot.restore()
    assert last == [0]
