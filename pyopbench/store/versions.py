"""One run on several versions: of TensorFlow, or revisions of the user's repository.

Each has a run of its own, in folders side by side, measured by turns; `versions.json` names them. Each is a run like
any other, with a report of its own; launches of the same number are a block, in which versions are compared in pairs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_atomically
from pyopbench.store import integrity, run_folder
from pyopbench.store.content import RunRevision
from pyopbench.store.open_file import RUN, VERSIONS, read_bytes
from pyopbench.store.strict_json import convert, corrupt, parse
from pyopbench.store.warnings import Changed

FILE = "versions.json"
SCHEMA = 1
REVISIONS_SCHEMA = 2
REVISION = "revision"
"""The axis of a run over revisions."""
HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
HASH_SHOWN = 10
"""Digits of a commit's hash that are shown."""
NUMBERS = re.compile(r"[0-9]+(\.[0-9]+)*")


class ValueDifference(Struct, frozen=True):
    """What a revision computes otherwise than the first one.

    Attributes:
        op, size, dtype: of the inputs.
        kind: `outputs` or `gradients` are others for the same inputs; `inputs`: the op brings others; `raised`: the
            body fails on the inputs of the first revision; `unknown`: it could not be found out.
        reason: the first place that differs, or why it is not known.
    """

    op: str
    size: int
    dtype: str
    kind: Literal["outputs", "gradients", "inputs", "raised", "unknown"]
    reason: str


class Values(Struct, frozen=True):
    """How many inputs of a revision were compared with the first revision's, and what came out otherwise."""

    compared: int = 0
    differences: tuple[ValueDifference, ...] = ()


class Revision(Struct, frozen=True):
    """A revision of the user's repository.

    Attributes:
        asked: how it is named.
        commit: its hash; of changes that are not committed that of a snapshot of them.
        date: of the commit, ISO 8601.
        subject: first line of its message.
        dirty: is it a snapshot of changes that are not committed?
        twin: is it the first revision a second time, as a control?
        problem: why nothing is measured of it; None where it is.
        values: what it computes otherwise than the first revision.
    """

    asked: str
    commit: str
    date: str
    subject: str
    dirty: bool = False
    twin: bool = False
    problem: str | None = None
    values: Values = Values()


@dataclass(frozen=True)
class Version:
    """One version in a run of several.

    Attributes:
        label: the version; with a number behind it from the second time on that it is asked for.
        tf: the version of TensorFlow; "" for a revision.
        folder: of its run.
        revision: None for a version of TensorFlow.
    """

    label: str
    tf: str
    folder: Path
    revision: Revision | None = None


class NamedVersion(Struct, frozen=True):
    """A version of TensorFlow as `versions.json` holds it."""

    label: str
    tf: str

    @property
    def problem(self) -> str | None:
        """What is wrong with it."""
        return None if NUMBERS.fullmatch(self.tf) else f"{self.tf[:40]!r} is no version of TensorFlow"


class NamedRevision(Struct, frozen=True):
    """A revision as `versions.json` holds it."""

    label: str
    revision: Revision

    @property
    def problem(self) -> str | None:
        """What is wrong with it."""
        commit = self.revision.commit
        return None if HASH.fullmatch(commit) else f"{commit[:40]!r} is no hash of a commit"


class Content(Struct, frozen=True):
    """The content of `versions.json` of versions of TensorFlow."""

    schema: int
    versions: list[NamedVersion]

    def named(self, folder: Path) -> list[Version]:
        """Return what it names."""
        return named(folder, [one.tf for one in self.versions])


class RevisionContent(Struct, frozen=True):
    """The content of `versions.json` of revisions."""

    schema: int
    versions: list[NamedRevision]

    def named(self, folder: Path) -> list[Version]:
        """Return what it names."""
        return named_revisions(folder, [one.revision for one in self.versions])


def is_here(folder: Path) -> bool:
    """Whether a folder holds a run of several versions."""
    return os.path.lexists(folder / FILE)


def write(folder: Path, versions: Sequence[Version]) -> None:
    """Write down which versions a run is of, when each has its folder."""
    if versions[0].revision is None:
        content = {"schema": SCHEMA, "versions": [{"label": version.label, "tf": version.tf} for version in versions]}
    else:
        named = [{"label": one.label, "revision": msgspec.to_builtins(one.revision)} for one in versions]
        content = {"schema": REVISIONS_SCHEMA, "axis": REVISION, "versions": named}
    write_atomically(folder / FILE, integrity.sealed(json.dumps(content, indent=1)))


def named(folder: Path, versions: Sequence[str]) -> list[Version]:
    """Return versions with their labels and folders: 2.21.0, and from its second time on with a number, 2.21.0-2."""
    labels = _labels(versions)
    return [Version(label, tf, folder / f"tf-{label}") for label, tf in zip(labels, versions, strict=True)]


