"""A folder of another user is not written into unless that was asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyopbench.model import ownership
from pyopbench.model.errors import BadInput
from pyopbench.model.ownership import require_own
from pyopbench.model.read_policy import ReadPolicy, reading_by

OTHER = 54321


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)
    monkeypatch.delenv(ownership.SUDO_USER, raising=False)
    return tmp_path


def test_ones_own_folder_and_one_that_is_not_there_yet_are_written_into(tmp_path: Path) -> None:
    require_own(tmp_path)
    require_own(tmp_path / "new")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_text_that_no_path_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as refused:
        require_own(tmp_path / name)
    assert refused.value.received == repr(str(tmp_path / name)), "shown without the character itself"


def test_a_folder_of_another_user_is_refused(foreign: Path) -> None:
    with pytest.raises(BadInput):
        require_own(foreign)


def test_it_is_written_into_where_that_is_asked_for(foreign: Path) -> None:
    with reading_by(ReadPolicy(trusts_everybody=True)):
        require_own(foreign)


def test_under_sudo_the_folders_of_who_asked_are_no_other_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = tmp_path.stat().st_uid
    monkeypatch.setenv(ownership.SUDO_USER, str(owner))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    require_own(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)  # the variable alone is no proof
    with pytest.raises(BadInput):
        require_own(tmp_path)
