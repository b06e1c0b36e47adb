"""Which cores a process may use."""

from __future__ import annotations

import os

import pytest

from pyopbench.model.machine import usable_cores


def test_only_the_cores_that_may_be_used_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 7}, raising=False)
    assert usable_cores() == {3, 5, 7}


def test_all_cores_are_named_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert usable_cores() == {0, 1, 2, 3}


def test_a_machine_whose_cores_nobody_can_count_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == {0}
