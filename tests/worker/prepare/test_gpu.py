"""Cases on a GPU: on the simulated device, and on a real GPU.

Nothing is timed on the simulated device: cases are only prepared there, with the rule that forbids it taken away.
"""

from __future__ import annotations

import pytest

from devices import needs_compiler, needs_gpu, needs_none
from pyopbench.model.case import Case
from pyopbench.worker.prepare.prepare import prepare
from simulated import Process

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
from pyopbench.model.errors import PyopbenchError
try:
    with tf.device("GPU:0"):
        half = tf.fill([3], 0.5)
        gpu.require_there("output", [half, tf.math.betainc(half, half, half)])
except PyopbenchError as error:
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
