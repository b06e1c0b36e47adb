"""The Pythons that workers run on: this one, or an environment for a version of TensorFlow, made by uv from a lock.

`locks/` has a lock with hashes for each version, with the NumPy that it takes, and Numba. An environment lies in the
user's cache folder, named by version, Python and what the lock says, and is made once; pyopbench itself is not
installed there, workers find it where it is.

A run starts dozens of workers, and no worker is to compile TensorFlow's thousands of modules again. uv does not compile
what it installs unless it is asked to. Where the bytecode of TensorFlow is missing, and PYTHONDONTWRITEBYTECODE is set
(as in many containers) or the environment is not writable, each worker would compile it for itself: starting took 13 s
of processor time instead of 5 s (TensorFlow 2.21, Python 3.11). pyopbench's own modules take a few tenths of a second.
PYTHONPYCACHEPREFIX moves bytecode to a folder of its own, but then Python no longer looks beside the sources. It is
therefore set only where TensorFlow is not compiled there; otherwise the first worker would compile it a second time.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.machinery
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyopbench.model import cache_folder
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.option_text import option_text

LOCKS = PACKAGE / "engine" / "locks"
ENVIRONMENTS = "environments"

NEWEST_PYTHON = {"2.16": (3, 12), "2.20": (3, 13)}
"""From which version of TensorFlow on there are wheels for a Python; before these 3.11 is the newest. Read off the
wheels in the package index in November 2026."""
NEWEST_PYTHON_BEFORE = (3, 11)

INSTALL_SECONDS = 1800
INSTALLED_GB = 2.8
"""What an environment takes on the disk, about; 2.21 does."""
UMASK = 0o022
"""What uv makes is not for a group to write to, whatever the umask of the user."""
LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
READY = "pyopbench-ready"
"""A file that is there when everything is installed."""


def locked() -> tuple[str, ...]:
    """Return every version that there is a lock for, oldest first."""
    return tuple(sorted((path.stem for path in LOCKS.glob("*.txt")), key=_as_numbers))


def available(python: tuple[int, int] = sys.version_info[:2]) -> tuple[str, ...]:
    """Return the versions that can be had for a Python, oldest first."""
    return tuple(version for version in locked() if python <= _newest_python(version))


def require_available(versions: Iterable[str]) -> None:
    """Check that every version can be had for this Python.

    Raises:
        BadInput: one cannot; with those that can.
    """
    known = available()
    for version in versions:
        if version in known:
            continue
        python = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        same_minor = [one for one in known if version.count(".") and one.startswith(_minor(version) + ".")]
        near = f"take {same_minor[-1]}" if same_minor else "take one of these"
        raise BadInput(
            f"TensorFlow {version} is not available for {python}"
            if version in locked()
            else "no lock for this version",
            received=option_text("tf", [version]),
            legal=f"with {python}: {', '.join(known) or 'none'}",
            hint=f"{near}; CONTRIBUTING.md explains how to add a version",
        )


def python_of(version: str) -> Path:
    """Return the Python that has a version of TensorFlow, installed first where it is not there yet.

    Raises:
        BadInput: there is no such version for this Python, uv is missing or fails, or the cache cannot be written to;
            or others can put something into the environment, which would be run.
    """
    require_available([version])
    folder = folder_of(version)
    cache_folder.private_folder(ENVIRONMENTS, "environments of TensorFlow")
    if not _is_whole(folder):
        with _alone(folder):
            if not _is_whole(folder):  # somebody else may just have made it
                _make(folder, LOCKS / f"{version}.txt")
    _require_private(folder)
    return folder / "bin" / "python"


def _require_private(folder: Path) -> None:
    """Check an environment before its Python is started: all that is in it, and what its Python leads to.

    From then on only the user and root can change it. The Python that is running now has been trusted already.
    """
    python = (folder / "bin" / "python").resolve()
    exposed = cache_folder.exposed_part(folder) or cache_folder.exposed_inside(folder)
    if exposed is None and python != Path(sys.executable).resolve() and not cache_folder.is_own(python.stat()):
        exposed = python
    if exposed is not None:
        raise cache_folder.refusal(exposed, "environments of TensorFlow")


def missing(versions: Iterable[str]) -> list[str]:
    """Return the versions that would be installed before they can be used.

    Raises:
        BadInput: one cannot be had for this Python.
    """
    versions = list(versions)
    require_available(versions)
    return [version for version in versions if not _is_whole(folder_of(version))]


def folder_of(version: str) -> Path:
    """Return the folder of a version's environment, whether it is there or not."""
    digest = hashlib.sha256((LOCKS / f"{version}.txt").read_bytes()).hexdigest()[:12]
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return cache_folder.folder_of(ENVIRONMENTS) / f"tensorflow-{version}-{python}-{digest}"


