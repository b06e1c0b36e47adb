"""Cases on a GPU: where they land, on the simulated device; that of a real one, where there is one.

Nothing is timed on the simulated device: cases are only prepared there, with the rule that forbids it taken away.
"""

from __future__ import annotations

import pytest

from pyopbench.errors import Elsewhere
from pyopbench.model import Case
from pyopbench.prepare import prepare
from simulated import Process
from test_device import needs_compiler
from test_profiled import needs_gpu, needs_none

CASE = Case("sinh", "native", "none", "forward", "call", "float32", 10, "gpu")

BEGIN = """
from dataclasses import replace
from unittest import mock
from pyopbench import accelerated, prepare
from pyopbench.model import Case
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
names = [("native", "autodiff"), ("py_function", "tape"), ("numpy_function", "custom_gradient")]
forward = [replace(case, variant=name, mode=mode) for name, _ in names for mode in ("call", "eager")]
both = [replace(one, direction="forward_backward", gradient=dict(names)[one.variant]) for one in forward]
print(json.dumps([landing(one) for one in (*forward, *both)]))
"""
    )
    assert told == [[[True], True]] * 12


@needs_compiler
def test_a_port_that_falls_back_to_the_cpu_has_no_number(simulated: Process) -> None:
    """Betainc has no kernel on the simulated device."""
    told = simulated.run(
        BEGIN
        + """
from pyopbench.errors import Elsewhere
try:
    with tf.device("GPU:0"):
        half = tf.fill([3], 0.5)
        accelerated.require_there("output", [half, tf.math.betainc(half, half, half)])
except Elsewhere as error:
    print(json.dumps(error.what))
"""
    )
    assert "output 1 is on the CPU" in told


@needs_none
def test_without_a_gpu_a_case_on_one_is_refused() -> None:
    with pytest.raises(Exception, match="TensorFlow sees no GPU"):
        prepare(CASE)


@needs_gpu
def test_a_case_on_a_real_gpu_is_prepared_there() -> None:
    prepared = prepare(CASE)
    assert "GPU" in prepared.segments[0]().backing_device


def test_landing_elsewhere_is_an_error_of_its_own() -> None:
    assert Elsewhere("x").exit_code == 2
