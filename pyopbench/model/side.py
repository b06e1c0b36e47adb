"""A side of a run: what its cases run on. That is a TensorFlow, versions of packages, a Python, or a revision."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps, split_input

PIN = re.compile(r"(?P<name>[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)==(?P<version>[A-Za-z0-9.!+_-]+)")
"""A package with one version (PEP 508, PEP 440); with a range, a new release would be another side."""
TENSORFLOW = ("tensorflow", "tensorflow-cpu")
CHECKOUT_VARIABLE = "PYOPBENCH_CHECKOUT"
PYTHON_PATH = "PYTHONPATH"
INSTALLED = ("site-packages", "dist-packages")
"""Folders of what is installed: an environment may lie within the repository, and is of no revision."""


@dataclass(frozen=True)
class Environment:
    """What workers import and are run by, as it is asked for."""

    tf: str | None = None  # the version of TensorFlow; None for the one that is installed here
    packages: tuple[str, ...] = ()  # versions of other packages, such as `numpy==1.26.4`, in the order of their names
    python: str | None = None  # an interpreter or its version; None for this one

    @property
    def is_here(self) -> bool:
        """Whether it is the environment that pyopbench itself runs in."""
        return self == HERE

    @property
    def text(self) -> str:
        """What is asked for, in words."""
        return f"TensorFlow {self.label}" if self.tf else self.label or "the installed packages"

    @property
    def label(self) -> str:
        """What a side that differs by it is called."""
        return " ".join(filter(None, [self.tf, *self.packages, f"python {self.python}" if self.python else ""]))


HERE = Environment()


def read_packages(text: str) -> tuple[str, ...]:
    """Return the versions of packages that one `--with` names, in the order of their names.

    >>> read_packages("scipy==1.13.1,NumPy==1.26.4")
    ('numpy==1.26.4', 'scipy==1.13.1')
    """
    versions: dict[str, str] = {}
    for word in (part.strip() for part in text.split(",")):
        pin = PIN.fullmatch(word)
        name = re.sub("[-_.]+", "-", pin["name"]).lower() if pin else ""
        if pin is None or name in versions or name in TENSORFLOW:
            raise BadInput(
                "a side has one version of each package, and TensorFlow's version is given by --tf",
                received=f"--with {text}",
                hint="for example --with numpy==1.26.4 or --tf 2.21.0",
            )
        versions[name] = pin["version"]
    return tuple(f"{name}=={versions[name]}" for name in sorted(versions))


def combine_environments(
    tf: Sequence[str] = (), packages: Sequence[str] = (), python: Sequence[str] = ()
) -> list[Environment]:
    """Return an environment for each combination of what options name, the first option varying slowest.

    >>> [environment.label for environment in combine_environments(["2.20.0", "2.21.0"], ["numpy==2.2.6"])]
    ['2.20.0 numpy==2.2.6', '2.21.0 numpy==2.2.6']
    """
    versions: Sequence[str | None] = tf or [None]
    interpreters: Sequence[str | None] = python or [None]
    pins = [read_packages(text) for text in packages] or [()]
    return [Environment(*chosen) for chosen in product(versions, pins, interpreters)]


# The files of a revision stand in for the user's repository, as the place where a worker finds what it imports. A path
# in the working tree is moved to the same place in the checkout. An environment variable names the working tree to the
# worker, which then refuses modules that were imported from it all the same.


def is_installed(path: Path) -> bool:
    """Whether a path lies in a folder of what is installed."""
    return bool({*INSTALLED} & set(path.parts))


@dataclass(frozen=True)
class Checkout:
    """The files of one revision."""

    repository: Path  # the top folder of the working tree
    folder: Path  # that of the checkout
    package: Path  # is put on the path so that pyopbench is found; one in `repository` is moved as well

    def moved(self, path: Path) -> Path:
        """Return where a file or folder of the working tree is in the checkout; any other path as it is."""
        path = path.resolve()
        if not path.is_relative_to(self.repository) or path.is_relative_to(self.folder):
            return path
        return self.folder / path.relative_to(self.repository)

    @property
    def current_folder(self) -> Path:
        """The counterpart of the current folder, or the nearest folder above that which the revision has."""
        here = self.moved(Path.cwd())
        if not here.is_relative_to(self.folder):
            return here
        return next(folder for folder in (here, *here.parents) if folder.is_dir())

    def moved_ops(self, own: OwnOps) -> OwnOps:
        """Return own ops as the revision has them; a file of inputs is the command line's, and the same for all."""
        return {
            name: replace(
                target,
                place=str(self.moved(Path(target.place))) if target.is_file else target.place,
                inputs=tuple(map(_absolute, target.inputs)),
            )
            for name, target in own.items()
        }

    def variables(self) -> dict[str, str]:
        """Return the environment variables of a worker that takes everything from the checkout."""
        here = [Path(entry) for entry in sys.path if entry and not is_installed(Path(entry))]
        moved = [found for entry in here if (found := self.moved(entry)) != entry.resolve() and found.is_dir()]
        folders = [Path(entry) for entry in os.environ.get(PYTHON_PATH, "").split(os.pathsep) if entry]
        paths = [self.moved(self.package), *moved, *map(self.moved, folders)]
        return {
            CHECKOUT_VARIABLE: json.dumps({"repository": str(self.repository), "folder": str(self.folder)}),
            PYTHON_PATH: os.pathsep.join(dict.fromkeys(map(str, paths))),
        }


def _absolute(text: str) -> str:
    name, expression = split_input(text)
    if not expression.endswith(".npy"):
        return text
    return f"{name}{'=' if name else ''}{Path(expression).resolve()}"


def require_from_checkout(environment: Mapping[str, str]) -> None:
    """Check that a process that measures a revision has imported nothing from the working tree."""
    if CHECKOUT_VARIABLE not in environment:
        return
    paths = json.loads(environment[CHECKOUT_VARIABLE])
    repository, folder = Path(paths["repository"]), Path(paths["folder"])
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str):
            continue
        path = Path(file).resolve()
        of_environment = is_installed(path) or path.is_relative_to(Path(sys.prefix).resolve())
        if path.is_relative_to(repository) and not path.is_relative_to(folder) and not of_environment:
            raise BadInput(
                "a module is imported from the working tree instead of the revision",
                received=f"{name}, from {path}",
                hint="modules are found from the current folder, the folder of the op and PYTHONPATH; "
                "put the folder of the package on PYTHONPATH",
            )
