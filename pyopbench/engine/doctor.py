"""Checks this machine for what each command needs, and names the fix; runs even where packages are missing."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any

import pyopbench
from pyopbench.engine import environments
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, Worker
from pyopbench.model import files, formatting, machine
from pyopbench.model.case import GPU
from pyopbench.model.child_process import ProgramFailed, output_of, which
from pyopbench.model.errors import WorkerLost

FOR_REPORTS = ("altair", "jinja2", "msgspec", "pandas", "scipy", "vl_convert")
"""Modules of the extra `report`; vl-convert draws the charts, so no browser is needed."""
STEADY_GOVERNORS = {"performance", "userspace", None}
"""Governors that do not change the frequency; None where the system has none to report. Source: the kernel's
documentation, admin-guide/pm/cpufreq."""
LEAST_FREE_BYTES = 2 * 2**30
"""Of the disk of the cache: an environment of TensorFlow takes about 3 GB."""
OF_WORKER = {
    "kernels": ("C++ kernels", "custom_op, placement"),
    "cuda": ("CUDA kernels", "custom_op on a GPU"),
    "numba": ("Numba", "numba_op"),
}
"""What a worker examines -> the name of the check, and the commands that need it."""


@dataclass(frozen=True)
class Check:
    """One thing that commands need: what the check found, and what is missing, with the line that fixes it."""

    name: str
    needed_by: str
    found: str
    lack: str = ""


@dataclass(frozen=True)
class Examination:
    """A description of a machine (`machine.describe`), and the result of each check."""

    machine: Mapping[str, Any]
    checks: tuple[Check, ...]

    @property
    def lacking(self) -> list[Check]:
        """The checks that did not find what is needed."""
        return [check for check in self.checks if check.lack]


def examine() -> Examination:
    """Return the checks of this machine; a worker starts TensorFlow, and compiles a kernel if none is cached."""
    description = machine.describe()
    checks = (*_check_worker(), *_check_programs(), *_check_machine(description["governor"]))
    return Examination({"pyopbench": pyopbench.__version__, **description}, checks)


def _check_worker() -> Iterator[Check]:
    """Check what only a worker can tell, because it takes TensorFlow."""
    begin = time.monotonic()
    why_not: Mapping[str, str | None]
    versions: Mapping[str, str | None]
    try:
        with Worker(START_TIMEOUT_SECONDS) as worker:
            seconds = formatting.duration(time.monotonic() - begin)
            no_gpu = worker.ask({"do": "device", "placement": GPU})["reason"]
            answer = worker.ask({"do": "examine"})
        found, lack = f"{worker.environment['tensorflow']}, starts in {seconds}", ""
        gpus = formatting.listing([str(gpu["name"]) for gpu in worker.environment.get("gpus", ())])
        if no_gpu and gpus:
            hint = "pip install 'pyopbench[gpu]', and check that CUDA_VISIBLE_DEVICES does not hide it"
            no_gpu = f"TensorFlow sees no GPU, although the driver has {gpus}: {hint}"
        elif no_gpu:
            no_gpu = "neither TensorFlow nor the driver sees a GPU; `placement` counts copies without one"
        why_not, versions = answer["why_not"], answer["versions"]
    except WorkerLost as lost:
        found, lack = "", f"{lost.in_a_line}; see what this prints: python -c 'import tensorflow'"
        if not environments.installed_tensorflow():
            lack = "TensorFlow is not installed: pip install 'pyopbench[cpu]'"
        gpus, no_gpu = "", "TensorFlow does not start"
        why_not, versions = dict.fromkeys(OF_WORKER, no_gpu), {}
    yield Check("TensorFlow", "measuring, verifying", found, lack)
    yield Check("GPU", "device=gpu", gpus, no_gpu)
    for key, (name, needed_by) in OF_WORKER.items():
        yield Check(name, needed_by, versions.get(key) or "", why_not[key] or "")


def _check_programs() -> Iterator[Check]:
    """Check packages and programs that only some commands need."""
    lack = ""
    try:
        for module in FOR_REPORTS:
            import_module(module)
    except ImportError as error:
        lack = f"{error}: pip install 'pyopbench[report]'"
    yield Check("reports, charts", "run, report, history", "" if lack else "needs no browser", lack)
    try:
        found, lack = metadata.version("distributed"), ""
    except metadata.PackageNotFoundError:
        found, lack = "", "Dask is not installed: pip install 'pyopbench[fleet,report]'"
    yield Check("Dask", "fleet", found, lack)
    for name, needed_by, word, fix in (
        ("git", "--rev", "git", "on Debian or Ubuntu: apt-get install git"),
        ("uv", "--tf, --with, --python", "uv", "pip install uv"),
        ("Ruff", "port: format", "ruff", "pip install ruff"),
    ):
        program = which(word)
        found, lack = (_version_of(program), "") if program else ("", f"{name} is not installed: {fix}")
        yield Check(name, needed_by, found, lack)


def _version_of(program: str) -> str:
    try:
        return output_of([program, "--version"]).partition("\n")[0] or program
    except ProgramFailed:
        return program


def _check_machine(governor: str | None) -> Iterator[Check]:
    """Check what makes measurements here possible, and their intervals narrow."""
    folder = files.cache_folder("")
    free = shutil.disk_usage(next(path for path in (folder, *folder.absolute().parents) if path.exists())).free
    least = formatting.byte_count(LEAST_FREE_BYTES)
    lack = f"less than {least} is free in {folder}; free some, or set {files.CACHE_VARIABLE}"
    is_full = free < LEAST_FREE_BYTES
    yield Check("cache", "custom_op, --tf", f"{formatting.byte_count(free)} free", lack if is_full else "")
    lack = f"the governor {governor} changes the frequency: sudo cpupower frequency-set --governor performance"
    steady = governor or "not reported by this system"
    yield Check("frequency", "steady times", steady, "" if governor in STEADY_GOVERNORS else lack)
    load, cores = os.getloadavg()[0], len(machine.usable_cores())
    lack = f"the load of {load:.1f} is more than {formatting.count(cores, 'core')} can take: stop other programs, or "
    lack += "pin the run to idle cores: taskset -c 0,1 pyopbench run ..."
    yield Check("quiet now", "narrow intervals", f"load {load:.1f}", lack if load > cores else "")
