"""Functions are called at the same time, each by a thread of its own."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from pyopbench.model.threads import call_together


def test_all_are_called_at_once_and_their_results_come_in_order() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def meet(place: int) -> int:
        meeting.wait()  # nobody gets past it alone
        return place

    assert call_together([partial(meet, place) for place in range(3)]) == [0, 1, 2]


def test_what_the_first_of_them_raises_is_raised_when_all_have_ended() -> None:
    ended = []

    def end(place: int) -> None:
        ended.append(place)
        if place:
            raise ValueError(place)

    with pytest.raises(ValueError, match="1"):
        call_together([partial(end, place) for place in range(3)])
    assert sorted(ended) == [0, 1, 2]
