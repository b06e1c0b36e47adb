"""Rates and sharing as they are told, of costs that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from pyopbench import copy_costs, measure_copies, planning, text
from pyopbench.cli import app
from pyopbench.errors import BadInput
from pyopbench.sections.copies import SECTION

GPU = {"name": "G", "held_back_by": ["power cap"]}


def gpu_document(*gpus: dict[str, Any], reason: str = "") -> dict[str, Any]:
    way = {"way": "w", "direction": "to the device", "rounds": 40}
    rows = [
        {**way, "size": 1, "bytes": 4, "seconds": 1e-5, "memory": ["pageable"]},
        {**way, "size": 2**20, "bytes": 2**22, "seconds": 1e-3, "memory": ["pageable", "pinned"]},
        {**way, "way": "v", "size": 1, "bytes": 4, "seconds": 2e-5, "memory": []},
    ]
    reading = {"gpus": list(gpus), "reason": reason}
    facts = {"devices": ["CPU:0", "GPU:0 (G)"]}
    return {"transfers": {"environment": facts, "gpu": [reading, reading], "rows": rows}}


def test_times_and_rates_stand_by_bytes_in_a_row_for_each_way() -> None:
    """4,194,304 bytes in 1 ms are 4.19 GB/s, and 4 bytes in 10 us are 0.4 MB/s."""
    (_, columns, times), (_, _, rates) = copy_costs.tables(gpu_document(GPU))
    assert columns == ("direction", "way", "host memory", "4 B", "4.00 MiB")
    assert times[0] == ("to the device", "w", "pageable, pinned", text.seconds(1e-5), text.seconds(1e-3))
    assert rates[0] == ("to the device", "w", "pageable, pinned", "0.0004", "4.19")
    assert times[1][2:] == ("not told", text.seconds(2e-5), text.MISSING)


def test_a_file_without_a_gpu_has_no_tables() -> None:
    assert copy_costs.tables({}) == []


def test_what_held_the_gpu_back_is_told_and_so_is_not_knowing_it() -> None:
    assert "power cap" in copy_costs.devices(gpu_document(GPU))
    assert "nothing" in copy_costs.devices(gpu_document({**GPU, "held_back_by": None}))
    assert "not known: no library" in copy_costs.devices(gpu_document(reason="no library"))


def row(size: int, seconds: float, *, shared: bool = False, bridge: str = "b") -> dict[str, Any]:
    way = {"bridge": bridge, "direction": "array to tensor", "mode": "call", "layout": "aligned"}
    return {**way, "size": size, "bytes": 4 * size, "shared": shared, "seconds": seconds}


def document(*rows: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": 1,
        "environment": {"tensorflow": "2.21.0"},
        "bandwidths": [
            {"working_set_bytes": 1_000, "copy": 1e12, "triad": 1.0},
            {"working_set_bytes": 8_000_000, "copy": 2e10, "triad": 1.0},
        ],
        "hazards": [
            {"bridge": "b", "mode": "call", "overwrites": True},
            {"bridge": "c, .numpy()", "mode": "call", "overwrites": False},
            {"bridge": "b", "mode": "eager", "overwrites": False},
            {"bridge": "c, .numpy()", "mode": "eager", "overwrites": False},
        ],
        "rows": list(rows),
    }


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


def test_a_way_that_tensorflow_refuses_is_told_and_files_without_them_are_read() -> None:
    way = {"bridge": "b", "direction": "array to tensor", "mode": "eager", "layout": "strided", "reason": "no"}
    assert copy_costs.refusals({**document(), "refused": [way]}) == ["b does not take an array that is strided: no"]
    assert copy_costs.refusals(document()) == []


def test_the_machine_copies_half_of_what_stream_counts() -> None:
    """An array of 4 MB is 8 MB moved: read and written."""
    assert copy_costs.copy_rate(document(row(1_000_000, 1.0))) == 1e10


def test_the_hazard_is_told_in_words() -> None:
    told = copy_costs.hazards(document(row(1, 1.0)))
    assert told == (
        "A body that writes to its input changes the caller's tensor in a graph by b. "
        "It does not in a graph by c with .numpy() and eagerly by b and c with .numpy()."
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    known = document(row(1, 1e-4), row(1_000_000, 1e-3))
    copy_costs.write(tmp_path / "new" / "copies.json", known)
    assert copy_costs.read(tmp_path / "new" / "copies.json") == known


@pytest.mark.parametrize("content", ["", "[]", "{}", "nothing", '{"schema": 1, "rows": []}'])
def test_a_file_of_another_kind_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "copies.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match="is not what `pyopbench copies` writes"):
        copy_costs.read(path)


def test_the_command_prints_a_table_for_each_direction_and_keeps_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = document(row(1, 1e-4), row(1_000_000, 1.1e-3))
    monkeypatch.setattr(measure_copies, "measure", lambda: known)
    done = CliRunner().invoke(app, ["copies", "--out", str(tmp_path / "copies.json")])
    assert done.exit_code == 0
    assert "array to tensor, on the host (TensorFlow 2.21.0)" in done.stdout
    assert "4,000" in done.stdout
    assert "10,000 MB/s" in done.stdout
    assert json.loads((tmp_path / "copies.json").read_text(encoding="utf-8")) == known
    assert json.loads(CliRunner().invoke(app, ["copies", "--json"]).stdout) == known


def test_with_a_gpu_the_command_prints_what_crosses_to_it_and_the_report_has_it_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {**document(row(1, 1e-4), row(1_000_000, 1.1e-3)), **gpu_document(GPU)}
    monkeypatch.setattr(measure_copies, "measure_with_gpu", lambda: known)
    done = CliRunner().invoke(app, ["copies", "--device", "gpu"], env={"COLUMNS": "120"})
    assert done.exit_code == 0
    assert "time of a copy between host and GPU" in done.stdout
    assert "4.19" in done.stdout
    assert "GPU:0 (G)" in done.stdout
    judgement = SimpleNamespace(run=SimpleNamespace(copy_costs=known))
    tables = [block for block in SECTION.build(judgement) if block.kind == "table"]  # type: ignore[arg-type]
    assert [table.caption for table in tables[2:]] == [copy_costs.LATENCIES, copy_costs.RATES]


def test_without_a_gpu_the_command_ends_with_the_devices_before_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_copies, "measure", lambda: pytest.fail("measured"))
    monkeypatch.setattr(planning, "ask_once", lambda request, python: {"devices": ["CPU:0"], "reason": "none"})
    done = CliRunner().invoke(app, ["copies", "--device", "gpu"])
    assert isinstance(done.exception, BadInput)
    assert done.exception.exit_code == 2
    assert "CPU:0" in str(done.exception)
