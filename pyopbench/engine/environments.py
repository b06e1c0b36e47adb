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
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from pyopbench.model import cache_folder
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.option_text import option_text
from pyopbench.model.side import Environment

LOCKS = PACKAGE / "engine" / "locks"
ENVIRONMENTS = "environments"

NEWEST_PYTHON = {"2.16": (3, 12), "2.20": (3, 13)}
"""From which version of TensorFlow on there are wheels for a Python; before these 3.11 is the newest. Read off the
wheels in the package index in November 2026."""
NEWEST_PYTHON_BEFORE = (3, 11)

INSTALL_SECONDS = 1800
INSTALLED_GB = 2.8
"""What an environment takes on the disk, about; 2.21 does."""
MOST_NAMED = 3
"""Packages that the name of an environment's folder tells of."""
DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-macos", "tf-nightly", "tf-nightly-cpu")
"""What TensorFlow is called in the package index."""
DESCRIBE_SECONDS = 60
DESCRIBE = (
    "import importlib.util, json, sys, sysconfig;"
    "is_free = bool(sysconfig.get_config_var('Py_GIL_DISABLED'));"
    "print(json.dumps([list(sys.version_info[:2]), is_free, importlib.util.find_spec('tensorflow') is not None]))"
)
READY = "pyopbench-ready"
"""A file that is there when everything is installed."""


@dataclass(frozen=True)
class Interpreter:
    """A Python, as it describes itself.

    Attributes:
        path: of its program.
        version: the first two numbers of it.
        is_free_threaded: is it built to run without a GIL?
        has_tensorflow: is TensorFlow installed where it looks?
    """

    path: Path
    version: tuple[int, int]
    is_free_threaded: bool
    has_tensorflow: bool

    @property
    def text(self) -> str:
        """Its version in words."""
        return f"{'free-threaded ' if self.is_free_threaded else ''}Python {self.version[0]}.{self.version[1]}"


def locked() -> tuple[str, ...]:
    """Return every version of TensorFlow that there is a lock for, oldest first."""
    return tuple(sorted((path.stem for path in LOCKS.glob("*.txt")), key=_as_numbers))


def available(python: tuple[int, int] = sys.version_info[:2]) -> tuple[str, ...]:
    """Return the versions of TensorFlow that can be had for a Python, oldest first."""
    return tuple(version for version in locked() if python <= _newest_python(version))


def require_available(environments: Iterable[Environment]) -> None:
    """Check that every environment can be had, as far as that is known without making it.

    Raises:
        BadInput: there is no such interpreter, or no such version of TensorFlow for it; with those that there are.
    """
    for environment in environments:
        if not environment.is_here:
            _recipe_of(environment)


def python_of(environment: Environment) -> Path | None:
    """Return the Python of an environment, made first where it is not there yet; None for the one that runs this.

    Raises:
        BadInput: there is no such version for the Python, uv is missing or fails, or the cache cannot be written to.
    """
    if environment.is_here:
        return None
    recipe = _recipe_of(environment)
    if recipe is None:  # an environment of the user's own
        return find_interpreter(str(environment.python)).path
    folder = recipe.folder
    cache_folder.make_folder(ENVIRONMENTS, "environments of TensorFlow")
    if not _is_whole(folder):
        with hold_lock(folder.with_name(f"{folder.name}.lock")):
            if not _is_whole(folder):  # somebody else may just have made it
                _make(recipe)
    return folder / "bin" / "python"


def missing(environments: Iterable[Environment]) -> list[Environment]:
    """Return the environments that would be installed before they can be used, each once.

    Raises:
        BadInput: as `require_available`.
    """
    recipes = {one: _recipe_of(one) for one in dict.fromkeys(environments) if not one.is_here}
    return [one for one, recipe in recipes.items() if recipe is not None and not _is_whole(recipe.folder)]


@cache
def find_interpreter(asked: str | None) -> Interpreter:
    """Return the Python that is asked for, by its path or version; the one that runs this if None.

    Raises:
        BadInput: there is none, or it does not run.
    """
    if asked is None:
        is_free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
        return Interpreter(Path(sys.executable), sys.version_info[:2], is_free_threaded, has_tensorflow=True)
    path = _path_of_python(asked)
    done = _ask(["-I", "-c", DESCRIBE], path)
    try:
        version, is_free_threaded, has_tensorflow = json.loads(done)
        return Interpreter(path, (version[0], version[1]), bool(is_free_threaded), bool(has_tensorflow))
    except (ValueError, TypeError, IndexError) as error:
        raise BadInput(
            "this is no Python that can be started",
            received=option_text("python", [asked]),
            hint="name an interpreter, such as /usr/bin/python3.12, or a version, such as 3.12",
        ) from error


