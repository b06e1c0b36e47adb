"""Copies to and from a GPU, made on the simulated device: each is one copy its way. Times are of a clock made up.

Nothing is timed on the simulated device; on a real GPU, where there is one, the whole is run.
"""

from __future__ import annotations

import numpy as np
import pytest

from devices import needs_compiler, needs_gpu, needs_none
from pyopbench.model.errors import Unsupported
from pyopbench.worker import gpu_copies
from pyopbench.worker.gpu_copies import GpuCopy, PreparedCopy
from simulated import Process


class Clock:
    """Time goes on only where it is spent."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds


@needs_compiler
def test_every_way_copies_once_and_all_of_it_each_time_it_is_made_anew(simulated: Process) -> None:
    """1,000 float32 are 4,000 bytes; the second copy is no warmer than the first, and making it is no part of it."""
    told = simulated.run("""
from pyopbench.worker import gpu_copies
found = []
for prepared in gpu_copies.prepared_copies(1000):
    make, copy = prepared.segments()
    for _ in range(2):
        make()
        result, counts = count(copy)
    found.append([prepared.kind.name, prepared.kind.direction, counts["to_device"], counts["to_device_bytes"],
                  counts["to_host"], counts["to_host_bytes"], bool((np.asarray(result) == 1).all())])
print(json.dumps(found))
""")
    up, down = [1, 4000, 0, 0, True], [0, 0, 1, 4000, True]
    assert [one[1:] for one in told] == [[gpu_copies.TO_DEVICE, *up]] * 3 + [[gpu_copies.TO_HOST, *down]] * 3
    assert len({tuple(one[:2]) for one in told}) == 6


def test_only_the_copy_is_timed() -> None:
    clock, array = Clock(), np.ones(10, np.float32)

    def copy(made: str) -> str:
        clock.spend(0.25)
        return made

    copies = [
        GpuCopy(made, gpu_copies.TO_DEVICE, lambda array, there, made=made: clock.spend(100) or made, copy)
        for made in "ab"
    ]
    rows = gpu_copies.rows_of([PreparedCopy(one, array, None) for one in copies], clock)
    known = {"direction": gpu_copies.TO_DEVICE, "bytes": 40, "seconds": 0.25}
    assert rows == [{"way": way, **known} for way in "ab"]


@needs_none
def test_without_a_gpu_nothing_is_measured_and_the_devices_are_named() -> None:
    with pytest.raises(Unsupported) as error:
        gpu_copies.measure({}, lambda event: None)
    assert "CPU:0" in str(error.value)


@pytest.mark.measures
@needs_gpu
def test_on_a_gpu_every_way_has_a_time() -> None:
    found = gpu_copies.measure({}, lambda event: None)
    assert len(found["rows"]) == len(gpu_copies.SIZES) * 6
    assert all(row["seconds"] > 0 for row in found["rows"])
