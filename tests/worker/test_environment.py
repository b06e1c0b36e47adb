"""What a measurement depends on, as far as this machine tells."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.worker import environment


def test_the_machine_is_told_in_plain_data() -> None:
    found = environment.machine()
    assert set(found) == {"cpu", "cores", "memory_bytes", "governor", "load", "os", "python"}
    assert json.loads(json.dumps(found)) == found


def test_what_is_told_is_plausible() -> None:
    found = environment.machine()
    assert found["cpu"] is None or found["cpu"].strip()
    assert 1 <= found["cores"] <= (os.cpu_count() or 1)
    assert found["memory_bytes"] is None or 2**28 < found["memory_bytes"] < 2**50
    assert found["load"] is None or (len(found["load"]) == 3 and min(found["load"]) >= 0)
    assert platform.system() in found["os"]
    assert found["python"] == platform.python_version()


def test_no_host_or_user_name_is_told() -> None:
    told = json.dumps([environment.machine(), environment.software(), environment.of_launch()])
    assert platform.node() not in told or len(platform.node()) < 4
    assert str(Path.home()) not in told or str(Path.home()) == "/"


def test_a_system_that_tells_nothing_is_told_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_read", lambda path: None)
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(os, "sysconf_names", {})
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    found = environment.machine()
    assert [name for name, value in found.items() if value is None] == ["cpu", "memory_bytes", "governor", "load"]
    assert found["cores"] == os.cpu_count()


def test_the_processor_is_read_off_the_first_core(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "processor\t: 0\nmodel name\t: A: 1 GHz\n\nprocessor\t: 1\nmodel name\t: Another\n"
    monkeypatch.setattr(environment, "_read", lambda path: text)
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
    assert set(found) == {"pid", "load", "executable", "cpu", "gpu"}
    assert found["gpu"]["gpus"] or found["gpu"]["reason"]
