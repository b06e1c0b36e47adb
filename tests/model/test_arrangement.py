"""Efforts of arrangements are in the order of the work."""

from __future__ import annotations

from pipelines import BATCH, CURRENT, PARALLEL, POOL, PORT


def test_a_port_takes_more_work_than_anything_that_keeps_the_body() -> None:
    assert CURRENT.effort < PARALLEL.effort < BATCH.effort < POOL.effort < PORT.effort
