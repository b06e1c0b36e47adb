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


@pytest.mark.parametrize(("mode", "is_refused"), [(0o777, True), (0o775, True), (0o1777, False), (0o755, False)])
def test_a_folder_above_that_others_write_to_is_refused(tmp_path: Path, mode: int, is_refused: bool) -> None:
    """They could put another folder in the place of this one; not so where the sticky bit is set, as in /tmp."""
    private_folder("things", "things")
    (tmp_path / "cache").chmod(mode)
    try:
        private_folder("things", "things")
        refused = None
    except BadInput as error:
        refused = error.received
    assert refused == (tmp_path / "cache" if is_refused else None)


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = private_folder("things", "things")
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(BadInput) as refused:
        private_folder("things", "things")
    assert refused.value.received == folder


def test_a_cache_may_be_on_another_disk_by_a_link_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way there is looked at as well."""
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "linked").symlink_to(tmp_path / "disk", target_is_directory=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "linked"))
    assert private_folder("things", "things").is_dir()
    (tmp_path / "disk").chmod(0o777)
    with pytest.raises(BadInput):
        private_folder("things", "things")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders away")
def test_a_folder_above_of_another_user_is_refused(tmp_path: Path) -> None:
    private_folder("things", "things")
    os.chown(tmp_path / "cache", 54321, -1)
    with pytest.raises(BadInput) as refused:
        private_folder("things", "things")
    assert refused.value.received == tmp_path / "cache"
