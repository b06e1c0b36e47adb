"""What is run from a cache is in a folder that nobody else can write to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyopbench.model import cache_folder
from pyopbench.model.cache_folder import exposed_inside, folder_of, private_folder, private_tree
from pyopbench.model.errors import BadInput


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


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_folders_above_it_that_are_missing_are_for_its_owner_alone_too(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = private_folder("things", "things")
    finally:
        os.umask(before)
    made = [folder, folder.parent, tmp_path / "cache"]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
    assert private_folder("things", "things") == folder, "what was made is taken the next time"


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_write_to_is_refused(mode: int) -> None:
    private_folder("things", "things").chmod(mode)
    with pytest.raises(BadInput) as caught:
        private_folder("things", "things")
    assert caught.value.received == folder_of("things")
    assert caught.value.hint


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


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders away")
STRANGER = 54321


@pytest.fixture
def _home_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be root with the home of another user, as under a sudo that keeps HOME."""
    for home in ("home", "root"):
        (tmp_path / home).mkdir(mode=0o700)
    os.chown(tmp_path / "home", STRANGER, -1)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    root = cache_folder.pwd.struct_passwd(("root", "x", 0, 0, "root", str(tmp_path / "root"), "/bin/sh"))
    monkeypatch.setattr(cache_folder.pwd, "getpwuid", {0: root}.__getitem__)


@needs_root
@pytest.mark.usefixtures("_home_of_another")
def test_root_with_the_home_of_another_user_has_a_cache_of_its_own(tmp_path: Path) -> None:
    folder = private_folder("things", "things")
    assert tmp_path / "root" in folder.parents
    assert list((tmp_path / "home").iterdir()) == [], "what root puts there the user could not take away"


@needs_root
@pytest.mark.usefixtures("_home_of_another")
def test_a_cache_that_is_named_is_the_one_and_refused_where_it_is_another_user_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))
    with pytest.raises(BadInput) as refused:
        private_folder("things", "things")
    assert refused.value.received == tmp_path / "home"


@needs_root
def test_a_user_runs_what_root_has_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ssh takes keys of root; a folder of a third user is refused as ever."""
    folder = private_folder("things", "things")
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    assert private_folder("things", "things") == folder
    os.chown(folder, STRANGER + 1, -1)
    with pytest.raises(BadInput) as refused:
        private_folder("things", "things")
    assert refused.value.received == folder


def test_files_that_everybody_writes_to_are_found_at_any_depth(tmp_path: Path) -> None:
    folder = private_folder("things", "things")
    deep = folder / "one" / "two"
    deep.mkdir(parents=True)
    (deep / "file").write_text("", encoding="utf-8")
    (folder / "link").symlink_to(tmp_path / "missing")
    assert exposed_inside(folder) is None
    assert private_tree("things", "things") == folder
    (deep / "file").chmod(0o666)
    assert exposed_inside(folder) == deep / "file"
    with pytest.raises(BadInput) as refused:
        private_tree("things", "things")
    assert refused.value.received == deep / "file"


@needs_root
def test_files_of_another_user_are_found(tmp_path: Path) -> None:
    folder = private_folder("things", "things")
    (folder / "link").symlink_to(tmp_path)
    os.chown(folder / "link", STRANGER, -1, follow_symlinks=False)
    assert exposed_inside(folder) == folder / "link"