def _ask(arguments: Sequence[str], python: Path) -> str:
    try:
        done = subprocess.run(
            [str(python), *arguments], capture_output=True, text=True, timeout=DESCRIBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _path_of_python(asked: str) -> Path:
    """Return the path of what an option names; uv finds versions, those with a `t` for free-threaded builds as well.

    Raises:
        BadInput: there is none.
    """
    path = Path(asked).expanduser()
    if os.sep in asked:
        if path.is_file():
            return path.absolute()  # not resolved: the link of an environment is what makes it one
    elif asked and not asked.startswith("-"):
        find = [find_uv(), "python", "find", "--no-project", "--no-python-downloads", asked]
        # Beside a virtual environment uv would look at its Python first.
        variables = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
        done = subprocess.run(find, capture_output=True, text=True, check=False, cwd="/", env=variables)
        if done.returncode == 0 and done.stdout.strip():
            return Path(done.stdout.strip())
    raise BadInput(
        "there is no such Python on this machine",
        received=option_text("python", [asked]),
        hint="name the path of an interpreter, or install the version, for example with uv python install",
    )


@dataclass(frozen=True)
class _Recipe:
    """How an environment is made: its folder, the interpreter, the lock of its TensorFlow, and packages beside it."""

    environment: Environment
    folder: Path
    interpreter: Interpreter
    tf: str

    @property
    def named(self) -> str:
        packages = [f"TensorFlow {self.tf}", *self.environment.packages]
        return f"{', '.join(packages)} on {self.interpreter.text}"

    @property
    def lock(self) -> Path:
        return LOCKS / f"{self.tf}.txt"


def _recipe_of(environment: Environment) -> _Recipe | None:
    """Return how to make an environment; None for an interpreter that has a TensorFlow, which is used as it is.

    Raises:
        BadInput: as `require_available`.
    """
    interpreter = find_interpreter(environment.python)
    is_made = environment.tf is not None or bool(environment.packages)
    if environment.python is not None and interpreter.has_tensorflow and not is_made:
        return None
    tf = installed_tensorflow() if environment.tf is None else environment.tf
    _require_lock(tf, interpreter, environment)
    digest = hashlib.sha256((LOCKS / f"{tf}.txt").read_bytes())
    if environment.packages or environment.python is not None:
        asked = [environment.packages, str(interpreter.path) if environment.python else None]
        digest.update(json.dumps(asked).encode())
    python = f"cp{interpreter.version[0]}{interpreter.version[1]}{'t' if interpreter.is_free_threaded else ''}"
    name = "-".join(["tensorflow", tf, *(pin.replace("==", "-") for pin in environment.packages[:MOST_NAMED]), python])
    folder = cache_folder.folder_of(ENVIRONMENTS) / f"{name}-{digest.hexdigest()[:12]}"
    return _Recipe(environment, folder, interpreter, tf)


def _require_lock(tf: str, interpreter: Interpreter, environment: Environment) -> None:
    known = available(interpreter.version)
    if tf in known:
        return
    same_minor = [one for one in known if tf.count(".") and one.startswith(_minor(tf) + ".")]
    near = f"take {same_minor[-1]}" if same_minor else "take one of these"
    named = f"{tf}, which is installed" if environment.tf is None else option_text("tf", [tf])
    received = [named] if environment.python is None else [named, option_text("python", [environment.python])]
    raise BadInput(
        f"TensorFlow {tf} is not available for {interpreter.text}" if tf in locked() else "no lock for this version",
        received=" with ".join(received),
        legal=f"with {interpreter.text}: {', '.join(known) or 'none'}",
        hint=f"{near}; CONTRIBUTING.md explains how to add a version",
    )


def installed_tensorflow() -> str:
    """Return the version of the TensorFlow that is installed beside this Python, without importing it.

    Raises:
        BadInput: there is none.
    """
    for name in DISTRIBUTIONS:
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    raise BadInput(
        "no TensorFlow is installed here whose version another environment could have",
        received=f"none of {', '.join(DISTRIBUTIONS)}",
        hint=f"name the version, for example {option_text('tf', [locked()[-1]])}",
    )


def folder_with_only(package: Path) -> Path:
    """Return a folder in the cache that holds a link to a package and nothing else, for PYTHONPATH."""
    digest = hashlib.sha256(str(package.resolve()).encode()).hexdigest()[:12]
    folder = cache_folder.make_folder(ENVIRONMENTS, "environments of TensorFlow") / f"{package.name}-{digest}"
    folder.mkdir(exist_ok=True)
    with hold_lock(folder.with_name(f"{folder.name}.lock")):
        link = folder / package.name
        if not link.is_symlink():
            link.symlink_to(package.resolve(), target_is_directory=True)
    return folder


def _is_whole(folder: Path) -> bool:
    # Without the Python that it was made with, the link to it leads nowhere.
    return (folder / READY).exists() and (folder / "bin" / "python").exists()


def _make(recipe: _Recipe) -> None:
    folder, uv = recipe.folder, find_uv()
    python = folder / "bin" / "python"
    made_with = str(recipe.interpreter.path)
    _run([uv, "venv", "--quiet", "--clear", "--no-project", "--python", made_with, str(folder)], recipe)
    # Compiled now, once, and not by the first worker, or by each where PYTHONDONTWRITEBYTECODE is set.
    options = ["--quiet", "--compile-bytecode", "--python", str(python)]
    if recipe.environment.packages:
        # Hashes are checked where the index has given some; what lies in a folder of wheels has none.
        _run([uv, "pip", "install", *options, "-r", str(_resolve(recipe, uv, python))], recipe)
    else:
        _run([uv, "pip", "install", *options, "--require-hashes", "-r", str(recipe.lock)], recipe)
    # By this file uv keeps two of itself apart, and lets everybody write to it.
    (folder / ".lock").unlink(missing_ok=True)
    (folder / READY).touch()


def _resolve(recipe: _Recipe, uv: str, python: Path) -> Path:
    """Write the lock of TensorFlow with other versions of some packages, and return its path.

    uv keeps what the lock has, where that goes with these versions.

    Raises:
        BadInput: they do not go with this TensorFlow; with what uv says.
    """
    lock = recipe.folder / "pyopbench-lock.txt"
    text = recipe.lock.read_text(encoding="utf-8")
    lock.write_text(text, encoding="utf-8")
    wanted = [
        (LOCKS / "requirements.in").read_text(encoding="utf-8"),
        *re.findall(rf"^tensorflow(?:-cpu)?=={re.escape(recipe.tf)} .*?(?= \\\\?$)", text, re.MULTILINE),
        *recipe.environment.packages,
    ]
    (recipe.folder / "requirements.in").write_text("\n".join(wanted) + "\n", encoding="utf-8")
    # Some tensorflow-cpu ask for a tensorflow-intel that was never published for them, on Windows only.
    (recipe.folder / "overrides.in").write_text("tensorflow-intel ; sys_platform == 'never'\n", encoding="utf-8")
    _run(
        [
            *(uv, "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate"),
            *("--python", str(python), "--override", str(recipe.folder / "overrides.in")),
            *(str(recipe.folder / "requirements.in"), "-o", str(lock)),
        ],
        recipe,
    )
    return lock


def find_uv() -> str:
    """Return the path of uv: beside this Python, or on PATH.

    Raises:
        BadInput: there is none.
    """
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


def _run(command: Sequence[str], recipe: _Recipe) -> None:
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
        )
    except subprocess.TimeoutExpired:
        told = f"uv took longer than {INSTALL_SECONDS} s"
    else:
        if not done.returncode:
            return
        told = " ".join(line.strip() for line in done.stderr.strip().splitlines()[-3:])
        told = told or f"uv ended with exit code {done.returncode} and no message"
    raise BadInput(
        f"cannot create the environment with {recipe.named}",
        received=told,
        hint=f"it needs a package index and about {INSTALLED_GB} GB of cache; try it by hand: {shlex.join(command)}",
    )


@contextmanager
def hold_lock(path: Path, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Hold the lock of a file, which is created; it goes with the process.

    Raises:
        BlockingIOError: `how` has `fcntl.LOCK_NB`, and another process holds it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
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
            prefix = str(cache_folder.make_folder(BYTECODE, "Python's bytecode"))
        except BadInput:  # it only saves time: a run needs no cache folder
            return {}
    return {PREFIX: prefix, DO_NOT_WRITE: ""}  # Python takes an empty one for none


def _is_compiled(python: Path | None) -> bool:
    """Whether TensorFlow has its bytecode beside its sources: one file stands for all, which are installed at once."""
    path = None if python is None else list(map(str, python.parent.parent.glob("lib/python*/site-packages")))
    spec = importlib.machinery.PathFinder.find_spec("tensorflow", path)
    if spec is None or spec.origin is None:
        return False
    source = Path(spec.origin)
    tag = sys.implementation.cache_tag if python is None else "*"  # an environment has one Python, which may be another
    return any((source.parent / "__pycache__").glob(f"{source.stem}.{tag}.pyc"))
