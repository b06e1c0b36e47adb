"""A scheduler of Dask with made-up hosts in this process; `fake_shard.py` measures on them, in processes as usual."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import stored
from places import ROOT

FAKE_COMMAND = shlex.join([sys.executable, str(ROOT / "tests" / "helpers" / "fake_shard.py")])
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.scheduler.work-stealing": False,
}


def worker_of(host: str, *, measures: bool = True) -> dict[str, Any]:
    """Return the description of a worker that is told to be a host."""
    from distributed import Worker

    from pyopbench.engine.fleet.scheduler import RESOURCE

    resources = {RESOURCE: 1} if measures else {}
    return {"cls": Worker, "options": {"nthreads": 1, "resources": resources, "host": "127.0.0.1"}}


@contextmanager
def dask_hosts(*hosts: str, security: Any = None, idle: Sequence[str] = ()) -> Iterator[Any]:
    """Give a cluster whose workers are hosts of these names; `cluster.scheduler_address` is what to connect to.

    With `security` of Dask's, which holds certificates, over TLS. Those that are `idle` lack the resource.
    """
    dask = pytest.importorskip("dask", reason="Dask.distributed is not installed")
    distributed = pytest.importorskip("distributed", reason="Dask.distributed is not installed")
    from pyopbench.engine.fleet.host import NAMED

    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": None},
    }
    workers = {NAMED + host: worker_of(host, measures=host not in idle) for host in hosts}
    if security is not None:
        for one in (scheduler, *workers.values()):
            one["options"] |= {"security": security, "protocol": "tls"}
    made = {"workers": workers, "scheduler": scheduler, "silence_logs": 50, "security": security}
    with dask.config.set(QUIET), distributed.SpecCluster(**made) as cluster:
        yield cluster


def remove(cluster: Any, host: str) -> None:
    """Take a host away, as if its machine had gone."""
    from pyopbench.engine.fleet.host import NAMED

    worker = cluster.workers[NAMED + host]
    cluster.sync(worker.close, nanny=False)


def write_template(path: Path) -> Path:
    """Write what runs of `fake_shard.py` look like."""
    settings = {**stored.SETTINGS, "baseline": "py_function_numpy"}
    cases = [stored.case(variant) for variant in ("py_function_numpy", "native")]
    ended = {"kind": "ended", "launch": 1, "by": "launches", "looks": 0, "seconds": 1.0, "sampling_seconds": 1.0}
    template = {
        "run": stored.run(cases, settings=settings),
        "launch": stored.launch_line(0),
        "group": stored.group_line(0, cases),
        "ended": ended,
    }
    path.write_text(json.dumps(template), encoding="utf-8")
    return path


def variables(tmp_path: Path, **changes: str) -> dict[str, str]:
    """Return what hosts are told: where to measure, lock and write down times."""
    return {
        "PYOPBENCH_FLEET_COMMAND": FAKE_COMMAND,
        "PYOPBENCH_LOCK_FOLDER": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "FAKE_SHARD_TEMPLATE": str(write_template(tmp_path / "template.json")),
        "FAKE_SHARD_TIMES": str(tmp_path / "times"),
        **changes,
    }
