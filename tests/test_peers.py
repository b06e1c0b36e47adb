"""Other processes: results come back, errors come back with their words, and one that ends is replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pyopbench import peers
from pyopbench.peers import Raised, call


@pytest.fixture(scope="module")
def _peer() -> Iterator[None]:
    """Leave no process behind."""
    yield
    peers._pool("a test").shutdown()
    peers._pool.cache_clear()


@pytest.mark.usefixtures("_peer")
def test_a_peer_is_another_process_that_stays_and_is_replaced_when_it_ends() -> None:
    first = call("a test", (), os.getpid)
    assert first != os.getpid()
    assert call("a test", (), os.getpid) == first
    with pytest.raises(Raised, match=r"ValueError: invalid literal for int") as caught:
        call("a test", (), int, "no number")
    assert caught.value.told == "ValueError: invalid literal for int() with base 10: 'no number'"
    with pytest.raises(Raised, match="the other process ended"):
        call("a test", (), os._exit, 3)
    assert call("a test", (), os.getpid) not in (first, os.getpid())


@pytest.mark.usefixtures("_peer")
def test_a_library_that_a_peer_cannot_load_is_an_error_of_the_call() -> None:
    with pytest.raises(Raised, match="nosuch"):
        call("a test", ("/nosuch.so",), os.getpid)
