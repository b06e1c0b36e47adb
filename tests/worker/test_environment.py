"""What a measurement depends on, as far as this machine tells.

The state of GPUs, read off a management library that is made up and compiled here: it has two of them.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model import cores
from pyopbench.worker import environment


def test_the_machine_is_told_in_plain_data() -> None:
    found = environment.machine()
    assert set(found) == {"cpu", "cores", "memory_bytes", "governor", "load", "os", "python"}
    assert json.loads(json.dumps(found)) == found


def test_a_system_that_tells_nothing_is_told_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "read_system_file", lambda path: None)
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(os, "sysconf_names", {})
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    found = environment.machine()
    assert [name for name, value in found.items() if value is None] == ["cpu", "memory_bytes", "governor", "load"]
    assert found["cores"] == os.cpu_count()


def test_the_processor_is_read_off_the_first_core(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "processor\t: 0\nmodel name\t: A: 1 GHz\n\nprocessor\t: 1\nmodel name\t: Another\n"
    monkeypatch.setattr(cores, "read_system_file", lambda path: text)
    assert environment.machine()["cpu"] == "A: 1 GHz"


def test_only_the_cores_that_may_be_used_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 7}, raising=False)
    assert environment.machine()["cores"] == 3


def test_the_software_is_what_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = environment.software()
    assert found["tensorflow"] == tf.__version__
    assert found["numpy"] == np.__version__
    assert found["intra_op_threads"] == tf.config.threading.get_intra_op_parallelism_threads()
    assert found["inter_op_threads"] == tf.config.threading.get_inter_op_parallelism_threads()
    assert found["variables"]["OMP_NUM_THREADS"] == "3"
    assert json.loads(json.dumps(found)) == found


def test_a_launch_tells_its_process_and_its_processor() -> None:
    found = environment.of_launch()
    assert found["pid"] == os.getpid()
    assert found["cpu"] == environment.machine()["cpu"]
    assert set(found) == {"pid", "load", "executable", "gil_enabled", "cpu", "gpu"}
    assert found["gpu"]["gpus"] or found["gpu"]["reason"]


SOURCE = r"""
#include <cstring>
#define API extern "C" int
typedef struct Gpu { const char* name; unsigned sm, memory; unsigned long long reasons; }* Device;
static Gpu gpus[] = {{"First", 345, 1500, 0x1}, {"Second", 1980, 3201, 0x44 | 0x10000}};
static int open = 0;
API nvmlInit_v2() { ++open; return INIT; }
API nvmlShutdown() { --open; return 0; }
API opened() { return open; }
API nvmlDeviceGetCount_v2(unsigned* count) { *count = COUNT; return 0; }
API nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) { *device = &gpus[index]; return 0; }
API nvmlDeviceGetName(Device device, char* name, unsigned length) {
  std::strncpy(name, device->name, length); return 0; }
API nvmlDeviceGetClockInfo(Device device, int kind, unsigned* mhz) {
  *mhz = kind == 1 ? device->sm : kind == 2 ? device->memory : 0; return 0; }
API nvmlDeviceGetMaxClockInfo(Device device, int kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1980 : kind == 2 ? 3201 : 0; return 0; }
API nvmlDeviceGetTemperature(Device device, int sensor, unsigned* celsius) {
  *celsius = 41 + sensor; return device == &gpus[1] ? 3 : 0; }  // 3: NVML_ERROR_NOT_SUPPORTED
API nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) { *milliwatts = 123456; return 0; }
API nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  *reasons = device->reasons; return 0; }
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Compile a library with as many GPUs, that begins with this code."""
    init, count = request.param
    compiler = next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)
    if compiler is None:
        pytest.skip("a library that is made up needs a C++ compiler")
    source, built = tmp_path / "nvml.cc", tmp_path / "nvml.so"
    source.write_text(SOURCE)
    options = [f"-DINIT={init}", f"-DCOUNT={count}", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, str(source), "-o", str(built)], check=True)
    monkeypatch.setattr(environment, "NVML_LIBRARY", str(built))
    return built


@pytest.mark.parametrize("library", [(0, 2)], indirect=True)
def test_clocks_and_what_holds_them_back_are_told_of_each_gpu(library: Path) -> None:
    found = environment.read_gpus()
    most = {"sm_mhz_most": 1980, "memory_mhz_most": 3201, "watts": 123.456}
    first = {"name": "First", "sm_mhz": 345, "memory_mhz": 1500, "celsius": 41, "held_back_by": ["idle"]}
    reasons = ["power cap", "thermal slowdown by hardware", "bits 0x10000"]
    second = {"name": "Second", "sm_mhz": 1980, "memory_mhz": 3201, "celsius": None, "held_back_by": reasons}
    assert found == {"gpus": [{**first, **most}, {**second, **most}], "reason": ""}
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("library", [(0, 1)], indirect=True)
def test_what_a_driver_does_not_have_is_not_known(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "REASON_FUNCTIONS", ("nvmlOfALaterDriver",))
    (found,) = environment.read_gpus()["gpus"]
    assert (found["held_back_by"], found["sm_mhz"]) == (None, 345)


@pytest.mark.parametrize("library", [(0, 2)], indirect=True)
def test_the_library_is_closed_as_often_as_it_is_opened(library: Path) -> None:
    import ctypes

    environment.read_gpus()
    assert ctypes.CDLL(str(library)).opened() == 0


@pytest.mark.parametrize(
    ("library", "reason"), [((9, 0), "nvmlInit_v2 returned 9"), ((0, 0), "no GPU")], indirect=["library"]
)
def test_a_driver_that_is_not_loaded_or_has_no_gpu_is_told(library: Path, reason: str) -> None:
    found = environment.read_gpus()
    assert found["gpus"] == []
    assert reason in found["reason"]


def test_a_machine_without_the_library_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "NVML_LIBRARY", "libnothing-of-that-name.so.1")
    assert environment.read_gpus() == {
        "gpus": [],
        "reason": "libnothing-of-that-name.so.1 was not found on this machine",
    }
