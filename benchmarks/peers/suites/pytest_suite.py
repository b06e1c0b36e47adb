"""Forward cases through the fixture of pytest-benchmark."""

from __future__ import annotations

from typing import Any

import pytest

from peers import cases
from pyopbench.worker.suite_api import Case, prepare


@pytest.mark.parametrize("case", cases.handed_over())
def test_case(benchmark: Any, case: str) -> None:
    """Time one case; what it returned is worth a look, because nothing else here would notice an empty call."""
    assert benchmark(prepare(Case.from_id(case)).segments[0]) is not None
