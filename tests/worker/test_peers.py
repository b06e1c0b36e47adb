"""Other processes: results come back, errors come back with their words, and one that ends is an error."""

from __future__ import annotations

import os

import pytest

from pyopbench.worker import peers
from pyopbench.worker.peers import Raised, call


def test_a_peer_is_another_process_that_stays_until_it_ends() -> None:
    first = call("a test", (), os.getpid)
    assert first != os.getpid()
    assert call("a test", (), os.getpid) == first
    with pytest.raises(Raised) as caught:
        call("a test", (), int, "no number")
    assert caught.value.told == "ValueError: invalid literal for int() with base 10: 'no number'"
    assert str(caught.value) == caught.value.told
    with pytest.raises(Raised) as caught:
        call("a test", ("/nosuch.so",), os.getpid)
    assert "/nosuch.so" in str(caught.value)
    with pytest.raises(Raised) as caught:
        call("a test", (), os._exit, 3)
    assert caught.value.told == f"the other process ended, or was silent for {peers.SECONDS:g} s: BrokenProcessPool"
    assert peers._pool.cache_info().currsize == 0  # the next call starts another
