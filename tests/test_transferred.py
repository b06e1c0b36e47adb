"""Copies to a GPU are told by way and bytes, with the memory that the profiler saw, of rows that are made up."""

from __future__ import annotations

from typing import Any

from pyopbench import text, transferred

GPU = {"name": "G", "held_back_by": ["power cap"]}


def document(*gpus: dict[str, Any], reason: str = "") -> dict[str, Any]:
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
    (_, columns, times), (_, _, rates) = transferred.tables(document(GPU))
    assert columns == ("direction", "way", "host memory", "4 B", "4.00 MiB")
    assert times[0] == ("to the device", "w", "pageable, pinned", text.seconds(1e-5), text.seconds(1e-3))
    assert rates[0] == ("to the device", "w", "pageable, pinned", "0.0004", "4.19")
    assert times[1][2:] == ("not told", text.seconds(2e-5), text.MISSING)


def test_a_file_without_a_gpu_has_no_tables() -> None:
    assert transferred.tables({}) == []


def test_what_held_the_gpu_back_is_told_and_so_is_not_knowing_it() -> None:
    assert "power cap" in transferred.devices(document(GPU))
    assert "nothing" in transferred.devices(document({**GPU, "held_back_by": None}))
    assert "not known: no library" in transferred.devices(document(reason="no library"))
