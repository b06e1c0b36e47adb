"""Files of other tools: what is not whole JSON is refused with its place, and names are never acted on."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import foreign_files
from pyopbench.model.case import BASELINE, Case
from pyopbench.model.errors import BadInput
from pyopbench.stats import estimate
from pyopbench.store.foreign import common
from pyopbench.store.foreign.common import Timed, TimedRun
from pyopbench.store.measured_run import COLUMNS
from pyopbench.store.types import UNKNOWN_VARIANT

NATIVE = Case("sinh", "native", "none", "forward", "call", "float32", 1000)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ('{"results": {', "not JSON: Expecting property name enclosed in double quotes at line 1, column 14"),
        ('{"a": 1}\n{"b": 2}', "not JSON: Extra data at line 2, column 1"),
    ],
)
def test_what_is_not_whole_json_is_refused_with_its_place(tmp_path: Path, content: str, what: str) -> None:
    path = foreign_files.write(tmp_path / "results.json", content)
    with pytest.raises(BadInput) as refused:
        common.load(path)
    assert refused.value.received == f"{path}: {what}"


@pytest.mark.parametrize("content", ["[" * 200_000, "1" * 5000])
def test_json_that_python_cannot_read_is_refused(tmp_path: Path, content: str) -> None:
    path = foreign_files.write(tmp_path / "results.json", content)
    with pytest.raises(BadInput) as refused:
        common.load(path)
    assert isinstance(refused.value.__cause__, ValueError | RecursionError)


def test_what_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(b'{"a": "\xff\xfe"}')
    with pytest.raises(BadInput) as refused:
        common.load(path)
    assert refused.value.received == f"{path}: not text in UTF-8 (byte 7)"


@pytest.mark.parametrize("value", [True, None, "1", -1e-9, math.nan, math.inf, 10**400, 1e10, [1.0]])
def test_what_is_no_duration(value: object) -> None:
    assert not common.is_duration(value)


def test_names_are_shown_without_anything_that_a_terminal_acts_on() -> None:
    assert common.shown("a\x1b[31mb\x07\nc") == "a\\x1b[31mb\\x07\\x0ac"
    assert len(common.shown("x" * 10_000)) == common.LONGEST_NAME


def test_samples_become_blocks_of_one_round_because_nothing_was_interleaved() -> None:
    """So that the ratio of two cases is that of their medians, however many samples each has."""
    slow = Case("sinh", "numpy_function", "none", "forward", "call", "float32", 1000)
    timed = [
        Timed("a", NATIVE, 10, (1.0, 2.0, 9.0), has_samples=True),
        Timed("b", slow, 1, (6.0, 4.0), has_samples=True),
        Timed("c", None, 1, (1.0,), has_samples=False),
    ]
    ((cases, others),) = common.frames("asv", [TimedRun("a run", "2.21.0", timed)])
    assert list(cases.columns) == list(others.columns) == list(COLUMNS)
    assert cases["seconds"].tolist() == [10.0, 20.0, 90.0, 6.0, 4.0], "of the whole block"
    assert others["case"].tolist() == ["c"]
    (value,) = estimate.paired_logs(cases, {slow.id: NATIVE.id})["value"]
    assert math.exp(value) == pytest.approx(5.0 / 2.0)


def test_the_catalogue_tells_what_is_known_and_leaves_out_the_rest() -> None:
    stranger = Case("unheard_of", "magic", "none", "forward", "call", "float32", 7)
    found = common.catalogue_of([NATIVE, stranger])
    assert found.variants["native"].kind == "port"
    assert found.variants["magic"] == UNKNOWN_VARIANT
    assert found.ops["unheard_of"].sizes == [7]


@pytest.mark.parametrize(
    ("variants", "baseline"),
    [
        (["native", BASELINE, "numpy_function"], BASELINE),
        (["custom_op", "numpy_function", "native"], "numpy_function"),
        (["xla", "native"], "native"),
        ([], BASELINE),
    ],
)
def test_the_baseline_is_a_callback_if_there_is_one(variants: list[str], baseline: str) -> None:
    cases = [Case("sinh", variant, "none", "forward", "call", "float32", 1) for variant in variants]
    assert common.settings_of(cases).baseline == baseline
