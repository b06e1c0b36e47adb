"""A policy is in force for as long as a command runs, whatever ends it, and in every thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pyopbench.model.read_policy import STRICT, ReadPolicy, policy, reading_by


def test_a_policy_is_in_force_until_its_end_in_every_thread() -> None:
    wanted = ReadPolicy(takes_changed=True)
    assert policy() == STRICT
    with reading_by(wanted), ThreadPoolExecutor(1) as threads:
        assert policy() is threads.submit(policy).result() is wanted
    assert policy() == STRICT


def test_an_error_ends_a_policy_too() -> None:
    def fail() -> None:
        with reading_by(ReadPolicy(most_bytes=1)):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert policy() == STRICT
