"""The simulated device: that it counts each copy once, where ops run, and that nothing is timed beside it.

A plug-in stays for the life of a process: tests of how it is loaded have each their own, the others share one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import tensorflow as tf

from devices import needs_compiler
from places import ROOT
from pyopbench.ops.kernels import simulated_device
from simulated import Process

pytestmark = needs_compiler


def test_tensorflow_with_cuda_has_kernels_of_its_own_and_cannot_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_cuda_build in (True, False):
        monkeypatch.setattr(tf.sysconfig, "get_build_info", lambda told=is_cuda_build: {"is_cuda_build": told})
        assert bool(simulated_device.why_not()) is is_cuda_build


def run(code: str) -> Any:
    """Run code in a process of its own and return what it printed last, as JSON."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_each_copy_is_counted_once_with_its_bytes_and_arrives_whole(simulated: Process) -> None:
    """1,000 float32 are 4,000 bytes: one copy up, one down."""
    told = simulated.run("""
array = np.arange(1000, dtype=np.float32)
with tf.device("CPU:0"):
    x = tf.constant(array)
def up():
    with tf.device("GPU:0"):
        return tf.identity(x)
y, first = count(up)
_, again = count(up)
back, down = count(lambda: y.numpy())
print(json.dumps([first, again, down, y.backing_device[-5:], bool((back == array).all())]))
""")
    first, again, down, place, same = told
    nothing = {"to_device": 0, "to_device_bytes": 0, "to_host": 0, "to_host_bytes": 0}
    assert first == {**nothing, "to_device": 1, "to_device_bytes": 4000}
    assert again == nothing, "the eager tensor has kept its copy"
    assert down == {**nothing, "to_host": 1, "to_host_bytes": 4000}
    assert place == "GPU:0"
    assert same


def test_an_op_with_a_borrowed_kernel_stays_on_the_device_and_one_without_goes_to_the_host(simulated: Process) -> None:
    """Sinh is among those that simulated_kernels.cc lists, Betainc is not."""
    told = simulated.run("""
with tf.device("GPU:0"):
    x = tf.constant(np.full(10, 0.5, np.float32))
    sinh, stays = count(lambda: tf.sinh(x))
    betainc, goes = count(lambda: tf.math.betainc(x, x, x))
print(json.dumps([stays["to_host"], sinh.backing_device[-5:], goes["to_host"], betainc.backing_device[-5:],
                  float(abs(sinh.numpy() - np.sinh(np.float32(0.5))).max())]))
""")
    assert told[:4] == [0, "GPU:0", 1, "CPU:0"]
    assert told[4] < 1e-6


def test_nothing_is_timed_in_a_process_that_has_it(simulated: Process) -> None:
    told = simulated.run("""
from pyopbench.model.errors import Unsupported
from pyopbench.model.case import Case
from pyopbench.worker.prepare.prepare import prepare
try:
    prepare(Case("sinh", "native", "none", "forward", "call", "float32", 10))
except Unsupported as error:
    print(json.dumps(error.message))
""")
    assert told == "nothing is timed in a process with the simulated device"


def test_it_comes_before_tensorflow_looks_for_devices_or_not_at_all() -> None:
    if simulated_device.why_not():
        pytest.skip(simulated_device.why_not())
    message, count = run("""
import json, tensorflow as tf
from pyopbench.ops.kernels import simulated_device
from pyopbench.model.errors import Unsupported
tf.constant(1.0)
try:
    simulated_device.simulate()
except Unsupported as error:
    print(json.dumps([error.message, len(tf.config.list_physical_devices("GPU"))]))
""")
    assert message == "the simulated device has to be loaded before TensorFlow looks for devices"
    assert count == 0
