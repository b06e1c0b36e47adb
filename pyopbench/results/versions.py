"""One run on several versions of TensorFlow: a run of its own for each, in folders side by side, measured by turns.

`versions.json` names them. Each is a run like any other, with a report of its own; launches of the same number are a
block, in which versions are compared in pairs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from pyopbench.core.write_file import write_atomically
from pyopbench.results.open_file import VERSIONS, read_bytes
from pyopbench.results.strict_json import parse
from pyopbench.results.validation import converted, corrupt

FILE = "versions.json"
SCHEMA = 1
NUMBERS = re.compile(r"[0-9]+(\.[0-9]+)*")


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


class Named(Struct, frozen=True):
    """A version as `versions.json` holds it."""

    label: str
    tf: str


class Content(Struct, frozen=True):
    """The content of `versions.json`."""

    schema: int
    versions: list[Named]


def is_here(folder: Path) -> bool:
    """Whether a folder holds a run of several versions."""
    return os.path.lexists(folder / FILE)


def write(folder: Path, versions: Sequence[Version]) -> None:
    """Write down which versions a run is of, when each has its folder."""
    content = {"schema": SCHEMA, "versions": [{"label": version.label, "tf": version.tf} for version in versions]}
    write_atomically(folder / FILE, json.dumps(content, indent=1).encode())


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
        content = converted(parse(read_bytes(path, VERSIONS)), Content, str(path))
    except (ValueError, RecursionError) as error:
        raise corrupt(str(path), f"no JSON: {error}") from error
    wrong = _problem(content)
    if wrong:
        raise corrupt(str(path), wrong)
    found = named(folder, [version.tf for version in content.versions])
    links = [version.folder for version in found if version.folder.is_symlink()]
    if links:  # reports are written into it, and it may lead anywhere
        raise corrupt(str(links[0]), "a link in place of the folder of a version")
    return found


def _problem(content: Content) -> str | None:
    """Say what is wrong with a file of the right types, or return None."""
    asked = [version.tf for version in content.versions]
    if content.schema != SCHEMA:
        return f"schema is {content.schema}, and this pyopbench reads {SCHEMA}"
    if not asked:
        return "it names no version"
    strange = [tf for tf in asked if not NUMBERS.fullmatch(tf)]
    if strange:
        return f"{strange[0][:40]!r} is no version of TensorFlow"
    labels = [one.label for one in named(Path(), asked)]
    if labels != [version.label for version in content.versions]:
        return f"labels that do not belong to the versions, which are {', '.join(labels)[:80]}"
    return None
