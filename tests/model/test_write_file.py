"""Files are written whole or not at all, and nothing is ever written through a link that lies in the folder."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from pyopbench.model import write_file
from pyopbench.model.write_file import open_to_change, opened_folder, write_atomically, write_new


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_bytes(b"keep me")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    return path


def test_no_link_of_a_name_that_could_be_foreseen_is_written_through(folder: Path, victim: Path) -> None:
    """Links for every process id fit into a small archive."""
    for number in range(os.getpid() - 50, os.getpid() + 50):
        (folder / f".report.md.{number}").symlink_to(victim)
    write_atomically(folder / "report.md", b"content")
    assert victim.read_bytes() == b"keep me"
    assert (folder / "report.md").read_bytes() == b"content"


def test_a_link_in_place_of_the_scratch_file_is_refused(
    folder: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda size: "guessed")
    (folder / ".report.md.guessed").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_atomically(folder / "report.md", b"content")
    assert victim.read_bytes() == b"keep me"


def test_a_link_in_place_of_the_file_is_replaced(folder: Path, victim: Path) -> None:
    (folder / "report.md").symlink_to(victim)
    write_atomically(folder / "report.md", b"content")
    assert victim.read_bytes() == b"keep me"
    assert not (folder / "report.md").is_symlink()


def test_the_folder_is_on_the_disk_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(write_file, "sync_folder", lambda opened: synced.append(os.fstat(opened).st_ino))
    write_atomically(folder / "report.md", b"content")
    assert synced == [folder.stat().st_ino]


def test_a_file_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*names: object, **folders: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(folder / "report.md", b"content")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("leads", ["somewhere", "nowhere"])
def test_a_link_counts_as_there_for_what_has_to_be_new(folder: Path, victim: Path, leads: str) -> None:
    target = victim if leads == "somewhere" else folder / "missing"
    (folder / "my_op.py").symlink_to(target)
    with pytest.raises(FileExistsError):
        write_new(folder / "my_op.py", b"content")
    assert victim.read_bytes() == b"keep me"
    assert not (folder / "missing").exists()


@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "pipe", "folder"])
def test_only_a_plain_file_of_one_name_is_changed_in_place(folder: Path, victim: Path, kind: str) -> None:
    path = folder / "samples.jsonl"
    {
        "link": lambda: path.symlink_to(victim),
        "dangling link": lambda: path.symlink_to(folder / "missing"),
        "second name": lambda: path.hardlink_to(victim),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }[kind]()
    with opened_folder(folder) as opened, pytest.raises(OSError):  # noqa: PT011 - which error depends on the system
        open_to_change(path.name, opened, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    assert victim.read_bytes() == b"keep me"
    assert not (folder / "missing").exists()


@pytest.mark.parametrize("write", [write_atomically, write_new])
def test_an_error_has_the_path_of_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None]
) -> None:
    """The error of a full disk has no path, and that of a file that is opened relative to a folder lacks the folder."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def read_only(name: str, *rest: object, **more: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system", name)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"a\.json") as caught:
            write(folder / "a.json", b"x")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(folder / "a.json"))
    opened = os.open
    monkeypatch.setattr(os, "open", lambda name, *rest, **more: (read_only if more else opened)(name, *rest, **more))
    with pytest.raises(OSError, match=r"a\.json") as caught:
        write(folder / "a.json", b"x")
    assert str(caught.value) == str(OSError(errno.EROFS, "Read-only file system", str(folder / "a.json")))
