"""Rates and sharing as they are told, of costs that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from copied_files import GPU, document, gpu_document, row
from pyopbench.cli import placement
from pyopbench.cli.app import make_app
from pyopbench.engine import copies, plan
from pyopbench.model.errors import BadInput
from pyopbench.report import copy_costs_text as wording
from pyopbench.report.sections.copies import SECTION
from pyopbench.store import copy_costs


def test_a_rate_is_of_the_bytes_beyond_one_element() -> None:
    """4,000,000 bytes less 4 in 1 ms more."""
    (cost,) = copy_costs.costs(document(row(1, 1e-4), row(1_000, 2e-4), row(1_000_000, 1.1e-3)))
    assert cost.rate == pytest.approx(3_999_996 / 1e-3)
    assert cost.bridge_seconds == 1e-4


def test_there_is_no_rate_where_nothing_is_copied_or_nothing_can_be_told() -> None:
    shared, untold = copy_costs.costs(
        document(
            *(row(size, cost, shared=True, bridge="s") for size, cost in ((1, 1e-4), (1_000_000, 3e-4))),
            *(row(size, cost, bridge="u") for size, cost in ((1, 1e-4), (1_000_000, 1.05e-4))),
        )
    )
    assert (shared.shared, shared.rate) == (True, None)
    assert (untold.shared, untold.rate) == (False, None)


def test_costs_of_a_gpu_are_told_by_way_with_the_memory_that_was_seen_at_any_size() -> None:
    first, second = copy_costs.gpu_costs(gpu_document(GPU))
    assert (first.direction, first.way, first.memory) == ("to the device", "w", ("pageable", "pinned"))
    assert first.seconds == {4: 1e-5, 2**22: 1e-3}
    assert (second.way, second.memory, second.seconds) == ("v", (), {4: 2e-5})
    assert copy_costs.gpu_costs(document()) == []


def test_bridges_are_told_apart_by_whether_a_body_overwrites_what_it_is_given() -> None:
    known = document()
    assert copy_costs.overwriting(known, overwrites=True) == {"call": ["b"]}
    assert copy_costs.overwriting(known, overwrites=False) == {"call": ["c, .numpy()"], "eager": ["b", "c, .numpy()"]}


def test_the_machine_copies_half_of_what_stream_counts() -> None:
    """An array of 4 MB is 8 MB moved: read and written."""


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    known = document(row(1, 1e-4), row(1_000_000, 1e-3))
    copy_costs.write(tmp_path / "new" / "copies.json", known)
    assert copy_costs.read(tmp_path / "new" / "copies.json") == known


@pytest.mark.parametrize("content", ["", "[]", "{}", "nothing", '{"schema": 1, "rows": []}'])
def test_a_file_of_another_kind_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "copies.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        copy_costs.read(path)
    assert refused.value.hint == f"create it again: pyopbench copies --out {path}"


def test_the_command_prints_a_table_for_each_direction_and_keeps_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = document(row(1, 1e-4), row(1_000_000, 1.1e-3))
    monkeypatch.setattr(copies, "measure_bridges", lambda: known)
    done = CliRunner().invoke(make_app(), ["copies", "--out", str(tmp_path / "copies.json")])
    assert done.exit_code == 0
    titles = {f"{direction}, on the host (TensorFlow 2.21.0)" for direction in copy_costs.DIRECTIONS}
    assert titles <= set(map(str.strip, done.stdout.splitlines()))
    assert "4,000" in done.stdout
    assert copy_costs.read(tmp_path / "copies.json") == known
    assert json.loads(CliRunner().invoke(make_app(), ["copies", "--json"]).stdout) == known


def test_with_a_gpu_the_command_prints_what_crosses_to_it_and_the_report_has_it_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {**document(row(1, 1e-4), row(1_000_000, 1.1e-3)), **gpu_document(GPU)}
    monkeypatch.setattr(placement, "require_gpu", lambda: None)
    monkeypatch.setattr(copies, "measure_with_gpu", lambda: known)
    done = CliRunner().invoke(make_app(), ["copies", "--device", "gpu"], env={"COLUMNS": "120"})
    assert done.exit_code == 0
    assert {wording.LATENCIES, wording.RATES} <= set(map(str.strip, done.stdout.splitlines()))
    assert "4.19" in done.stdout
    assert "GPU:0 (G)" in done.stdout
    judgement = SimpleNamespace(run=SimpleNamespace(copy_costs=known))
    tables = [block for block in SECTION.build(judgement) if block.kind == "table"]  # type: ignore[arg-type]
    assert [table.caption for table in tables[2:]] == [wording.LATENCIES, wording.RATES]


def test_without_a_gpu_the_command_ends_with_the_devices_before_it_waits_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placement, "alone_on_this_machine", lambda: pytest.fail("waited"))
    monkeypatch.setattr(copies, "measure_bridges", lambda: pytest.fail("measured"))
    monkeypatch.setattr(plan, "ask_once", lambda request, python: {"devices": ["CPU:0"], "reason": "none"})
    done = CliRunner().invoke(make_app(), ["copies", "--device", "gpu"])
    assert isinstance(done.exception, BadInput)
    assert done.exception.exit_code == 2
    assert "CPU:0" in str(done.exception)
