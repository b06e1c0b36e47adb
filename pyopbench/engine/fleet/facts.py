"""What a host of a fleet is, what it lacks, and which hosts are alike.

A host is asked while others may be measuring on it, so TensorFlow is not started for it, and no program that takes
longer than a compiler takes to say its version.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import pyopbench
from pyopbench.engine import environments, git, host_lock
from pyopbench.model import cores
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.side import Environment
from pyopbench.store.fleet_findings import HostProblem

TENSORFLOWS = ("tensorflow-cpu", "tensorflow", "tensorflow-intel", "tensorflow-macos")
"""Under which names TensorFlow is installed."""
VERSION_SECONDS = 5.0
"""Longest wait for a program to say its version."""
GPUS = Path("/proc/driver/nvidia/gpus")
MODEL = "Model:"

GIB = 2**30
LEAST_FREE_BYTES = 2 * GIB
"""Of the disk of the cache: environments of TensorFlow take about 3 GB, shards some megabytes."""
MOST_OFFSET_SECONDS = 1.0
"""By which a clock may be off: results have the times at which they were begun."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a host is, as far as it is known without starting TensorFlow.

    Attributes:
        host: its name.
        now: its clock, in seconds since 1970.
        cpu: the processor; None where the system does not say, as below.
        cores: that a process may use.
        memory_bytes: of the machine.
        governor: of the frequency of the processor.
        os: operating system.
        python: version.
        pyopbench: version.
        commit: of the checkout that pyopbench runs from.
        tensorflow: version that is installed beside pyopbench.
        environments: versions of TensorFlow that there are environments of.
        compiler: that kernels are compiled with.
        cuda_compiler: that CUDA kernels are compiled with.
        gpus: names of GPUs.
        free_bytes: of the disk that shards are measured into.
        is_measuring: whether somebody holds the lock of the host.
        lock: why the lock cannot be used; empty if it can.
        dask: what of Dask's own is on that runs beside a measurement: `profiler`, `GIL monitor`.
    """

    host: str
    now: float
    cpu: str | None
    cores: int
    memory_bytes: int | None
    governor: str | None
    os: str
    python: str
    pyopbench: str
    commit: str | None
    tensorflow: str | None
    environments: tuple[str, ...]
    compiler: str | None
    cuda_compiler: str | None
    gpus: tuple[str, ...]
    free_bytes: int | None
    is_measuring: bool | None
    lock: str
    dask: tuple[str, ...]


@dataclass(frozen=True)
class Host:
    """A worker of a scheduler, as it was found.

    Attributes:
        address: of the worker.
        facts: what it is; None if it does not answer.
        has_resource: may it be given shards?
        offset_seconds: by which its clock is ahead of this machine's.
        error_seconds: by how much that may be wrong: half of what the question took.
    """

    address: str
    facts: Facts | None
    has_resource: bool = True
    offset_seconds: float = 0.0
    error_seconds: float = 0.0

    @property
    def name(self) -> str:
        """The name of the host; the address of one that does not answer."""
        return self.address if self.facts is None else self.facts.host

    @property
    def unfit(self) -> str:
        """Why it is given no shards; empty if it may have some."""
        if self.facts is None:
            return "it does not answer"
        return other_pyopbench(self.facts) or ("" if self.has_resource else "no resource measure=1")


def other_pyopbench(facts: Facts) -> str:
    """Return what pyopbench a host has if it is another one than here; results of two could not be put together."""
    here = (pyopbench.__version__, git.ask(PACKAGE, "rev-parse", "HEAD"))
    there = (facts.pyopbench, facts.commit)
    return "" if here == there else f"pyopbench {' '.join(filter(None, there))}, here {' '.join(filter(None, here))}"


def problems_of(host: Host) -> list[HostProblem]:
    """Return what a host lacks, or what is to be known before it measures."""
    name, facts, offset = host.name, host.facts, host.offset_seconds
    if facts is None:
        return [HostProblem(name, "silent")]
    other = other_pyopbench(facts)
    found = [
        (not host.has_resource, HostProblem(name, "resource")),
        (bool(other), HostProblem(name, "version", other)),
        (not facts.tensorflow and not facts.environments, HostProblem(name, "tensorflow")),
        (facts.compiler is None, HostProblem(name, "compiler")),
        (bool(facts.lock), HostProblem(name, "lock", facts.lock)),
        (facts.free_bytes is not None and facts.free_bytes < LEAST_FREE_BYTES, HostProblem(name, "disk")),
        (abs(offset) - host.error_seconds > MOST_OFFSET_SECONDS, HostProblem(name, "clock", seconds=offset)),
        (bool(facts.dask), HostProblem(name, "dask", " and ".join(facts.dask))),
        (bool(facts.is_measuring), HostProblem(name, "measuring")),
    ]
    return [problem for is_so, problem in found if is_so]


def kinds_of(hosts: Iterable[Host]) -> list[list[str]]:
    """Return the names of hosts that are alike in all that a time depends on, most of them first."""
    found: dict[object, list[str]] = defaultdict(list)
    for host in hosts:
        if host.facts is not None:
            found[_kind(host.facts)].append(host.name)
    return sorted(found.values(), key=lambda names: (-len(names), names))


def _kind(facts: Facts) -> tuple[object, ...]:
    memory = None if facts.memory_bytes is None else round(facts.memory_bytes / GIB)
    machine = (facts.cpu, facts.cores, memory, facts.governor, facts.gpus)
    return (*machine, facts.tensorflow, facts.compiler, facts.cuda_compiler)


def facts_of(host: str, folder: Path, dask: Sequence[str]) -> Facts:
    """Return what this machine is.

    Args:
        host: its name.
        folder: that shards are measured into.
        dask: what of Dask's own is on.
    """
    is_measuring, lock = _lock(host)
    return Facts(
        host=host,
        now=time.time(),
        **cores.machine(),
        pyopbench=pyopbench.__version__,
        commit=git.ask(PACKAGE, "rev-parse", "HEAD"),
        tensorflow=_tensorflow(),
        environments=tuple(_environments()),
        compiler=version_of("g++"),
        cuda_compiler=version_of("nvcc"),
        gpus=tuple(_gpus()),
        free_bytes=_free_bytes(folder),
        is_measuring=is_measuring,
        lock=lock,
        dask=tuple(dask),
    )


def _lock(host: str) -> tuple[bool | None, str]:
    try:
        return not host_lock.is_free(host), ""
    except BadInput as error:
        return None, error.in_a_line


def _tensorflow() -> str | None:
    found = (next(iter(metadata.distributions(name=name)), None) for name in TENSORFLOWS)
    return next((one.version for one in found if one is not None), None)


def _environments() -> list[str]:
    versions = environments.available()
    missing = {one.tf for one in environments.missing(map(Environment, versions))}
    return [version for version in versions if version not in missing]


@cache
def version_of(program: str) -> str | None:
    """Return the first line in which a program says its version that has a number; None if it is not there."""
    found = shutil.which(program)
    if found is None:
        return None
    try:
        done = subprocess.run(
            [found, "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = [line.strip()[:100] for line in done.stdout.splitlines() if any(one.isdigit() for one in line)]
    if done.returncode or not lines:
        return None
    return next((line for line in lines if "release" in line), lines[0])


def _gpus() -> list[str]:
    """Return the names of NVIDIA's GPUs, from the driver's own files. Source: the driver's README, chapter "procfs"."""
    found = []
    for path in sorted(GPUS.glob("*/information")):
        lines = (cores.read_system_file(str(path)) or "").splitlines()
        found += [line.removeprefix(MODEL).strip() for line in lines if line.startswith(MODEL)]
    return found


def _free_bytes(folder: Path) -> int | None:
    try:
        nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        return shutil.disk_usage(nearest).free
    except OSError:
        return None
