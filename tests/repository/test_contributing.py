"""The files that CONTRIBUTING.md shows: each loads as it stands there, and is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from places import ROOT
from pyopbench.model.case import Case
from pyopbench.model.discover import PATH_VARIABLE
from pyopbench.ops import load
from pyopbench.worker.prepare.prepare import prepare

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
OP, VARIANT = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that PYOPBENCH_PATH names, with folders for ops and variants."""
    for kind in ("ops", "variants"):
        (tmp_path / kind).mkdir()
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path))
    return tmp_path


def test_the_op_has_the_values_and_the_gradient_that_it_says(folder: Path) -> None:
    (folder / "ops" / "softsign.py").write_text(OP, encoding="utf-8")
    assert load.why_unloadable() is None
    case = Case("softsign", "native", "autodiff", "backward", "call", "float32", 10)
    checked = prepare(case, finite_differences=True).checked
    assert checked.gradient is not None
    assert checked.finite_difference is not None


def test_the_variant_is_one_of_every_run(folder: Path) -> None:
    source = VARIANT.replace('name="xla"', 'name="compiled_by_xla"')
    assert source != VARIANT
    (folder / "variants" / "compiled_by_xla.py").write_text(source, encoding="utf-8")
    assert load.why_unloadable() is None
    variant = load.load_variant("compiled_by_xla")
    assert (variant.is_port, variant.is_usual, variant.is_attempt) == (True, True, True)
    case = Case("sinh", "compiled_by_xla", "none", "forward", "call", "float32", 10)
    assert prepare(case).checked.values < 1e-5


def test_a_variant_with_a_role_that_is_none_is_told_with_those_that_there_are(folder: Path) -> None:
    source = VARIANT.replace('name="xla"', 'name="mine"').replace('role="attempt"', 'role="speculative"')
    assert "speculative" in source
    (folder / "variants" / "mine.py").write_text(source, encoding="utf-8")
    told = load.why_unloadable()
    assert told is not None
    assert "role" in str(told["message"])
    assert "attempt" in str(told["legal"])
