"""What a measurement depends on besides the code: machine, TensorFlow, threads, load, GPUs. For the launch record."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Any

from pyopbench.model.machine import describe

NVIDIA_SMI_SECONDS = 30.0

REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal slowdown by software",
    0x40: "thermal slowdown by hardware",
    0x80: "power brake",
}
"""Bits of what makes the same work slower than it was (NVML API reference, NvmlClocksThrottleReasons); the others are
set by somebody, or idleness."""


def read_gpus() -> list[dict[str, Any]]:
    """Return `name` and `held_back_by` of every GPU of the machine; not to be called while something is timed.

    `held_back_by` has words of `REASONS`; it is None where a GPU does not report it.
    """
    command = ["nvidia-smi", "--query-gpu=name,clocks_throttle_reasons.active", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=NVIDIA_SMI_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return []
    return [_gpu(line) for line in answer.stdout.splitlines() if line.strip()]


def _gpu(line: str) -> dict[str, Any]:
    name, reasons = (value.strip() for value in line.split(","))
    if not reasons.startswith("0x"):  # it is `[N/A]` where a GPU does not report it
        return {"name": name, "held_back_by": None}
    bits = int(reasons, 16)
    return {"name": name, "held_back_by": [word for bit, word in REASONS.items() if bits & bit]}


THREAD_VARIABLES = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS")


def software() -> dict[str, Any]:
    """Return versions, build and threads of the TensorFlow and NumPy that this process has imported."""
    import numpy as np
    import tensorflow as tf

    build: Mapping[str, Any] = tf.sysconfig.get_build_info()
    return {
        "numpy": np.__version__,
        "tensorflow": tf.__version__,
        "tensorflow_git": tf.version.GIT_VERSION,
        "tensorflow_build": {key: str(build[key]) for key in sorted(build)},
        "intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads(),
        "variables": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
    }


def of_launch() -> dict[str, Any]:
    """Return process, GPUs and, because a run may be resumed elsewhere, the machine."""
    return {"pid": os.getpid(), "gpus": read_gpus(), **describe()}
