"""The Pythons that workers run on: this one, the user's, or an environment that uv installs into the cache.

`locks/` has a lock with hashes for each version of TensorFlow, with the NumPy that it takes, and Numba. An environment
is installed once. pyopbench itself is not installed there: workers find it by PYTHONPATH.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from pyopbench.model import files, formatting
from pyopbench.model.child_process import ProgramFailed, output_of, which
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.side import Environment

LOCKS = PACKAGE / "engine" / "locks"
ENVIRONMENTS = "environments"
INSTALL_SECONDS = 1800
INSTALLED_GB = 2.8
"""Approximate disk space of one environment, measured with 2.21."""
DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-macos", "tf-nightly", "tf-nightly-cpu")
"""Names of TensorFlow in the package index."""
DESCRIBE = (
    "import importlib.util, sys; print(*sys.version_info[:2], int(importlib.util.find_spec('tensorflow') is not None))"
)
FIND = ("python", "find", "--no-project", "--no-python-downloads", "--system")
COMPLETE = "pyopbench-complete"
"""A file that an environment has once everything is installed: uv may have been interrupted."""


def locked() -> tuple[str, ...]:
    """Return every version of TensorFlow that has a lock, oldest first."""
    return tuple(sorted((path.stem for path in LOCKS.glob("*.txt")), key=lambda name: [*map(int, name.split("."))]))


def missing(environments: Iterable[Environment]) -> list[Environment]:
    """Return the environments that would be installed before they can be used, each once."""
    folders = {environment: _folder_of(environment) for environment in environments if not environment.is_here}
    return [environment for environment, folder in folders.items() if folder is not None and not _is_complete(folder)]


def installing_text(environments: Sequence[Environment]) -> str:
    """Return which environments are going to be installed, and about how much of the disk they take."""
    names = formatting.listing([environment.text for environment in environments])
    return f"{names} into the cache: about {INSTALLED_GB * len(environments):.1f} GB"


def python_of(environment: Environment) -> Path | None:
    """Return the Python of an environment, which is installed if necessary; None for the one that runs this."""
    if environment.is_here:
        return None
    folder = _folder_of(environment)
    if folder is None:
        return find_interpreter(environment.python).path
    files.make_cache_folder(ENVIRONMENTS)
    with files.hold_lock(folder.with_name(f"{folder.name}.lock")):
        if not _is_complete(folder):
            _install(environment, folder)
    return folder / "bin" / "python"


class Interpreter(NamedTuple):
    """A Python: its program, the first two numbers of its version, and whether it can import TensorFlow."""

    path: Path
    version: tuple[int, int]
    has_tensorflow: bool


@cache
def find_interpreter(name: str | None) -> Interpreter:
    """Return the Python that is named by its path or version; the one that runs this if None."""
    if name is None:
        return Interpreter(Path(sys.executable), sys.version_info[:2], has_tensorflow=True)
    try:
        # Not resolved: the link of an environment is what makes it one.
        is_path = os.sep in name
        path = str(Path(name).expanduser().absolute()) if is_path else output_of([find_uv(), *FIND, "--", name])
        major, minor, has_tensorflow = map(int, output_of([path, "-I", "-c", DESCRIBE]).split())
    except (ProgramFailed, ValueError) as error:
        raise BadInput(
            "there is no such Python on this machine",
            received=f"--python {name}",
            hint="name an interpreter, such as /usr/bin/python3.12, or a version that is installed, such as 3.12",
        ) from error
    return Interpreter(Path(path), (major, minor), bool(has_tensorflow))


def _folder_of(environment: Environment) -> Path | None:
    """Return where an environment is installed; None for an interpreter that is used with the TensorFlow it has."""
    interpreter = find_interpreter(environment.python)
    if interpreter.has_tensorflow and environment.tf is None and not environment.packages:
        return None
    lock = _lock_of(environment)
    interpreter_path = str(interpreter.path) if environment.python else ""
    content = json.dumps(
        [lock.read_text(encoding="utf-8"), environment.packages, interpreter.version, interpreter_path]
    )
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    return files.cache_folder(ENVIRONMENTS) / f"tensorflow-{lock.stem}-{digest}"


def _lock_of(environment: Environment) -> Path:
    tf = installed_tensorflow() if environment.tf is None else environment.tf
    if tf not in locked():
        raise BadInput(
            "this version of TensorFlow is not available",
            received=f"--tf {tf}" if environment.tf is not None else f"{tf or 'none'}, which is installed",
            legal=", ".join(locked()),
            hint="take one of these; CONTRIBUTING.md explains how to add a version",
        )
    return LOCKS / f"{tf}.txt"


def installed_tensorflow() -> str:
    """Return the version of TensorFlow that is installed here, without importing it; nothing if there is none."""
    for name in DISTRIBUTIONS:
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return ""


def _is_complete(folder: Path) -> bool:
    # Without the Python that it was created with, the link to it leads nowhere.
    return (folder / COMPLETE).exists() and (folder / "bin" / "python").exists()


def _install(environment: Environment, folder: Path) -> None:
    lock, uv = _lock_of(environment), find_uv()
    interpreter = find_interpreter(environment.python)
    # uv compiles nothing by itself, and then each worker would compile TensorFlow where none may write bytecode.
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(folder / "bin" / "python")]
    _run([uv, "venv", "--quiet", "--clear", "--no-project", "--python", str(interpreter.path), str(folder)])
    _run([*install, "--require-hashes", "-r", str(lock)])
    if environment.packages:
        # uv keeps what the lock has installed where that goes with these versions, and replaces the rest.
        pattern = rf"^tensorflow(?:-cpu)?=={re.escape(lock.stem)} .*?(?= \\$)"
        tensorflow = re.findall(pattern, lock.read_text(encoding="utf-8"), re.MULTILINE)
        _run([*install, "-r", str(LOCKS / "requirements.in"), *tensorflow, *environment.packages])
    (folder / COMPLETE).touch()


def find_uv() -> str:
    """Return the path of uv; raises `BadInput` if there is none."""
    program = which("uv")
    if program is None:
        what = "uv, which creates environments for other TensorFlow versions, is not installed"
        raise BadInput(what, received=f"no uv next to {sys.executable} or on PATH", hint="pip install uv")
    return program


def _run(command: Sequence[str]) -> None:
    # Its own environment variables would have uv install somewhere else.
    variables = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    try:
        output_of(command, INSTALL_SECONDS, variables)
    except ProgramFailed as error:
        hint = f"it needs a package index and about {INSTALLED_GB} GB of cache; try it by hand: {shlex.join(command)}"
        raise BadInput("cannot create the environment", received=str(error), hint=hint) from error


def package_folder() -> Path:
    """Return a folder that holds a link to pyopbench and nothing else, for PYTHONPATH.

    Where pyopbench is installed, the folder that it is in holds this Python's TensorFlow too.
    """
    package = PACKAGE.resolve()
    digest = hashlib.sha256(str(package).encode()).hexdigest()[:12]
    folder = files.make_cache_folder(ENVIRONMENTS) / f"{package.name}-{digest}"
    folder.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (folder / package.name).symlink_to(package, target_is_directory=True)
    return folder


def worker_variables(python: Path | None) -> dict[str, str]:
    """Return the variables by which a worker finds pyopbench; `python` is None for this one, which has it."""
    if python is None:
        return {}
    paths = [str(package_folder()), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}
