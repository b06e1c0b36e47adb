"""Every function in the table gives what NumPy's does, for shapes, dtypes, ties, NaN and empty arrays."""

from __future__ import annotations

import runpy

import pytest

from places import ROOT
from pyopbench.ports.traced import functions
from traced_cases import CASES
from traced_compare import difference


@pytest.mark.parametrize("name", functions.supported())
def test_a_function_gives_what_numpys_does(name: str) -> None:
    assert CASES[name]
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
