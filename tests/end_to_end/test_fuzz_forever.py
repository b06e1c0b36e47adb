"""The fuzzing that Hypothesis leads keeps what fails, tries it again first, and ends when it is told to."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

import fuzz_forever
import mutants
from pyopbench.model.errors import InternalError


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Put something in the place of commands that fails for large numbers; return the numbers that were tried."""
    tried: list[int] = []

    def attempt(rng: random.Random) -> list[str]:
        tried.append(rng.randrange(1 << 16))
        return ["too large"] if tried[-1] > 1000 else []

    @contextmanager
    def fuzzing() -> Iterator[object]:
        yield SimpleNamespace(attempt=attempt)

    monkeypatch.setattr(mutants, "fuzzing", fuzzing)
    monkeypatch.setattr(mutants, "KEPT", tmp_path / "kept")
    return tried


def test_what_fails_is_told_made_small_and_tried_first_the_next_time(
    attempts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    ticks = iter([0.0] * 2 + [0.5] * 100_000)

    def tell(problem: str) -> None:
        told.append(problem)
        nonlocal ticks
        ticks = iter([2.0] * 1000)

    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    tried, failed = fuzz_forever.fuzz(1.0, tell, examples=50)
    assert (len(told), failed, tried > 1) == (1, 1, True)
    smallest = attempts[-1]
    assert smallest > 1000
    attempts.clear()
    ticks = iter([0.0] * 2 + [0.5] * 100_000)
    fuzz_forever.fuzz(1.0, tell, examples=50)
    assert attempts[0] == smallest


@pytest.mark.parametrize(("failed", "code"), [(0, 0), (2, 1)])
def test_a_round_that_fails_fails_the_program(monkeypatch: pytest.MonkeyPatch, failed: int, code: int) -> None:
    monkeypatch.setattr("sys.argv", ["fuzz_forever.py", "1"])
    monkeypatch.setattr(fuzz_forever, "fuzz", lambda *_: (300, failed))
    assert fuzz_forever.main() == code


def test_a_fault_in_a_command_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mutants, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(mutants, "call", lambda words: (InternalError.exit_code, "all is well"))
    told: list[str] = []
    ticks = iter([0.0, 0.5])
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks, 2.0))
    assert fuzz_forever.fuzz(1.0, told.append, examples=2)[1] == 1
    assert len(told) == 1


def test_it_ends_in_time(attempts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)
    assert fuzz_forever.fuzz(0.0, pytest.fail) == (0, 0)
    assert attempts == []
