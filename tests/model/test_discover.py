"""What there is to choose from, and what is said about a name that there is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from places import EXTRAS
from pyopbench.model.discover import BUILTIN, PATH_VARIABLE, find, require_known
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


def test_the_keys_of_a_table_are_names_and_a_file_without_one_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ops").mkdir()
    for name, text in (
        ("several", 'OPS = {"a": 1, "b": 2}\n'),
        ("typed", 'OPS: dict[str, int] = {"c": 1}\n'),
        ("variants", 'VARIANTS = {"d": 1}\n'),
        ("single", "OP = 1\n"),
        ("_helper", "OP = 1\n"),
        ("broken", "OPS = {\n"),
    ):
        (tmp_path / "ops" / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path))
    mine = {name: path.stem for name, path in find("ops").items() if path.parent == tmp_path / "ops"}
    own_names = {name: name for name in ("broken", "single", "variants")}
    assert mine == {"a": "several", "b": "several", "c": "typed", **own_names}


def test_two_files_of_one_op_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "sinh.py").touch()
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path))
    with pytest.raises(BadInput) as refused:
        find("ops")
    assert refused.value.received == f"{BUILTIN / 'elementwise.py'} and {tmp_path / 'ops' / 'sinh.py'}"


def test_an_unknown_name_is_answered_with_the_nearest_and_all() -> None:
    with pytest.raises(BadInput) as caught:
        require_known("op", ["sinh", "snih"], ["sinh", "cube"])
    assert caught.value.message == "unknown op"
    assert caught.value.received == "'snih'"
    assert caught.value.legal == "cube, sinh"
    assert caught.value.hint == "did you mean sinh?"