def folder_with_only(package: Path) -> Path:
    """Return a folder in the cache that holds a link to a package and nothing else, for PYTHONPATH."""
    digest = hashlib.sha256(str(package.resolve()).encode()).hexdigest()[:12]
    folder = cache_folder.private_folder(ENVIRONMENTS, "environments of TensorFlow") / f"{package.name}-{digest}"
    folder.mkdir(mode=0o700, exist_ok=True)
    with _alone(folder):
        exposed = cache_folder.exposed_part(folder) or cache_folder.exposed_inside(folder)
        if exposed is not None:
            raise cache_folder.refusal(exposed, "environments of TensorFlow")
        link = folder / package.name
        if not link.is_symlink():
            link.symlink_to(package.resolve(), target_is_directory=True)
    return folder


def _is_whole(folder: Path) -> bool:
    # Without the Python that it was made with, the link to it leads nowhere.
    return (folder / READY).exists() and (folder / "bin" / "python").exists()


def _make(folder: Path, lock: Path) -> None:
    uv = _uv()
    python = folder / "bin" / "python"
    _run([uv, "venv", "--quiet", "--clear", "--no-project", "--python", sys.executable, str(folder)], lock.stem)
    # Compiled now, once, and not by the first worker, or by each where PYTHONDONTWRITEBYTECODE is set.
    options = ["--quiet", "--compile-bytecode", "--python", str(python), "--require-hashes"]
    _run([uv, "pip", "install", *options, "-r", str(lock)], lock.stem)
    (folder / READY).touch()


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise BadInput(
            "uv, which creates environments for other TensorFlow versions, is not installed",
            received=f"neither {beside} nor uv on PATH",
            legal="uv 0.5 or later",
            hint="pip install uv",
        )
    return found


def _run(command: Sequence[str], version: str) -> None:
    # Its own environment variables would have uv install somewhere else.
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
            env=environment,
            umask=UMASK,
        )
    except subprocess.TimeoutExpired:
        told = f"uv took longer than {INSTALL_SECONDS} s"
    else:
        if not done.returncode:
            return
        told = " ".join(line.strip() for line in done.stderr.strip().splitlines()[-3:])
        told = told or f"uv ended with exit code {done.returncode} and no message"
    raise BadInput(
        f"cannot create the environment for TensorFlow {version}",
        received=told,
        legal="a reachable package index, and about 2 GB of disk in the cache folder (XDG_CACHE_HOME)",
        hint=f"try it by hand: {shlex.join(command)}",
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a lock, so that two processes do not make the same environment at once."""
    descriptor = os.open(folder.with_name(f"{folder.name}.lock"), LOCK, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _newest_python(version: str) -> tuple[int, int]:
    newest = NEWEST_PYTHON_BEFORE
    for first, python in NEWEST_PYTHON.items():
        if _as_numbers(version) >= _as_numbers(first):
            newest = python
    return newest


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall("[0-9]{1,9}", version))


def worker_command(usual: Sequence[str], python: Path | None) -> Sequence[str]:
    """Return the command of a worker with an interpreter; with this one, None, it is the usual command."""
    return usual if python is None else (str(python), *usual[1:])


def import_variables(python: Path | None) -> dict[str, str]:
    """Return the environment variables that let another interpreter find pyopbench and nothing else.

    Where pyopbench is installed, the folder that it is in holds this Python's TensorFlow too, which would come first.
    """
    if python is None:
        return {}
    places = [str(folder_with_only(PACKAGE)), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(places)}


def start_remedy(python: Path | None) -> str:
    """Return what to try if a worker does not start."""
    if python is None:
        return "check that `python -c 'import tensorflow'` works in this environment: pip install -e '.[cpu]'"
    return f"check that `{python} -c 'import tensorflow'` works; delete {python.parent.parent} to have it created again"


BYTECODE = "bytecode"
PREFIX, DO_NOT_WRITE = "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"


def bytecode_variables(python: Path | None) -> dict[str, str]:
    """Return the environment variables by which a worker writes and reads bytecode; none where it is there already.

    Args:
        python: the interpreter of an environment for a version of TensorFlow; this one if None.
    """
    prefix = os.environ.get(PREFIX)  # with one that the user has set, nothing beside the sources is read either
    if not prefix:
        if _is_compiled(python):
            return {}
        try:
            prefix = str(cache_folder.private_tree(BYTECODE, "Python's bytecode"))
        except BadInput:  # it only saves time: a run needs no cache folder
            return {}
    return {PREFIX: prefix, DO_NOT_WRITE: ""}  # Python takes an empty one for none


def _is_compiled(python: Path | None) -> bool:
    """Whether TensorFlow has its bytecode beside its sources: one file stands for all, which are installed at once."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"  # that of each environment, which is made with this Python
    path = None if python is None else [str(python.parent.parent / "lib" / f"python{version}" / "site-packages")]
    spec = importlib.machinery.PathFinder.find_spec("tensorflow", path)
    if spec is None or spec.origin is None:
        return False
    source = Path(spec.origin)
    return (source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc").exists()
