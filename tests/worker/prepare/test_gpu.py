"""Cases on a GPU, and their copies: on the simulated device, off events that are made by hand, and on a real GPU.

Nothing is timed on the simulated device: cases are only prepared there, with the rule that forbids it taken away.
"""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from devices import needs_compiler, needs_gpu, needs_none
from pyopbench.model.case import Case
from pyopbench.model.errors import Unsupported
from pyopbench.ops.kernels.simulated_device import Counts
from pyopbench.worker.prepare import gpu
from pyopbench.worker.prepare.prepare import prepare
from simulated import Process


def space(plane_name: str, *events: tuple[str, str]) -> Any:
    """Return an XSpace with one plane of events: name, and details of a copy, as text of their own or by reference."""
    xplane_pb2 = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")
    whole = xplane_pb2.XSpace()
    plane = whole.planes.add(name=plane_name)
    plane.stat_metadata[1].name = gpu.DETAILS
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
    assert gpu.counts_of([one]) == Counts(2, 4008, 1, 4000, 0, 0)


def test_what_the_host_did_is_not_counted() -> None:
    assert gpu.counts_of([space("/host:CPU", ("MemcpyH2D", "size:4000"))]) == Counts(0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("seen", [(), ("MemcpyH2D",), ("MemcpyD2H",)])
def test_a_profiler_that_does_not_report_known_copies_counts_nothing(
    seen: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without CUPTI a call would seem to copy nothing."""
    details = "kind_src:pageable kind_dst:device size:4000 dest:0 async:1"
    monkeypatch.setattr(gpu, "require_gpu", lambda: None)
    monkeypatch.setattr(gpu, "_recorded", lambda call: (7, [space("/device:GPU:0", *((one, details) for one in seen))]))
    gpu._require_events.cache_clear()
    with pytest.raises(Unsupported):
        gpu.count_copies(lambda: None)


def test_a_profiler_that_reports_known_copies_is_asked_once_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    details = "kind_src:pageable kind_dst:device size:4000 dest:0 async:1"
    events = space("/device:GPU:0", ("MemcpyH2D", details), ("MemcpyD2H", details))
    asked: list[Any] = []
    monkeypatch.setattr(gpu, "require_gpu", lambda: None)
    monkeypatch.setattr(gpu, "_recorded", lambda call: (asked.append(call) or len(asked), [events]))
    gpu._require_events.cache_clear()
    try:
        assert [gpu.count_copies(lambda: None) for _ in range(2)] == [
            (number, Counts(1, 4000, 1, 4000, 0, 0)) for number in (2, 3)
        ]
    finally:
        gpu._require_events.cache_clear()


@needs_none
def test_without_a_gpu_nothing_is_counted_and_the_devices_are_named() -> None:
    with pytest.raises(Unsupported) as error:
        gpu.count_copies(lambda: None)
    assert "CPU:0" in str(error.value)


@needs_gpu
def test_a_real_gpu_copies_up_and_down_once() -> None:
    with tf.device("CPU:0"):
        x = tf.random.uniform([1000])

    def there_and_back() -> Any:
        with tf.device("GPU:0"):
            return tf.identity(x).numpy()

    _, counts = gpu.count_copies(there_and_back)
    assert (counts.to_device, counts.to_device_bytes, counts.to_host, counts.to_host_bytes) == (1, 4000, 1, 4000)


CASE = Case("sinh", "native", "none", "forward", "call", "float32", 10, "gpu")

BEGIN = """
from dataclasses import replace
from unittest import mock
from pyopbench.worker.prepare import gpu, prepare
from pyopbench.model.case import Case
case = Case("sinh", "native", "none", "forward", "call", "float32", 10, "gpu")
def landing(case):
    with mock.patch.object(prepare, "is_simulated", lambda: False):
        prepared = prepare.prepare(case)
    outputs = [segment() for segment in prepared.segments]
    tensors = [outputs[-1]] if case.direction == "forward" else outputs[-1]
    return [device.is_on_device(tensor) for tensor in tensors], prepared.checked.values < 1e-5
"""


@needs_compiler
def test_ports_and_callbacks_land_on_the_device_forward_and_backward_in_both_modes(simulated: Process) -> None:
    told = simulated.run(
        BEGIN
        + """
names = [("native", "autodiff"), ("py_function", "tape"), ("numpy_function", "custom_gradient"),
         ("py_function_numpy", "custom_gradient")]
forward = [replace(case, variant=name, mode=mode) for name, _ in names for mode in ("call", "eager")]
both = [replace(one, direction="forward_backward", gradient=dict(names)[one.variant]) for one in forward]
print(json.dumps([landing(one) for one in (*forward, *both)]))
"""
    )
    assert told == [[[True], True]] * 16


@needs_compiler
def test_a_gradient_that_stays_on_the_host_is_brought_and_no_other_one(simulated: Process) -> None:
    """No callback leaves one there on the simulated device, as eager ones do on a GPU."""
    told = simulated.run(
        BEGIN
        + """
with tf.device("CPU:0"):
    here = tf.constant([1.0, 2.0])
with tf.device("GPU:0"):
    there = tf.constant([3.0])
brought, same, none = gpu.with_gradients_on_gpu(lambda: [here, there, None])()
print(json.dumps([device.is_on_device(here), device.is_on_device(brought), brought.numpy().tolist(), same is there,
                  none is None]))
"""
    )
    assert told == [False, True, [1.0, 2.0], True, True]


@needs_compiler
def test_a_port_that_falls_back_to_the_cpu_has_no_number(simulated: Process) -> None:
    """Betainc has no kernel on the simulated device."""
    told = simulated.run(
        BEGIN
        + """
from pyopbench.model.errors import Elsewhere
try:
    with tf.device("GPU:0"):
        half = tf.fill([3], 0.5)
        gpu.require_there("output", [half, tf.math.betainc(half, half, half)])
except Elsewhere as error:
    print(json.dumps(error.message))
"""
    )
    assert told == "output 1 is on the CPU: TensorFlow has no GPU kernel for it"


@needs_none
def test_without_a_gpu_a_case_on_one_is_refused() -> None:
    with pytest.raises(Exception, match="TensorFlow sees no GPU"):
        prepare(CASE)


@needs_gpu
def test_a_case_on_a_real_gpu_is_prepared_there() -> None:
    prepared = prepare(CASE)
    assert "GPU" in prepared.segments[0]().backing_device
