"""What copies cost in words, of costs that are made up."""

from __future__ import annotations

from collections.abc import Sequence

from copied_files import GPU, document, gpu_document, row
from pyopbench.model import formatting
from pyopbench.report import copy_costs_text as copy_costs
from pyopbench.report.sections import Cell


def texts(row: Sequence[Cell | str]) -> tuple[str, ...]:
    return tuple(map(str, row))


def test_times_and_rates_stand_by_bytes_in_a_row_for_each_way() -> None:
    """4,194,304 bytes in 1 ms are 4.19 GB/s, and 4 bytes in 10 us are 0.4 MB/s."""
    (_, columns, times), (_, _, rates) = copy_costs.gpu_tables(gpu_document(GPU))
    assert columns == ("direction", "way", "host memory", "4 B", "4.00 MiB")
    way = ("to the device", "w", "pageable, pinned")
    assert texts(times[0]) == (*way, formatting.seconds(1e-5), formatting.seconds(1e-3))
    assert texts(rates[0]) == (*way, "0.0004", "4.19")
    assert texts(times[1][2:]) == ("unknown", formatting.seconds(2e-5), formatting.MISSING)


def test_a_file_without_a_gpu_has_no_tables() -> None:
    assert copy_costs.gpu_tables({}) == []


def test_what_held_the_gpu_back_is_told_and_so_is_not_knowing_it() -> None:
    made = "Copies between host and GPU were measured on CPU:0 and GPU:0 (G)"
    held_back = f"{made}; its clocks were limited by"
    assert copy_costs.gpu_devices(gpu_document(GPU)) == f"{held_back}: power cap."
    assert copy_costs.gpu_devices(gpu_document({**GPU, "held_back_by": None})) == f"{held_back}: nothing."
    unknown = f"{made}; its clocks are not known: no library."
    assert copy_costs.gpu_devices(gpu_document(reason="no library")) == unknown


def test_a_way_that_tensorflow_refuses_is_told_and_files_without_them_are_read() -> None:
    way = {"bridge": "b", "direction": "array to tensor", "mode": "eager", "layout": "strided", "reason": "no"}
    assert copy_costs.refusals({**document(), "refused": [way]}) == [("b does not accept an array that is strided: no")]
    assert copy_costs.refusals(document()) == []


def test_the_hazard_is_told_in_words() -> None:
    told = copy_costs.hazards(document(row(1, 1.0)))
    assert told == (
        'A body that writes to its input changes the caller\'s tensor in a graph by "b". '
        'It does not in a graph by "c, .numpy()" and eagerly by "b" and "c, .numpy()".'
    )
