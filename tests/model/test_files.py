"""Paths as users give them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.model.errors import BadInput
from pyopbench.model.files import real_path
from pyopbench.store.read import read_source


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    assert real_path(tmp_path / "link") == tmp_path / "file"


def test_links_that_lead_to_each_other_are_bad_input_and_no_internal_error(tmp_path: Path) -> None:
    """`Path.resolve` raises a `RuntimeError` at them."""
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    paths[0].symlink_to("b.json")
    paths[1].symlink_to("a.json")
    assert real_path(paths[0]).parent == tmp_path
    with pytest.raises(BadInput):
        read_source(paths[0])
