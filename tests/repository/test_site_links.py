"""Links between files of the repository lead to pages of the site; what is no page stays as text."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType, SimpleNamespace

import pytest

from places import ROOT

PATH = ROOT / "scripts" / "site_links.py"
PAGES = (
    "index.md",
    "results.md",
    "gpu.md",
    "decisions/README.md",
    "decisions/0001-two-halves.md",
    "how-it-measures.md",
)
FILES = SimpleNamespace(get_file_from_path=lambda name: name if name in PAGES else None)


@pytest.fixture(scope="module")
def site_links() -> ModuleType:
    pytest.importorskip("mkdocs", reason="the site is built with the extra `docs`")
    specification = importlib.util.spec_from_file_location("site_links", PATH)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("page", "written", "shown"),
    [
        ("index.md", "[GPU](docs/gpu.md#no-network)", "[GPU](gpu.md#no-network)"),
        ("index.md", "[why](docs/decisions)", "[why](decisions/README.md)"),
        ("gpu.md", "[format](../results/README.md)", "[format](results.md)"),
        ("gpu.md", "[home](../README.md)", "[home](index.md)"),
        ("results.md", "[GPU](../docs/gpu.md)", "[GPU](gpu.md)"),
        ("decisions/0001-two-halves.md", "[how](../how-it-measures.md)", "[how](../how-it-measures.md)"),
        ("gpu.md", "[first](decisions/0001-two-halves.md)", "[first](decisions/0001-two-halves.md)"),
        ("gpu.md", "[the workflow](../.github/workflows/benchmarks.yml)", "the workflow"),
        ("gpu.md", "[gone](gone.md)", "[gone](gone.md)"),
        ("gpu.md", "[asv](https://asv.readthedocs.io)", "[asv](https://asv.readthedocs.io)"),
        ("gpu.md", "[below](#below)", "[below](#below)"),
    ],
)
def test_links_are_turned(site_links: ModuleType, page: str, written: str, shown: str) -> None:
    here = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    assert site_links.on_page_markdown(f"See {written}.", here, None, FILES) == f"See {shown}."


def test_each_page_is_in_the_contents_of_the_site() -> None:
    """A build of the site, which is strict, fails otherwise, but takes half a minute."""
    docs = ROOT / "docs"
    written = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    assert len(pages) > 50
    assert [one for one in pages if not re.search(rf"[ :]{re.escape(one)}$", written, re.MULTILINE)] == []
