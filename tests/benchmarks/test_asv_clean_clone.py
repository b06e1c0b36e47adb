"""The script that runs asv in a clean clone: in which parts, what it says of results, and which it finds failed."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from foreign_files import document, write
from places import ROOT
from repositories import commit, git, repository


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


@pytest.fixture
def clock(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time of the script's clock, in the only element of a list."""
    now = [0.0]
    monkeypatch.setattr(script.time, "monotonic", lambda: now[0])
    return now


def test_parts_that_are_done_are_not_done_again(script: ModuleType, tmp_path: Path, clock: list[float]) -> None:
    done: list[str] = []

    def part(name: str, seconds: float) -> None:
        done.append(name)
        clock[0] += seconds

    def fails() -> None:
        clock[0] += 9.0
        raise SystemExit(1)

    path = tmp_path / "seconds.json"
    with pytest.raises(SystemExit):
        script.Parts(path).run({"a": lambda: part("a", 10.0), "b": fails}, None)
    parts = script.Parts(path)
    assert parts.run({"a": lambda: part("a", 10.0), "b": lambda: part("b", 5.0)}, None) == []
    assert (done, parts.seconds) == (["a", "b"], {"a": 10.0, "b": 5.0})


def test_nothing_is_begun_that_would_probably_end_after_the_portion(
    script: ModuleType, tmp_path: Path, clock: list[float]
) -> None:
    def takes(seconds: float) -> None:
        clock[0] += seconds

    parts = {name: (lambda: takes(10.0)) for name in "abc"}
    assert script.Parts(tmp_path / "seconds.json").run(parts, 29.0) == ["c"]
    assert script.Parts(tmp_path / "seconds.json").run(parts, 5.0) == [], "one part at the least"


def test_a_clone_takes_what_was_committed_since_and_its_configuration_as_committed(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("asv")
    written = '{"env_dir": "here", "matrix": {"req": {"tensorflow-cpu": ["1"], "numba": [""]}}} // as asv reads it\n'
    source = repository(tmp_path / "source")
    commit(source, {"asv.conf.json": written}, "first", day=1)
    monkeypatch.setattr(script, "REPOSITORY", source)
    for _ in range(2):
        clone, hashes = script.clone_of(tmp_path / "run", ["HEAD"])
        assert hashes == [git(clone, "rev-parse", "HEAD").strip()]
        suite = script.Suite.of(clone, tmp_path / "environments", "")
        assert suite.configuration["env_dir"] == "here"
        suite.configure(["2"])
        found = json.loads((clone / "asv.conf.json").read_text(encoding="utf-8"))
        assert found["env_dir"] == str(tmp_path / "environments")
        assert found["matrix"] == {"req": {"tensorflow-cpu": ["2"], "numba": [""]}}
        commit(source, {"more": ""}, "second", day=2)
