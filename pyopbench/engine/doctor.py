"""What this machine has and lacks for each command, and how to get what is missing.

The checks call the same functions by which a run refuses work or leaves it out, so `doctor` and a run agree. A worker
checks what depends on TensorFlow. If the worker does not start, that is reported, and the rest is unknown.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyopbench
from pyopbench.engine import environments, git, host_lock
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, Worker
from pyopbench.model import cache_folder, cores, formatting
from pyopbench.model.case import GPU, MINIMUM_EFFECT
from pyopbench.model.errors import BadInput, PyopbenchError, WorkerLost
from pyopbench.model.portable import which_ruff
from pyopbench.model.side import Environment

FAR_DEVIATIONS = 5.0
"""Robust standard deviations above the median, beyond which a block is far slower: normal noise gets there by chance in
one block of three million."""
LARGE_FAR = 0.05
"""If one block in twenty is far slower, medians begin to move."""

State: TypeAlias = Literal["here", "missing", "unknown"]

FOR_REPORTS = {
    "altair": "altair",
    "jinja2": "jinja2",
    "msgspec": "msgspec",
    "pandas": "pandas",
    "scipy": "scipy",
    "vl_convert": "vl-convert-python",
}
"""Modules of the extra `report`, and their packages; vl-convert draws the charts, so no browser is needed."""

REPORTS = ("reports, charts", "run, report, history")

STEADY_GOVERNORS = {"performance", "userspace"}
"""Governors that do not change the frequency. Source: the kernel's documentation, admin-guide/pm/cpufreq."""

NO_TENSORFLOW = "TensorFlow does not start"

