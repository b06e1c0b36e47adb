"""Copies of a few calls: on the simulated device, worked out by hand, from events made by hand, and on a real GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

from devices import needs_compiler, needs_gpu, needs_none
from pyopbench.engine.worker_process import Worker
from pyopbench.model.case import SIMULATED, Case
from pyopbench.model.errors import Unsupported
from pyopbench.ops.kernels.simulated_device import Counts
from pyopbench.worker import copies
from simulated import Process

TIMEOUT_SECONDS = 300.0

NONE, ONE = [0, 0], [1, 40]
"""Copies and bytes; an array of ten float32 is 40 bytes."""


@pytest.fixture(scope="module")
def worker(kernels: object) -> Iterator[Worker]:
    with Worker(TIMEOUT_SECONDS) as one:
        answer = one.ask({"do": "device", "placement": SIMULATED})
        if answer["reason"]:
            pytest.skip(f"no simulated device: {answer['reason']}")
        yield one


def count(worker: Worker, variant: str, *, op: str = "identity", mode: str = "call") -> dict[tuple[str, str], Any]:
    """Return copies up and down, with bytes, by where inputs are and where the result is used."""
    case = Case(op, variant, "none", "forward", mode, "float32", 10, SIMULATED)
    answer = worker.ask({"do": "count_copies", "case": case.id})
    assert "failure" not in answer, answer
    return {(row["inputs"], row["result"]): (row["to_device"], row["to_host"]) for row in answer["rows"]}


@needs_compiler
@pytest.mark.parametrize("mode", ["eager", "call"])
@pytest.mark.parametrize("variant", ["native", "custom_op"])
def test_a_kernel_copies_only_what_is_elsewhere(worker: Worker, variant: str, mode: str) -> None:
    """It computes on the device: up what comes from the host, down what is used there, and nothing else."""
    for (inputs, result), ways in count(worker, variant, op="sinh", mode=mode).items():
        assert ways == (ONE if inputs == "host" else NONE, ONE if result == "host" else NONE)


@needs_compiler
def test_a_callback_takes_inputs_down_and_its_result_is_left_on_the_device(worker: Worker) -> None:
    """Where nothing is pinned, TensorFlow has the result on the device, also if everything else is on the host."""
    two = [2, 80]
    ways = count(worker, "numpy_function")
    assert ways == {
        ("host", "host"): (ONE, ONE),
        ("host", "device"): (ONE, NONE),
        ("device", "host"): (ONE, two),
        ("device", "device"): (ONE, ONE),
    }


@needs_compiler
def test_a_wrong_result_is_a_failure_and_not_a_count(worker: Worker) -> None:
    case = Case("identity", "no_such_variant", "none", "forward", "call", "float32", 10, SIMULATED)
    assert worker.ask({"do": "count_copies", "case": case.id})["failure"]["status"] == "raised"


def space(plane_name: str, *events: tuple[str, str]) -> Any:
    """Return an XSpace with one plane of events: name, and details of a copy, as text of their own or by reference."""
    xplane_pb2 = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")
    whole = xplane_pb2.XSpace()
    plane = whole.planes.add(name=plane_name)
    plane.stat_metadata[1].name = copies.DETAILS
    line = plane.lines.add(name="Stream #13")
    for number, (name, details) in enumerate(events, start=1):
        plane.event_metadata[number].name = name
        event = line.events.add(metadata_id=number)
        stat = event.stats.add(metadata_id=1)
        if number % 2:
            stat.str_value = details
        else:
            plane.stat_metadata[100 + number].name = details
            stat.ref_value = 100 + number
    return whole


def test_copies_and_their_bytes_are_counted_each_way() -> None:
    one = space(
        "/device:GPU:0",
        ("MemcpyH2D", "kind_src:pageable kind_dst:device size:4000 dest:0 async:1"),
        ("MemcpyH2D", "kind_src:pinned kind_dst:device size:8 dest:0 async:1"),
        ("MemcpyD2H", "kind_src:device kind_dst:pageable size:4000 dest:0 async:1"),
        ("sinh_kernel", "size:1"),
    )
    assert copies.counts_of([one]) == Counts(2, 4008, 1, 4000)


def test_what_the_host_did_is_not_counted() -> None:
    assert copies.counts_of([space("/host:CPU", ("MemcpyH2D", "size:4000"))]) == Counts(0, 0, 0, 0)


@needs_compiler
def test_every_way_to_copy_copies_once_each_time_it_is_made_anew(simulated: Process) -> None:
    """1,000 float32 are 4,000 bytes; the second copy is no warmer than the first, and making it is no part of it."""
    found = simulated.run("""
from pyopbench.worker.copies import ways_of
found = []
for (direction, way), (make, copy) in ways_of(1000).items():
    for _ in range(2):
        make()
        result, counts = count(copy)
    found.append([direction, counts["to_device"], counts["to_device_bytes"], counts["to_host"],
                  counts["to_host_bytes"], bool((np.asarray(result) == 1).all())])
print(json.dumps(found))
""")
    up, down = ["to the device", 1, 4000, 0, 0, True], ["to the host", 0, 0, 1, 4000, True]
    assert found == [up, up, down, down]


@needs_none
def test_without_a_gpu_nothing_is_counted_or_timed_and_the_devices_are_named() -> None:
    answer = copies.open_device({"placement": "gpu"}, lambda event: None)
    assert answer["reason"]
    assert "CPU:0" in answer["devices"]
    with pytest.raises(Unsupported):
        copies.measure_copies({}, lambda event: None)


@pytest.mark.measures
@needs_gpu
def test_on_a_gpu_every_way_has_a_time() -> None:
    rows = copies.measure_copies({}, lambda event: None)["rows"]
    assert len(rows) == len(copies.SIZES) * 4
    assert all(row["seconds"] > 0 for row in rows)


@needs_gpu
def test_a_real_gpu_copies_up_and_down_once() -> None:
    with tf.device("CPU:0"):
        x = tf.random.uniform([1000])

    def there_and_back() -> Any:
        with tf.device("GPU:0"):
            return tf.identity(x).numpy()

    _, counts = copies.counter_of("gpu")(there_and_back)
    assert (counts.to_device, counts.to_device_bytes, counts.to_host, counts.to_host_bytes) == (1, 4000, 1, 4000)
