"""The script that runs asv in a clean clone: what it says of results, and which it finds failed."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from foreign_files import document, write
from places import ROOT


@pytest.fixture
def script() -> Iterator[ModuleType]:
    """The script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        patch.delitem(sys.modules, "asv_clean_clone", raising=False)
        import asv_clean_clone

        yield asv_clean_clone


def test_values_what_was_skipped_and_what_failed_are_counted(script: ModuleType) -> None:
    params = [["'sinh'"], ["'native'"], ["'unpinned'"], ["'host'", "'device'"], ["'host'", "'device'"]]
    rows = {
        "latency.ForwardLatency.time_call": {"result": [1.0, math.nan, None], "params": [["1", "2", "3"]]},
        "device_copies.CopiesOnRoute.track_to_host": {"result": [1, 0, 2, math.nan], "params": params},
        "memory.PeakMemory.peakmem_call": {"result": None, "params": []},
    }
    routes, *each, latency, memory = ([word for word in line.split() if word] for line in script.lines_of(rows))
    assert [routes[1], routes[3], routes[5]] == ["3", "1", "0"]
    assert each[2] == ["sinh", "native", "unpinned", "device", "host:", "2"]
    assert [latency[1], latency[3], latency[5]] == ["1", "1", "1"]
    assert [memory[1], memory[3], memory[5]] == ["0", "0", "1"]


def test_results_are_read_as_asv_writes_them(script: ModuleType, tmp_path: Path) -> None:
    content = document("asv-first")
    write(tmp_path / "results" / "asv" / "here" / "0123-env.json", content)
    write(tmp_path / "results" / "asv" / "here" / "machine.json", {})
    ((name, rows),) = script.results_of(tmp_path)
    assert name == f"{content['commit_hash'][:8]} {content['env_name']}"
    assert rows.keys() == content["results"].keys()
    assert all("result" in row for row in rows.values())
