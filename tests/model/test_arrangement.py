"""Arrangements have keys that tell them apart, and efforts in the order of the work."""

from __future__ import annotations

from pipelines import ALL, BATCH, CURRENT, PARALLEL, POOL, PORT


def test_keys_say_what_an_arrangement_is_and_differ() -> None:
    assert PARALLEL.key == "map parallel=AUTOTUNE"
    assert PORT.key == "port native"
    assert len({one.key for one in ALL}) == len(ALL)


def test_a_port_takes_more_work_than_anything_that_keeps_the_body() -> None:
    assert CURRENT.effort < PARALLEL.effort < BATCH.effort < POOL.effort < PORT.effort
