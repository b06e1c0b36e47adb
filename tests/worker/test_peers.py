"""Other processes: results come back, errors come back with their words, and one that ends is an error."""

from __future__ import annotations

import os

import pytest

from pyopbench.worker import subject
from pyopbench.worker.subject import Raised, call_in_peer


def test_a_peer_is_another_process_that_stays_until_it_ends() -> None:
    first = call_in_peer("a test", (), os.getpid)
    assert first != os.getpid()
    assert call_in_peer("a test", (), os.getpid) == first
    with pytest.raises(Raised) as caught:
        call_in_peer("a test", (), int, "no number")
    assert caught.value.told == "ValueError: invalid literal for int() with base 10: 'no number'"
    assert str(caught.value) == caught.value.told
    with pytest.raises(Raised) as caught:
        call_in_peer("a test", ("/nosuch.so",), os.getpid)
    assert "/nosuch.so" in str(caught.value)
    with pytest.raises(Raised) as caught:
        call_in_peer("a test", (), os._exit, 3)
    assert (
        caught.value.told == f"the other process ended, or was silent for {subject.PEER_SECONDS:g} s: BrokenProcessPool"
    )
    assert subject._pool.cache_info().currsize == 0  # the next call starts another
