"""What `pyopbench run --threads` keeps is read whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.model.case import BASELINE
from pyopbench.model.errors import BadInput
from pyopbench.store import threads_file
from thread_calls import document


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = document({BASELINE: {1: 10.0}})
    threads_file.write(tmp_path / threads_file.FILE, made)
    assert threads_file.read(tmp_path / threads_file.FILE) == made


def test_a_block_of_a_case_that_is_not_among_them_is_refused(tmp_path: Path) -> None:
    made = document({BASELINE: {1: 10.0}})
    threads_file.write(tmp_path / threads_file.FILE, {**made, "cases": []})
    with pytest.raises(BadInput):
        threads_file.read(tmp_path / threads_file.FILE)
