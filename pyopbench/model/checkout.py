"""The files of a revision, which stand in for the user's repository: where a worker finds what it imports.

A path in the working tree is moved to the same place in the checkout. The worker gets to know of it by an environment
variable, so that it can refuse what was imported from the working tree all the same.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps, split_input

VARIABLE = "PYOPBENCH_CHECKOUT"
PYTHON_PATH = "PYTHONPATH"
INSTALLED = ("site-packages", "dist-packages")
"""Folders of what is installed: an environment may lie within the repository, and is of no revision."""


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
            VARIABLE: json.dumps({"repository": str(self.repository), "folder": str(self.folder)}),
            PYTHON_PATH: os.pathsep.join(dict.fromkeys(map(str, paths))),
        }


def _absolute(text: str) -> str:
    name, expression = split_input(text)
    if not expression.endswith(".npy"):
        return text
    return f"{name}{'=' if name else ''}{Path(expression).resolve()}"


def require_from_checkout(environment: Mapping[str, str]) -> None:
    """Check that a process that measures a revision has imported nothing from the working tree."""
    if VARIABLE not in environment:
        return
    paths = json.loads(environment[VARIABLE])
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
