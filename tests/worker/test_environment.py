"""What a measurement depends on, as far as this machine tells, and the state of GPUs by a made-up `nvidia-smi`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.worker import environment


def test_the_software_is_what_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = environment.software()
    assert found["tensorflow"] == tf.__version__
    assert found["numpy"] == np.__version__
    assert found["intra_op_threads"] == tf.config.threading.get_intra_op_parallelism_threads()
    assert found["inter_op_threads"] == tf.config.threading.get_inter_op_parallelism_threads()
    assert found["variables"]["OMP_NUM_THREADS"] == "3"
    assert json.loads(json.dumps(found)) == found


def test_a_launch_tells_its_process_and_its_machine_in_plain_data() -> None:
    found = environment.of_launch()
    assert found["pid"] == os.getpid()
    assert set(found) == {"pid", "gpus", "cpu", "cores", "memory_bytes", "governor", "os", "python"}
    assert json.loads(json.dumps(found)) == found


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
