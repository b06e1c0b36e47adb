"""Paths as users give them; files are written whole or not at all, with the rights that the user wants."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from pyopbench.model.errors import BadInput
from pyopbench.model.files import real_path, write_atomically
from pyopbench.store.read import read_source


def test_links_that_lead_to_each_other_are_bad_input_and_no_internal_error(tmp_path: Path) -> None:
    """`Path.resolve` raises a `RuntimeError` at them."""
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    paths[0].symlink_to("b.json")
    paths[1].symlink_to("a.json")
    assert real_path(paths[0]).parent == tmp_path
    with pytest.raises(BadInput):
        read_source(paths[0])


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "report.md"
    write_atomically(path, b"before")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"half")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
