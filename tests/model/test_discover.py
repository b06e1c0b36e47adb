"""What there is to choose from, and what is said about a name that there is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from places import EXTRAS
from pyopbench.model.discover import BUILTIN, PATH_VARIABLE, find, names_in, require_known
from pyopbench.model.errors import BadInput


def test_ops_and_variants_of_the_package_are_found_by_name_in_order() -> None:
    found = find("ops")
    assert found["determinant"] == BUILTIN / "determinant.py"
    assert found["sinh"] == BUILTIN / "elementwise.py"
    assert list(found) == sorted(found)
    assert "native" in find("variants")


def test_folders_of_the_variable_are_searched_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(EXTRAS))
    assert find("ops")["negate"] == EXTRAS / "ops" / "negate.py"
    assert "sinh" in find("ops")
    assert "twin" in find("variants")


def test_two_files_that_define_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "sinh.py").touch()
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path))
    with pytest.raises(BadInput) as refused:
        find("ops")
    assert refused.value.received == f"{BUILTIN / 'elementwise.py'} and {tmp_path}/ops/sinh.py, sinh"


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "typo"))
    with pytest.raises(BadInput) as refused:
        find("ops")
    assert refused.value.received == tmp_path / "typo"


def test_the_keys_of_a_table_are_names_and_a_file_that_cannot_be_read_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "several.py"
    for text, names in (
        ('OPS = {"a": 1, "b": 2}\n', ("a", "b")),
        ('OPS: dict[str, int] = {"a": 1}\n', ("a",)),
        ('VARIANTS = {"a": 1}\n', ("several",)),
        ("OPS = {\n", ("several",)),
        ("OP = 1\n", ("several",)),
    ):
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")
        assert names_in(path, "ops") == names
    path.write_bytes(b"OPS = {'\xff': 1}")
    assert names_in(path, "ops") == ("several",)


def test_an_unknown_name_is_answered_with_the_nearest_and_all() -> None:
    with pytest.raises(BadInput) as caught:
        require_known("op", ["sinh", "snih"], ["sinh", "cube"])
    assert caught.value.message == "unknown op"
    assert caught.value.received == "'snih'"
    assert caught.value.legal == "cube, sinh"
    assert caught.value.hint == "did you mean sinh?"


def test_a_name_that_is_near_to_none_is_sent_to_the_list() -> None:
    with pytest.raises(BadInput) as refused:
        require_known("op", ["qqqq"], ["sinh"])
    assert refused.value.received == "'qqqq'"
