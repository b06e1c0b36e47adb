"""What is read off the files of ops and variants is what these hold once they are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.model.discover import PATH_VARIABLE, find
from pyopbench.ops.load import load_variant
from pyopbench.store import catalogue_facts
from pyopbench.store.catalogue_facts import declared


@pytest.mark.parametrize("name", sorted(find("variants")))
def test_what_a_variant_declares_is_what_it_is(name: str) -> None:
    variant = load_variant(name)
    found = declared("variants")[name]
    assert found["gradients"] == variant.gradients
    assert (found["kind"], found["effort"], found["summary"]) == (variant.kind, variant.effort, variant.summary)


def test_ops_declare_what_their_sizes_count() -> None:
    found = declared("ops")
    assert found["determinant"]["size_unit"] == "matrices"
    assert "size_unit" not in found["sinh"], "which has the usual one"


def test_what_is_computed_is_passed_over_and_constants_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "variants"
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from pyopbench.ops.build_callback import CALLBACK_GRADIENTS as GIVEN\n"
        "KIND = 'callback'\n"
        "VARIANT = Variant(name='mine', kind=KIND, gradients=('tape', *GIVEN), effort=1 + 1, body=unknown)\n"
    )
    (folder / "broken.py").write_text("VARIANT = (")
    (folder / "nothing.py").write_text("")
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path))
    found = declared("variants")
    assert found["mine"]["gradients"][:2] == ("tape", "custom_gradient")
    assert set(found["mine"]) == {"name", "kind", "gradients"}
    assert found["broken"] == found["nothing"] == {}


def test_files_are_read_once_in_a_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A history has thousands of files of results, each of which asks; another folder for ops is another answer."""
    before = declared("ops")
    monkeypatch.setattr(catalogue_facts, "_keywords", lambda path, name: {"summary": path.name})
    assert declared("ops") is before
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "mine.py").touch()
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path))
    assert declared("ops")["mine"] == {"summary": "mine.py"}
