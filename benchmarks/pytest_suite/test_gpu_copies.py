"""One copy between host and device on a real GPU, by way and size; without a GPU all are skipped, and say so."""

from __future__ import annotations

from typing import Any

import pytest

from asv_suite.selection import ALL_GPU_COPIES, ALL_GPU_COPY_SIZES
from pyopbench.worker.suite_api import Unsupported, describe_error, gpu_copies_of

ROUNDS = 20


@pytest.mark.parametrize("size", ALL_GPU_COPY_SIZES)
@pytest.mark.parametrize("way", ALL_GPU_COPIES)
def test_gpu_copy(benchmark: Any, way: str, size: int) -> None:
    """Time one copy of what is made anew before it, beside the clock."""
    try:
        ways = {f"{one.kind.direction}: {one.kind.name}": one for one in gpu_copies_of(size)}
    except Unsupported as error:
        pytest.skip(describe_error(error))
    make, copy = ways[way].segments()

    def run_make() -> None:
        make()

    benchmark.group = f"copies, size {size}"
    benchmark.pedantic(copy, setup=run_make, rounds=ROUNDS, warmup_rounds=2)
