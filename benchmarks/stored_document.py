"""A JSON file of results that grows while it is made: with what, where and how it is made, and what is done so far."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pyopbench.model.cores import usable_cores
from pyopbench.model.errors import BadInput

MADE_WITH = ("version", "environment", "settings")
"""Keys that have to be equal for a run to go on with what another one stored."""


def begin(file_version: int, packages: Iterable[str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without results.

    Args:
        file_version: of the format; it grows when a key changes its meaning.
        packages: distributions whose versions the results depend on; one that is not installed is left out.
        settings: what else the results depend on.
    """
    return {
        "version": file_version,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "environment": environment(packages),
        "settings": dict(settings),
    }


def environment(packages: Iterable[str]) -> dict[str, Any]:
    """Return Python, machine, cores and the versions of packages."""
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": len(usable_cores()),
        "packages": {name: found for name in packages if (found := _version(name))},
    }


def environment_text(found: Mapping[str, Any]) -> str:
    """Return an environment in words: cores, machine, packages."""
    packages = [f"{name} {its_version}" for name, its_version in found["packages"].items()]
    return ", ".join([f"{found['cores']} cores", found["machine"], *packages])


def read_to_go_on(path: Path, begun: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file holds, to go on with it.

    Raises:
        BadInput: there is no such file, or it was made elsewhere, with other versions or with other options.
    """
    if not path.exists():
        raise BadInput(
            "there is nothing to go on with",
            received=str(path),
            legal="a file that this script wrote",
            hint="leave out --resume",
        )
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for what in MADE_WITH:
        if stored.get(what) != begun[what]:
            raise BadInput(
                f"{path} was made with another {what}, so this run cannot go on with it",
                received=json.dumps(stored.get(what)),
                legal=json.dumps(begun[what]),
                hint="leave out --resume to begin again, or name another file with --json",
            )
    return stored


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document atomically, so that an interrupted run leaves the last one, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    part.replace(path)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
