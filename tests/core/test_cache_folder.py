"""What is run from a cache is in a folder that nobody else can write to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyopbench.core.cache_folder import folder_of, private_folder
from pyopbench.core.errors import BadInput


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    folder = private_folder("things", "things")
    assert folder == folder_of("things")
    assert tmp_path in folder.parents
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.stat().st_uid == os.getuid()
    assert private_folder("things", "things") == folder


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_write_to_is_refused(mode: int) -> None:
    private_folder("things", "things").chmod(mode)
    with pytest.raises(BadInput) as caught:
        private_folder("things", "things")
    assert caught.value.received == folder_of("things")
    assert caught.value.next_step


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("", encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        private_folder("things", "things")
    assert refused.value.received == tmp_path / "cache" / "pyopbench" / "things"
