"""What Dask's worker calls on a host of a fleet: functions from bytes to bytes. No TensorFlow is imported here."""

from __future__ import annotations

import shutil
import threading
from importlib.util import find_spec
from typing import Any

from pyopbench.engine.fleet import host_shard, messages
from pyopbench.engine.fleet.facts import Dask, facts_of
from pyopbench.engine.fleet.messages import KeptShards, Question, Request
from pyopbench.model import cache_folder
from pyopbench.model.host import host_name

NAMED = "pyopbench-host="
"""A worker of Dask whose name begins so is the host whose name follows: several can then be on one machine."""

_running: dict[str, host_shard.Running] = {}
"""What is being measured in this process, by host."""
_changing = threading.Lock()


def measure_shard(content: bytes) -> bytes:
    """Measure a shard, or hand over what is measured of it already: a `Request` in bytes to a `Delivery` in bytes."""
    from distributed import get_worker

    request = messages.read(content, Request, "a shard to measure")
    host = host_of(get_worker())
    running = host_shard.Running(request.fleet)
    with _changing:
        _running[host] = running
    try:
        return messages.packed(host_shard.measure(request, host, running))
    finally:
        with _changing:
            if _running.get(host) is running:
                del _running[host]


def describe(content: bytes, dask_worker: Any = None) -> bytes:
    """Return the `Facts` of this host in bytes; what is asked of it is nothing."""
    folder = cache_folder.folder_of("fleet")
    return messages.packed(facts_of(host_of(dask_worker), folder, switched_on(dask_worker)))


def kept_shards(content: bytes, dask_worker: Any = None) -> bytes:
    """Return the `KeptShards` of a fleet that are here, in bytes; a `Question` in bytes."""
    question = messages.read(content, Question, "a question about a fleet")
    host = host_of(dask_worker)
    finished, begun = host_shard.kept_in(host_shard.folder_of(question.fleet, host))
    return messages.packed(KeptShards(host=host, shards=finished, begun=begun))


def forget(content: bytes, dask_worker: Any = None) -> bytes:
    """Remove what is kept here of shards that the client has, or of the whole fleet if none is named."""
    question = messages.read(content, Question, "a question about a fleet")
    folder = host_shard.folder_of(question.fleet, host_of(dask_worker))
    for gone in [folder / str(shard) for shard in question.shards] or [folder]:
        shutil.rmtree(gone, ignore_errors=True)
    return b""


def stop(content: bytes, dask_worker: Any = None) -> bytes:
    """Stop measuring for a fleet; what is finished stays, and what is not can be continued."""
    question = messages.read(content, Question, "a question about a fleet")
    with _changing:
        running = _running.get(host_of(dask_worker))
        if running is not None and running.fleet == question.fleet:
            running.stopped.set()
    return b""


def host_of(worker: Any) -> str:
    """Return the name of the host that a worker of Dask is on."""
    name = getattr(worker, "name", None)
    if isinstance(name, str) and name.startswith(NAMED):
        return name.removeprefix(NAMED)
    return host_name()


def switched_on(worker: Any) -> Dask:
    """Return what of Dask's own looks into this process again and again, and so disturbs what is measured beside it."""
    import dask

    on: Dask = []
    if "profile" in getattr(worker, "periodic_callbacks", {}):
        on.append("profiler")
    # Without gilknocker Dask has no such monitor, whatever its settings say.
    if dask.config.get("distributed.admin.system-monitor.gil.enabled", False) and find_spec("gilknocker"):
        on.append("GIL monitor")
    return on
