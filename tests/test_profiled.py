"""Copies of a real GPU are read off the profiler's events; here off events that are made by hand."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from pyopbench import profiled
from pyopbench.device import Counts
from pyopbench.errors import Unsupported

xplane_pb2 = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")

needs_gpu = pytest.mark.skipif(not tf.config.list_physical_devices("GPU"), reason="TensorFlow sees no GPU here")
needs_none = pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="TensorFlow sees a GPU here")


def space(plane_name: str, *events: tuple[str, str]) -> Any:
    """Return an XSpace with one plane of events: name, and details of a copy, as text of their own or by reference."""
    whole = xplane_pb2.XSpace()
    plane = whole.planes.add(name=plane_name)
    plane.stat_metadata[1].name = profiled.DETAILS
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
    assert profiled.counts_of([one]) == Counts(2, 4008, 1, 4000, 0, 0)


def test_the_memory_of_the_host_is_that_of_its_end_of_each_copy() -> None:
    one = space(
        "/device:GPU:0",
        ("MemcpyH2D", "kind_src:pageable kind_dst:device size:4000 dest:0 async:1"),
        ("MemcpyD2D", "kind_src:device kind_dst:device size:4000 dest:0 async:1"),
        ("MemcpyD2H", "kind_src:device kind_dst:pinned size:4000 dest:0 async:1"),
        ("MemcpyD2H", "kind_src:device kind_dst:pinned size:8 dest:0 async:1"),
    )
    assert profiled.host_memory_of([one]) == ["pageable", "pinned"]
    assert profiled.host_memory_of([space("/device:GPU:0", ("MemcpyH2D", ""))]) == []


def test_what_the_host_did_is_not_counted() -> None:
    assert profiled.counts_of([space("/host:CPU", ("MemcpyH2D", "size:4000"))]) == Counts(0, 0, 0, 0, 0, 0)


def test_a_copy_without_its_size_is_no_count() -> None:
    with pytest.raises(Unsupported, match="does not say how many bytes a MemcpyD2D moved"):
        profiled.counts_of([space("/device:GPU:0", ("MemcpyD2D", "kind_src:device"))])


@needs_none
def test_without_a_gpu_nothing_is_counted_and_the_devices_are_named() -> None:
    with pytest.raises(Unsupported) as error:
        profiled.count(lambda: None)
    assert "CPU:0" in str(error.value)


@needs_gpu
def test_a_real_gpu_copies_up_and_down_once() -> None:
    with tf.device("CPU:0"):
        x = tf.random.uniform([1000])

    def there_and_back() -> Any:
        with tf.device("GPU:0"):
            return tf.identity(x).numpy()

    _, counts = profiled.count(there_and_back)
    assert (counts.to_device, counts.to_device_bytes, counts.to_host, counts.to_host_bytes) == (1, 4000, 1, 4000)
