"""Files of asv: real ones are read as asv reads them, and anything that is not as asv writes it is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foreign_files import FORWARD, column, document, with_column, write
from pyopbench.model.errors import BadInput
from pyopbench.store.foreign import asv_file

PATH = Path("results/asv/here/file.json")
REAL = document("asv-second")


def test_results_are_in_the_order_of_the_products_of_parameters() -> None:
    """As `asv.results.Results.load` and `itertools.product` have it; NaN is skipped, null failed."""
    entries = {entry.name: entry for entry in asv_file.entries_of(PATH, REAL)}
    results = column(REAL, FORWARD, "result")
    assert entries[f"{FORWARD}('sinh', 'native', 1)"].result == results[0]
    assert entries[f"{FORWARD}('sinh', 'native', 1000)"].result == results[1]
    assert entries[f"{FORWARD}('relu', 'numpy_function', 1)"].result == results[8]
    skipped = entries[f"{FORWARD}('sinh', 'custom_op', 1)"]
    assert skipped.result is not None
    assert math.isnan(skipped.result)
    assert entries["strange.Fails.time_nothing"].result is None


def test_samples_are_seconds_of_a_call() -> None:
    """Each is divided by the number of calls before asv stores it, so their median is the result."""
    for entry in asv_file.entries_of(PATH, REAL):
        if entry.samples is not None:
            ordered = sorted(entry.samples)
            middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
            assert middle == pytest.approx(entry.result, rel=1e-6)


def test_without_samples_there_are_results_alone() -> None:
    entries = asv_file.entries_of(PATH, document("asv-without-samples"))
    assert entries
    assert not [entry for entry in entries if entry.samples]


def test_what_measures_no_time_is_named_apart() -> None:
    assert asv_file.others_of(REAL) == ["latency.CopiesPerCall.track_copies", "latency.PeakMemory.peakmem_call"]


Change = Callable[[Any], Any]


def _put(key: str, value: Any) -> Change:
    return lambda content: {**content, key: value}


def _in_column(name: str, value: Any, place: int | None = 0) -> Change:
    def change(content: Any) -> Any:
        old = column(content, FORWARD, name)
        new = value if place is None else [*old[:place], value, *old[place + 1 :]]
        return with_column(content, FORWARD, name, new)

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_put("version", 1), "version is 1"),
        (_put("version", 3), "version is 3"),
        (_put("version", True), "version is True"),
        (_put("version", None), "version is None"),
        (_put("result_columns", ["result"]), "result_columns are"),
        (_put("result_columns", ["result", "params", "result"]), "result_columns are"),
        (_in_column("result", -1e-6), "result is -1e-06"),
        (_in_column("result", math.inf), "result is inf"),
        (_in_column("result", 10**400), "result is 1000"),
        (_in_column("samples", [1e300]), "samples hold 1e+300"),
        (_in_column("samples", [10**400]), "samples hold 1000"),
        (_in_column("stats_number", 10**400), "stats_number is 1000"),
        (_in_column("stats_number", 1e308), "stats_number is 1e+308"),
        (_in_column("result", "1e-6"), "result is '1e-6'"),
        (_in_column("result", True), "result is True"),
        (_in_column("result", [1e-6], None), "result has 1 item"),
        (_in_column("params", [["'sinh'"], ["'native'"], ["1"]], None), "result has 12 items"),
        (_in_column("params", [["1"] * 1000] * 3, None), "1,000,000,000 combinations"),
        (_in_column("samples", [1e-6, math.nan]), "samples hold nan"),
        (_in_column("samples", [-1.0]), "samples hold -1.0"),
        (_in_column("samples", ["a"]), "samples hold 'a'"),
        (_in_column("samples", []), "samples are []"),
        (_in_column("samples", 1.0), "samples are 1.0"),
        (_in_column("samples", [[1.0]], None), "samples has 1 item"),
        (_in_column("stats_number", 0), "stats_number is 0"),
        (_in_column("stats_number", 1.5), "stats_number is 1.5"),
    ],
)
def test_what_asv_does_not_write_is_refused_with_its_place(change: Change, what: str) -> None:
    changed = change(REAL)
    with pytest.raises(BadInput) as refused:
        asv_file.entries_of(PATH, changed)
    assert str(PATH) in str(refused.value.received)
    assert what in str(refused.value.received)


@pytest.mark.parametrize(("version", "is_older"), [(1, True), (2.0, False), (3, False)])
def test_a_file_that_asv_can_convert_is_not_reported_as_damaged(version: Any, is_older: bool) -> None:
    """As asv wrote it in its first years: a number for a benchmark, or an object with `params` and `result`."""
    older = {"time_it": 1e-5, "time_other": {"params": [["1", "2"]], "result": [1, None]}}
    content = {key: REAL[key] for key in ("commit_hash", "date", "params", "python", "requirements")}
    with pytest.raises(BadInput) as refused:
        asv_file.entries_of(PATH, {**content, "results": older, "version": version})
    assert (refused.value.hint == asv_file.CONVERT) == is_older


def test_a_row_that_is_too_long_is_refused() -> None:
    changed = {**REAL, "results": {FORWARD: [*REAL["results"][FORWARD], *([None] * 20)]}}
    with pytest.raises(BadInput) as refused:
        asv_file.entries_of(PATH, changed)
    assert (
        refused.value.received == "results/asv/here/file.json: results.latency.ForwardLatency.time_call has 32 columns"
    )


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        asv_file.created_of(PATH, with_column(REAL, FORWARD, "started_at", 1e30))
    assert refused.value.received == "results/asv/here/file.json: started_at is 1e+30"


SMALL = {**REAL, "results": {FORWARD: REAL["results"][FORWARD]}}


def test_files_of_results_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("benchmarks.json", "here/machine.json", "here/a.json", "here/b.json", "there/c.json"):
        write(tmp_path / name, json.dumps({}))
    assert [path.name for path in asv_file.files_in(tmp_path)] == ["a.json", "b.json"], "there is no machine `there`"
    assert asv_file.files_in(tmp_path / "nowhere") == []
