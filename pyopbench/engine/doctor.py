"""Checks this machine for what each command needs, and names the fix; runs even where packages are missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pyopbench
from pyopbench.engine import environments, git
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, Worker
from pyopbench.model import files, formatting, machine
from pyopbench.model.case import GPU
from pyopbench.model.errors import BadInput, WorkerLost
from pyopbench.model.portable import which_ruff

FOR_REPORTS = ("altair", "jinja2", "msgspec", "pandas", "scipy", "vl_convert")
"""Modules of the extra `report`; vl-convert draws the charts, so no browser is needed."""
STEADY_GOVERNORS = {"performance", "userspace"}
"""Governors that do not change the frequency. Source: the kernel's documentation, admin-guide/pm/cpufreq."""
LEAST_FREE_BYTES = 2 * 2**30
"""Of the disk of the cache: an environment of TensorFlow takes about 3 GB."""
NO_TENSORFLOW = "TensorFlow does not start"


class Lacking(Exception):
    """Something that is missing, and the line that fixes it."""


@dataclass(frozen=True)
class Check:
    """One thing that commands need: what the check found, and what is missing."""

    name: str
    needed_by: str
    found: str
    lack: str


@dataclass(frozen=True)
class Examination:
    """A description of a machine (`machine.describe`), and the result of each check."""

    machine: Mapping[str, Any]
    checks: tuple[Check, ...]

    @property
    def lacking(self) -> list[Check]:
        """The checks that did not find what is needed."""
        return [check for check in self.checks if check.lack]


@dataclass(frozen=True)
class WorkerFacts:
    """The answer of a worker, or why there is none."""

    start_seconds: float = 0.0
    environment: Mapping[str, Any] = field(default_factory=dict)
    no_device: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    why_not: str = ""


def examine() -> Examination:
    """Return the checks of this machine; a worker starts TensorFlow, and compiles a kernel if none is cached."""
    begin = time.monotonic()
    try:
        with Worker(START_TIMEOUT_SECONDS) as process:
            seconds = time.monotonic() - begin
            device = process.ask({"do": "device", "placement": GPU})
            worker = WorkerFacts(seconds, process.environment, device["reason"], process.ask({"do": "examine"}))
    except WorkerLost as lost:
        worker = WorkerFacts(why_not=lost.in_a_line)
    checks = []
    for name, needed_by, check in CHECKS:
        found = lack = ""
        try:
            found = check(worker)
        except Lacking as missing:
            lack = str(missing)
        except BadInput as error:
            lack = f"{error.in_a_line}; {error.hint}"
        checks.append(Check(name, needed_by, found, lack))
    return Examination({"pyopbench": pyopbench.__version__, **machine.describe()}, tuple(checks))


def _tensorflow(worker: WorkerFacts) -> str:
    if worker.why_not and not environments.installed_tensorflow():
        raise Lacking("TensorFlow is not installed: pip install 'pyopbench[cpu]'")
    if worker.why_not:
        raise Lacking(f"{worker.why_not}; see what this prints: python -c 'import tensorflow'")
    return f"{worker.environment['tensorflow']}, starts in {formatting.duration(worker.start_seconds)}"


def _of_worker(name: str) -> Callable[[WorkerFacts], str]:
    def check(worker: WorkerFacts) -> str:
        why_not = NO_TENSORFLOW if worker.why_not else worker.answer["why_not"][name]
        if why_not:
            raise Lacking(why_not)
        return worker.answer["versions"].get(name) or ""

    return check


def _gpu(worker: WorkerFacts) -> str:
    if worker.why_not:
        raise Lacking(NO_TENSORFLOW)
    names = formatting.listing([str(gpu["name"]) for gpu in worker.environment.get("gpus", ())])
    if worker.no_device:
        hint = "pip install 'pyopbench[gpu]', and check that CUDA_VISIBLE_DEVICES does not hide it"
        raise Lacking(
            f"TensorFlow sees no GPU, although the driver has {names}: {hint}"
            if names
            else "neither TensorFlow nor the driver sees a GPU; `placement` counts copies without one"
        )
    return names


def _reports(_: WorkerFacts) -> str:
    try:
        for module in FOR_REPORTS:
            import_module(module)
    except ImportError as error:
        raise Lacking(f"{error}: pip install 'pyopbench[report]'") from error
    return "needs no browser"


def _git(_: WorkerFacts) -> str:
    version = git.ask(Path.cwd(), "--version") or ""
    numbers = re.search(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < git.OLDEST:
        oldest = ".".join(map(str, git.OLDEST))
        raise Lacking(f"git {oldest} or later is not installed; on Debian or Ubuntu: apt-get install git")
    return version


def _dask(_: WorkerFacts) -> str:
    try:
        return metadata.version("distributed")
    except metadata.PackageNotFoundError:
        raise Lacking("distributed is not installed: pip install 'pyopbench[fleet,report]'") from None


def _ruff(_: WorkerFacts) -> str:
    ruff = which_ruff()
    if ruff is None:
        raise Lacking("Ruff is not installed, so written ports are not formatted: pip install ruff")
    return _version_of(ruff)


def _version_of(program: str) -> str:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=5.0, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return program
    return done.stdout.strip().partition("\n")[0] or program


def _cache(_: WorkerFacts) -> str:
    folder = files.cache_folder("")
    free = shutil.disk_usage(next(path for path in (folder, *folder.absolute().parents) if path.exists())).free
    if free < LEAST_FREE_BYTES:
        least = formatting.byte_count(LEAST_FREE_BYTES)
        raise Lacking(f"less than {least} is free in {folder}; free some, or set {files.CACHE_VARIABLE}")
    return f"{formatting.byte_count(free)} free"


def _lock(_: WorkerFacts) -> str:
    if not machine.is_free():
        raise Lacking("another run is measuring now; a run that you start waits for it")
    return "free"


def _frequency(_: WorkerFacts) -> str:
    governor = machine.describe()["governor"]
    if governor is not None and governor not in STEADY_GOVERNORS:
        raise Lacking(
            f"the governor {governor} changes the frequency: sudo cpupower frequency-set --governor performance"
        )
    return governor or "not reported by this system"


def _quiet(_: WorkerFacts) -> str:
    load, usable = os.getloadavg()[0], len(machine.usable_cores())
    if load > usable:
        busy = f"load {load:.1f} on {formatting.count(usable, 'core')}"
        raise Lacking(f"{busy}: stop other programs, or pin the run to idle cores: taskset -c 0,1 pyopbench run ...")
    return f"load {load:.1f}"


CHECKS: tuple[tuple[str, str, Callable[[WorkerFacts], str]], ...] = (
    ("TensorFlow", "measuring, verifying", _tensorflow),
    ("C++ kernels", "custom_op, placement", _of_worker("kernels")),
    ("CUDA kernels", "custom_op on a GPU", _of_worker("cuda")),
    ("GPU", "device=gpu", _gpu),
    ("Numba", "numba_op", _of_worker("numba")),
    ("reports, charts", "run, report, history", _reports),
    ("git", "--rev", _git),
    ("uv", "--tf, --with, --python", lambda _: _version_of(environments.find_uv())),
    ("Dask", "fleet", _dask),
    ("Ruff", "port: format", _ruff),
    ("cache", "custom_op, --tf", _cache),
    ("lock", "one run at a time", _lock),
    ("frequency", "steady times", _frequency),
    ("quiet now", "narrow intervals", _quiet),
)
