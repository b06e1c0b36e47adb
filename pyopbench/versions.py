"""One run on several versions of TensorFlow: a run of its own for each, in folders side by side, measured by turns.

`versions.json` names them. Each is a run like any other, with a report of its own; launches of the same number are a
block, in which versions are compared in pairs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyopbench import store
from pyopbench.schema import TEXT, WHOLE, Shape, corrupt, departure

FILE = "versions.json"
SCHEMA = 1
SHAPE: Shape = {"schema": WHOLE, "versions": [{"label": TEXT, "tf": TEXT}]}


@dataclass(frozen=True)
class Version:
    """One version in a run of several.

    Attributes:
        label: the version; with a number behind it from the second time on that it is asked for.
        tf: the version.
        folder: of its run.
    """

    label: str
    tf: str
    folder: Path


def is_here(folder: Path) -> bool:
    """Whether a folder holds a run of several versions."""
    return (folder / FILE).is_file()


def write(folder: Path, versions: Sequence[Version]) -> None:
    """Write down which versions a run is of, when each has its folder."""
    content = {"schema": SCHEMA, "versions": [{"label": version.label, "tf": version.tf} for version in versions]}
    store.write_atomically(folder / FILE, json.dumps(content, indent=1).encode())


def named(folder: Path, versions: Sequence[str]) -> list[Version]:
    """Return versions with their labels and folders: 2.21.0, and from its second time on with a number, 2.21.0-2."""
    labels = [
        version if version not in versions[:place] else f"{version}-{1 + versions[:place].count(version)}"
        for place, version in enumerate(versions)
    ]
    return [Version(label, tf, folder / f"tf-{label}") for label, tf in zip(labels, versions, strict=True)]


def read(folder: Path) -> list[Version]:
    """Return the versions of a run of several.

    Raises:
        BadInput: the file is not as it was written.
    """
    path = folder / FILE
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise corrupt(str(path), f"no JSON: {error}") from error
    problem = departure(content, SHAPE)
    if problem is None and content["schema"] != SCHEMA:
        problem = f"schema is {content['schema']}, and this pyopbench reads {SCHEMA}"
    if problem is None:
        outside = [version["tf"] for version in content["versions"] if not re.fullmatch(r"[\w.+-]+", version["tf"])]
        problem = f"no version of TensorFlow, and a name of a folder: {outside[0]!r:.80}" if outside else None
    found = [] if problem else named(folder, [version["tf"] for version in content["versions"]])
    if problem is None and [one.label for one in found] != [version["label"] for version in content["versions"]]:
        problem = f"labels that do not belong to the versions, which are {', '.join(one.label for one in found)[:80]}"
    if problem is not None:
        raise corrupt(str(path), problem)
    return found
