"""Traced functions give what NumPy's do, for shapes, dtypes, ties, NaN and empty arrays, one op at a time."""

from __future__ import annotations

import runpy

import pytest

from places import ROOT
from traced_cases import CASES
from traced_compare import difference


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_function_gives_what_numpys_does(name: str) -> None:
    differing = {}
    for number, (call, arrays) in enumerate(CASES[name]):
        described = f"{number}: {[(str(array.dtype), array.shape) for array in arrays]}"
        found = difference(call, *arrays)
        if found:
            differing[described] = found
    assert differing == {}


def test_the_page_lists_what_is_in_the_table() -> None:
    """`python scripts/traced_functions.py` writes it."""
    script = runpy.run_path(str(ROOT / "scripts" / "traced_functions.py"))
    page = (ROOT / "docs" / "tracing.md").read_text(encoding="utf-8")
    assert script["written"](page) == page
