"""The script that makes the page of a large history, in small."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from places import ROOT


@pytest.fixture
def script() -> Iterator[ModuleType]:
    """The script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        for name in ("helpers", "history_scale"):
            patch.delitem(sys.modules, name, raising=False)
        import history_scale

        yield history_scale


def test_every_tenth_series_has_a_step_that_is_found(script: ModuleType) -> None:
    history = script.made_history(80, 20)
    assert (len(history.moments), len(history.traced)) == (80, 20)
    assert {one.number for one in history.changes} >= {0, 10}
    assert all(one.rerun is not None for one in history.changes)
    assert len({one.series.name for one in history.traced}) == 20
    page = script.html(history)
    assert page.count('class="chart series"') == 20
