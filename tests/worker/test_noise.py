"""What is read off a made-up file of the kernel, and of this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyopbench.worker import noise

STAT = """cpu  100 0 0 0 0 0 0 900 0 0
cpu0 50 1 2 3 4 5 6 {} 0 0
cpu1 50 1 2 3 4 5 6 {} 0 0
cpu10 50 1 2 3 4 5 6 {} 0 0
intr 1 2 3
"""


@pytest.mark.parametrize(("used", "steal"), [({0, 1}, 150), ({10}, 7000)])
def test_steal_is_that_of_the_used_cores_in_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: set[int], steal: int
) -> None:
    monkeypatch.setattr(noise, "usable_cores", lambda: frozenset(used))
    stat = tmp_path / "stat"
    stat.write_text(STAT.format(300, 500, 1000))
    with noise.measure_noise(stat) as metered:
        stat.write_text(STAT.format(400, 550, 8000))
    assert metered["steal_seconds"] == steal / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("text", [None, "", "cpu  1 2 3\n", "cpu0 1 2 3\n"])
def test_without_steal_in_the_file_it_is_none(tmp_path: Path, text: str | None) -> None:
    stat = tmp_path / "stat"
    if text is not None:
        stat.write_text(text)
    with noise.measure_noise(stat) as metered:
        pass
    assert metered["steal_seconds"] is None
