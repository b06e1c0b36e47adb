"""`pipeline.json` is read as it was written, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines import BATCH, CURRENT, document
from pyopbench.model.errors import BadInput
from pyopbench.store import integrity, pipeline_file

STORED = document({CURRENT.key: 1e-4, BATCH.key: 1e-5})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / pipeline_file.FILE
    path.write_bytes(integrity.sealed(pipeline_file.as_json(STORED)))
    assert pipeline_file.read(path) == STORED
    assert len(path.read_text(encoding="utf-8").splitlines()) > len(STORED["blocks"])


def _without_key(stored: dict[str, Any]) -> None:
    stored["arrangements"] = stored["arrangements"][1:]


def _no_seconds(stored: dict[str, Any]) -> None:
    stored["blocks"][0]["seconds"] = 0


def _other_schema(stored: dict[str, Any]) -> None:
    stored["schema"] = 99


def _no_baseline(stored: dict[str, Any]) -> None:
    stored["baseline"] = "another"


def _baseline_without_blocks(stored: dict[str, Any]) -> None:
    stored["blocks"] = [row for row in stored["blocks"] if row["key"] != stored["baseline"]]


def _half_a_rate(stored: dict[str, Any]) -> None:
    stored["rates"][0]["one_process"] = None


@pytest.mark.parametrize(
    "spoil", [_without_key, _no_seconds, _other_schema, _no_baseline, _baseline_without_blocks, _half_a_rate]
)
def test_what_is_no_measurement_is_refused(tmp_path: Path, spoil: Any) -> None:
    stored = json.loads(json.dumps(STORED))
    spoil(stored)
    path = tmp_path / pipeline_file.FILE
    path.write_bytes(integrity.sealed(json.dumps(stored)))
    with pytest.raises(BadInput) as refused:
        pipeline_file.read(path)
    assert refused.value.message == f"{path} was not written by `{pipeline_file.COMMAND}`"