def named_revisions(folder: Path, revisions: Sequence[Revision]) -> list[Version]:
    """Return revisions with their labels and folders, which are numbered: names of branches are none of files."""
    labels = _labels([short_hash(revision.asked) for revision in revisions])
    return [
        Version(label, "", folder / f"rev-{place}", revision)
        for place, (label, revision) in enumerate(zip(labels, revisions, strict=True), 1)
    ]


def short_hash(name: str) -> str:
    """Return the first digits of the hash of a commit, and anything else as it is."""
    return name[:HASH_SHOWN] if HASH.fullmatch(name) else name


def _labels(names: Sequence[str]) -> list[str]:
    return [
        name if name not in names[:place] else f"{name}-{1 + names[:place].count(name)}"
        for place, name in enumerate(names)
    ]


def read(folder: Path) -> list[Version]:
    """Return the versions of a run of several that have a run, in order.

    Raises:
        BadInput: the file is not as it was written.
    """
    return [version for version in read_all(folder) if version.revision is None or version.revision.problem is None]


def read_all(folder: Path) -> list[Version]:
    """Return the versions of a run of several, those too of which nothing could be planned.

    Raises:
        BadInput: the file is not as it was written.
    """
    path = folder / FILE
    raw = read_bytes(path, VERSIONS)
    try:
        document = parse(raw)
        is_of_revisions = isinstance(document, dict) and document.get("axis") == REVISION
        content = _content(document, str(path), is_of_revisions=is_of_revisions)
    except (ValueError, RecursionError) as error:
        raise corrupt(str(path), f"no JSON: {error}") from error
    wrong = _problem(content)
    if wrong:
        raise corrupt(str(path), wrong)
    found = content.named(folder)
    links = [version.folder for version in found if version.folder.is_symlink()]
    if links:  # reports are written into it, and it may lead anywhere
        raise corrupt(str(links[0]), "a link in place of the folder of a version")
    run_folder.require_unchanged(run_folder.changes_of(path, integrity.seal_of(raw)))
    for version in found:
        _require_its_run(version)
    return found


def changes(folder: Path) -> list[Changed]:
    """Return a warning if the file that names the versions is not as it was written."""
    return run_folder.changes_of(folder / FILE, integrity.seal_of(read_bytes(folder / FILE, VERSIONS)))


def _require_its_run(version: Version) -> None:
    """Check that the folder of a version holds the run of that version, where it holds one that can be read.

    Raises:
        BadInput: it holds that of another revision or another TensorFlow.
    """
    path = version.folder / run_folder.RUN_FILE
    try:
        run = parse(read_bytes(path, RUN))
        stored = run.get("revision") if version.revision is not None else {"tensorflow": _tensorflow_of(run)}
    except (OSError, ValueError, RecursionError, AttributeError, BadInput):
        return  # whoever reads the run says what is wrong with it
    wanted = {"tensorflow": version.tf}
    if version.revision is not None:
        wanted = msgspec.to_builtins(stored_in_run(version.revision))
    if stored != wanted:
        raise corrupt(str(path), f"a run of {_shown(stored)}, where {FILE} names {_shown(wanted)}")


def _tensorflow_of(run: Any) -> object:
    """Return the TensorFlow that a run was asked for, or else that it was planned with."""
    return run.get("settings", {}).get("tf", run.get("environment", {}).get("tensorflow"))


def stored_in_run(revision: Revision) -> RunRevision:
    """Return what the `run.json` of a revision says of it."""
    return RunRevision(**{name: getattr(revision, name) for name in RunRevision.__struct_fields__})


def _shown(stored: Any) -> str:
    values = stored.values() if isinstance(stored, dict) else [stored]
    return " ".join(str(one)[:HASH_SHOWN] for one in values)


def is_of_revisions(folder: Path) -> bool:
    """Whether a folder holds a run over revisions.

    Raises:
        BadInput: as `read`.
    """
    return is_here(folder) and read_all(folder)[0].revision is not None


def _content(document: object, place: str, *, is_of_revisions: bool) -> Content | RevisionContent:
    return convert(document, RevisionContent, place) if is_of_revisions else convert(document, Content, place)


def _problem(content: Content | RevisionContent) -> str | None:
    """Say what is wrong with a file of the right types, or return None."""
    schema = SCHEMA if isinstance(content, Content) else REVISIONS_SCHEMA
    if content.schema != schema:
        return f"schema is {content.schema}, and this pyopbench reads {schema}"
    if not content.versions:
        return "it names no version"
    strange = next((one.problem for one in content.versions if one.problem), None)
    if strange:
        return strange
    labels = [one.label for one in content.named(Path())]
    if labels != [version.label for version in content.versions]:
        return f"labels that do not belong to the versions, which are {', '.join(labels)[:80]}"
    return None
