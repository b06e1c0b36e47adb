"""What a measurement depends on, as far as this machine tells, and the state of GPUs by a made-up `nvidia-smi`."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model import machine
from pyopbench.worker import environment


def test_the_machine_is_told_in_plain_data() -> None:
    found = environment.machine()
    assert set(found) == {"cpu", "cores", "memory_bytes", "governor", "load", "os", "python"}
    assert json.loads(json.dumps(found)) == found


def test_a_system_that_tells_nothing_is_told_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "read_system_file", lambda path: None)
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(os, "sysconf_names", {})
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    found = environment.machine()
    assert [name for name, value in found.items() if value is None] == ["cpu", "memory_bytes", "governor", "load"]
    assert found["cores"] == os.cpu_count()


def test_the_processor_is_read_off_the_first_core(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "processor\t: 0\nmodel name\t: A: 1 GHz\n\nprocessor\t: 1\nmodel name\t: Another\n"
    monkeypatch.setattr(machine, "read_system_file", lambda path: text)
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
    assert set(found) == {"pid", "load", "gil_enabled", "cpu", "gpus"}


THREE_GPUS = """First, 0x0000000000000001
Second, 0x0000000000000044
Third, [N/A]
"""


def fake_nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, output: str, code: int = 0) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<END\n{output}END\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_what_holds_its_clocks_back_is_read_of_each_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_nvidia_smi(tmp_path, monkeypatch, THREE_GPUS)
    held = {"First": [], "Second": ["power cap", "thermal slowdown by hardware"], "Third": None}
    gpus = [{"name": name, "held_back_by": reasons} for name, reasons in held.items()]
    assert environment.read_gpus() == gpus


@pytest.mark.parametrize(("output", "code"), [("", 0), ("No devices\n", 6)])
def test_without_a_gpu_there_is_no_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, code: int
) -> None:
    fake_nvidia_smi(tmp_path, monkeypatch, output, code)
    assert environment.read_gpus() == []


def test_without_the_program_there_is_no_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.read_gpus() == []
