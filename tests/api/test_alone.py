"""Commands that measure wait for whoever measures on the machine, and say so."""

from __future__ import annotations

import pytest

from pyopbench.api import alone
from pyopbench.engine import host_lock


def test_who_waits_is_told_for_whom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter([False, False, True])
    monkeypatch.setattr(host_lock, "_take", lambda descriptor: next(answers))
    monkeypatch.setattr(host_lock, "holder", lambda path: 1234)
    monkeypatch.setattr(host_lock, "ATTEMPT_SECONDS", 0.0)
    with alone.alone_on_this_machine():
        pass
    told = capsys.readouterr().err
    assert "1234" in told
    assert len(told.splitlines()) == 1


def test_who_need_not_wait_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with alone.alone_on_this_machine():
        assert not host_lock.is_free()
    assert capsys.readouterr().err == ""