VERSION_SECONDS = 5.0
"""Longest wait for a program to say its version."""
GPUS = Path("/proc/driver/nvidia/gpus")
"""Where NVIDIA's driver lists its GPUs. Source: the driver's README, chapter "procfs"."""
LEAST_FREE_BYTES = 2 * 2**30
"""Of the disk of the cache: an environment of TensorFlow takes about 3 GB."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """This machine, as far as it is known without starting TensorFlow; None is what the system does not say.

    Attributes:
        cpu: the processor.
        cores: that a process may use.
        memory_bytes: of the machine.
        governor: of the frequency of the processor.
        os: operating system.
        python: version.
        pyopbench: version.
        tensorflow: version that is installed next to pyopbench.
        environments: versions of TensorFlow that there are environments of.
        gpus: names of GPUs.
        free_bytes: of the disk of the cache.
        is_measuring: whether a run holds the lock of the machine.
        lock: why the lock cannot be used; empty if it can.
    """

    cpu: str | None
    cores: int
    memory_bytes: int | None
    governor: str | None
    os: str
    python: str
    pyopbench: str
    tensorflow: str | None
    environments: tuple[str, ...]
    gpus: tuple[str, ...]
    free_bytes: int | None
    is_measuring: bool | None
    lock: str


@dataclass(frozen=True)
class Check:
    """One thing that commands need.

    Attributes:
        name: of the thing.
        needed_by: commands, options or variants.
        state: `unknown` if something else has to be fixed first.
        found: what was found, such as a version; empty if nothing was.
        lack: the problem and how to fix it; empty if there is none.
    """

    name: str
    needed_by: str
    state: State
    found: str = ""
    lack: str = ""


@dataclass(frozen=True)
class Examination:
    """A description of a machine, and the result of each check."""

    machine: Machine
    checks: tuple[Check, ...]

    @property
    def lacking(self) -> list[Check]:
        """The checks that did not find what is needed."""
        return [check for check in self.checks if check.state != "here"]


def examine() -> Examination:
    """Return what this machine has and lacks.

    A worker starts TensorFlow and compiles a small kernel, unless it is in the cache. The noise of the machine is not
    measured while a run is measuring on it.

    Raises:
        BadInput: `PYOPBENCH_HOST` holds no name.
    """
    machine = describe_machine()
    reports = _reports()
    is_quiet = machine.is_measuring is False
    of_worker = _ask_worker(is_quiet=is_quiet and reports.state == "here")
    checks = (
        *_variants(of_worker, machine),
        reports,
        _git(),
        _uv(machine),
        _package("distributed", "Dask", "fleet", "pip install 'pyopbench[fleet,report]'"),
        _ruff(),
        _disk(machine),
        _lock(machine),
        _governor(machine),
        _noise(of_worker, machine),
    )
    return Examination(machine, checks)


def describe_machine() -> Machine:
    """Return what this machine is."""
    is_measuring, lock = _is_measuring()
    versions = environments.available()
    missing = {one.tf for one in environments.missing(map(Environment, versions))}
    return Machine(
        **cores.machine(),
        pyopbench=pyopbench.__version__,
        tensorflow=_installed_tensorflow(),
        environments=tuple(version for version in versions if version not in missing),
        gpus=tuple(_gpus_of_driver()),
        free_bytes=_free_bytes(cache_folder.folder_of("")),
        is_measuring=is_measuring,
        lock=lock,
    )


def _is_measuring() -> tuple[bool | None, str]:
    try:
        return not host_lock.is_free(), ""
    except BadInput as error:
        return None, error.in_a_line


def _installed_tensorflow() -> str | None:
    return environments.installed_tensorflow() or None


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
    return lines[0] if lines and not done.returncode else None


def _gpus_of_driver() -> list[str]:
    lines = (
        line
        for path in sorted(GPUS.glob("*/information"))
        for line in (cores.read_system_file(str(path)) or "").splitlines()
    )
    return [line.removeprefix("Model:").strip() for line in lines if line.startswith("Model:")]


def _free_bytes(folder: Path) -> int | None:
    try:
        nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        return shutil.disk_usage(nearest).free
    except OSError:
        return None


@dataclass(frozen=True)
class _OfWorker:
    """What a worker answered, or why there is no answer."""

    start_seconds: float
    environment: Mapping[str, Any]
    device: Mapping[str, Any]
    answer: Mapping[str, Any]
    why_not: str = ""


def _ask_worker(*, is_quiet: bool) -> _OfWorker:
    begin = time.monotonic()
    try:
        with Worker(START_TIMEOUT_SECONDS) as worker:
            seconds = time.monotonic() - begin
            device = worker.ask({"do": "device", "placement": GPU})
            answer = worker.ask({"do": "examine", "spin": is_quiet})
            return _OfWorker(seconds, worker.environment, device, answer)
    except WorkerLost as lost:
        return _OfWorker(0.0, {}, {}, {}, lost.in_a_line)


def _sentence(error: PyopbenchError) -> str:
    """Return the problem and how to fix it, in one line."""
    return f"{error.in_a_line}; {error.hint}" if error.hint else error.in_a_line


def _check(name: str, needed_by: str, found: str | None, lack: str | None) -> Check:
    return Check(name, needed_by, "missing" if lack else "here", found or "", lack or "")


def _variants(of_worker: _OfWorker, machine: Machine) -> list[Check]:
    """Return the checks of TensorFlow, and of what TensorFlow or its variants need."""
    version = of_worker.environment.get("tensorflow")
    why = of_worker.why_not
    if why and machine.tensorflow is None:
        why = "TensorFlow is not installed: pip install 'pyopbench[cpu]'"
    elif why:
        why = f"{why}; see what this prints: python -c 'import tensorflow'"
    starts = f"{version}, starts in {formatting.duration(of_worker.start_seconds)}"
    found: Callable[[str], str | None] = (of_worker.answer.get("versions") or {}).get
    reason: Callable[[str], str | None] = (of_worker.answer.get("why_not") or {}).get
    table = (
        ("C++ kernels", "custom_op, placement", found("kernels"), reason("kernels")),
        ("CUDA kernels", "custom_op on a GPU", found("cuda"), reason("cuda")),
        ("GPU", "device=gpu", *_gpu(of_worker, machine)),
        ("Numba", "numba_op", found("numba"), reason("numba")),
    )
    first = _check("TensorFlow", "measuring, verifying", "" if why else starts, why)
    if why:
        return [first, *(Check(name, needed_by, "unknown", lack=NO_TENSORFLOW) for name, needed_by, *_ in table)]
    return [first, *(_check(*row) for row in table)]


def _gpu(of_worker: _OfWorker, machine: Machine) -> tuple[str, str]:
    """Return which GPUs there are, and why TensorFlow sees none."""
    state = of_worker.environment.get("gpu") or {}
    names = [str(one["name"]) for one in state.get("gpus", ())] or list(machine.gpus)
    if not of_worker.device.get("reason"):
        return formatting.listing(names), ""
    if names:
        what = f"TensorFlow sees no GPU, although the driver has {formatting.listing(names)}"
        return "", f"{what}: pip install 'pyopbench[gpu]', and check that CUDA_VISIBLE_DEVICES does not hide it"
    why = f" ({state['reason']})" if state.get("reason") else ""
    return "", f"neither TensorFlow nor the driver sees a GPU{why}; `placement` counts copies without one"


def _reports() -> Check:
    """Return whether results can be read, judged and drawn: every package is imported."""
    reasons = {package: _why_not_imported(module) for module, package in FOR_REPORTS.items()}
    which = "; ".join(f"{package}: {why}" for package, why in reasons.items() if why)
    if which:
        return _check(*REPORTS, "", f"packages cannot be imported ({which}): pip install 'pyopbench[report]'")
    return _check(*REPORTS, f"vl-convert {metadata.version(FOR_REPORTS['vl_convert'])}; needs no browser", "")


def _why_not_imported(module: str) -> str:
    try:
        import_module(module)
    except ImportError as error:
        return str(error)
    return ""


def _git() -> Check:
    said = git.ask(Path.cwd(), "--version")
    numbers = re.search(r"(\d+)\.(\d+)", said or "")
    oldest = ".".join(map(str, git.OLDEST))
    lack = ""
    if said is None or numbers is None:
        lack = "git is not installed; on Debian or Ubuntu: apt-get install git"
    elif (int(numbers[1]), int(numbers[2])) < git.OLDEST:
        lack = f"{said} is too old; install git {oldest} or later"
    return _check("git", "--rev", said, lack)


def _uv(machine: Machine) -> Check:
    try:
        program = environments.find_uv()
    except BadInput as error:
        return _check("uv", "--tf, --with, --python", "", _sentence(error))
    ready = f"; installed: TensorFlow {formatting.listing(machine.environments)}" if machine.environments else ""
    return _check("uv", "--tf, --with, --python", f"{version_of(program) or program}{ready}", "")


def _package(package: str, name: str, needed_by: str, remedy: str) -> Check:
    try:
        return _check(name, needed_by, metadata.version(package), "")
    except metadata.PackageNotFoundError:
        return _check(name, needed_by, "", f"{package} is not installed: {remedy}")


def _ruff() -> Check:
    found = which_ruff()
    lack = "" if found else "Ruff is not installed, so written ports are not formatted: pip install ruff"
    return _check("Ruff", "port: format", version_of(found) if found else "", lack)


def _disk(machine: Machine) -> Check:
    folder = cache_folder.folder_of("")
    free = machine.free_bytes
    lack = ""
    if free is not None and free < LEAST_FREE_BYTES:
        least = formatting.byte_count(LEAST_FREE_BYTES)
        lack = f"less than {least} is free in {folder}; free some, or set {cache_folder.VARIABLE} to another disk"
    shown = "" if free is None else f"{formatting.byte_count(free)} free"
    return _check("cache", "custom_op, --tf", shown, lack)


def _lock(machine: Machine) -> Check:
    if machine.is_measuring:
        return _check(
            "lock", "one run at a time", "held", "another run is measuring now; a run that you start waits for it"
        )
    return _check("lock", "one run at a time", "" if machine.lock else "free", machine.lock)


def _governor(machine: Machine) -> Check:
    name = machine.governor
    if name is None:
        return _check("frequency", "steady times", "not reported by this system", "")
    lack = f"the governor {name} changes the frequency: sudo cpupower frequency-set --governor performance"
    return _check("frequency", "steady times", name, "" if name in STEADY_GOVERNORS else lack)


def _noise(of_worker: _OfWorker, machine: Machine) -> Check:
    """Return how quiet the machine is now, by the limits at which a report marks a launch as noisy."""
    name, needed_by = "quiet now", "narrow intervals"
    blocks, noise = of_worker.answer.get("blocks"), of_worker.answer.get("noise")
    if not blocks or not noise:
        why = NO_TENSORFLOW if of_worker.why_not else "not tried, because of a problem above"
        return Check(name, needed_by, "unknown", lack=why)
    from pyopbench.judge.noise import limits_of  # it needs what `_reports` has found

    load, stolen = noise["load"], noise["steal_seconds"]
    steal = None if stolen is None else stolen / (noise["wall_seconds"] * machine.cores)
    spread, far = spread_of(blocks)
    other = "stop other programs, or pin the run to idle cores: taskset -c 0,1 pyopbench run ..."
    found = (
        *limits_of(load, steal, machine.cores),
        (f"equal blocks of work differ by {formatting.percent(spread)}", spread, MINIMUM_EFFECT),
        (f"{formatting.percent(far)} of equal blocks are far slower", far, LARGE_FAR),
    )
    large = [text for text, value, most in found if value is not None and value > most]
    lack = f"{formatting.listing(large)}: {other}" if large else ""
    return _check(name, needed_by, ", ".join(text for text, *_ in found if text), lack)


def spread_of(blocks: Sequence[float]) -> tuple[float, float]:
    """Return the median deviation of some blocks as a share of their median, and the share of blocks far above it.

    Args:
        blocks: seconds of each.
    """
    import numpy as np

    from pyopbench.stats.costs import NORMAL_MAD

    median = float(np.median(blocks))
    above = np.asarray(blocks) - median
    deviation = float(np.median(np.abs(above)))
    return deviation / median, float(np.mean(above > FAR_DEVIATIONS * NORMAL_MAD * deviation))
