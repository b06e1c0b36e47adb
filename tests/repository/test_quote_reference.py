"""What README quotes of the reference run is what that run says."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from places import ROOT


@pytest.fixture(scope="module")
def quote() -> ModuleType:
    specification = importlib.util.spec_from_file_location("quote_reference", ROOT / "scripts" / "quote_reference.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_readme_says_what_the_run_says(quote: ModuleType) -> None:
    readme = quote.README.read_text(encoding="utf-8")
    assert all(readme.count(mark) == 1 for mark in (quote.BEGIN, quote.END, quote.TRUST_BEGIN, quote.TRUST_END))
    assert readme == quote.written(readme, quote.quoted(), quote.trusted()), "run: python scripts/quote_reference.py"


def test_another_run_gives_another_table(quote: ModuleType, tmp_path: Path) -> None:
    shutil.copy(quote.REFERENCE / "run.json", tmp_path)
    content = json.loads((quote.REFERENCE / "decisions.json").read_text(encoding="utf-8"))
    first = content["decisions"][0]
    content["decisions"] = [{**first, "action": "keep", "choice": None, "use": "training"}]
    (tmp_path / "decisions.json").write_text(json.dumps(content), encoding="utf-8")
    assert quote.quoted(tmp_path).splitlines()[-1] == f"| `{first['op']}` | – | – | keep | – |"


def test_a_run_without_a_certificate_has_no_figures_of_one(quote: ModuleType, tmp_path: Path) -> None:
    assert "|" in quote.trusted()
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    assert "|" not in quote.trusted(tmp_path)
