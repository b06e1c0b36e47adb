"""Every chart that a test here makes is held against the schema of Vega-Lite, which is not checked when it is built.

And none has Altair guess the class of an encoding, for which it looks at the schemas of all its classes every time.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import pytest

from pyopbench.report.charts import cost_split, gains, latency


@pytest.fixture(autouse=True)
def _valid(monkeypatch: pytest.MonkeyPatch) -> None:
    made = latency.as_spec

    def as_valid_spec(*arguments: Any, **options: Any) -> Any:
        spec = made(*arguments, **options)
        alt.FacetChart.validate(spec)
        return spec

    for module in (cost_split, gains, latency):
        monkeypatch.setattr(module, "as_spec", as_valid_spec)


@pytest.fixture(autouse=True)
def _no_guessing(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_dict(*arguments: Any, **options: Any) -> None:
        raise AssertionError(f"an encoding that is no channel of Altair: {arguments}")

    monkeypatch.setattr(alt.SchemaBase, "from_dict", from_dict)
