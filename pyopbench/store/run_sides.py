"""The sides of one run: what its cases were run on, in one list, whatever the sides differ in.

Each has its rows in a folder of its own, measured interleaved; `sides.json` names them. Each of these is a run like any
other, with a report of its own; launches of the same number are a block, in which sides are compared in pairs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.parse import parse_fail_on
from pyopbench.model.paths import real_path
from pyopbench.model.side import Environment, read_packages
from pyopbench.model.write_file import write_atomically
from pyopbench.store import json_file, run_folder
from pyopbench.store.json_file import corrupt
from pyopbench.store.run_folder import OpenSide
from pyopbench.store.run_json import Revision

FILE = "sides.json"
HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
HASH_SHOWN = 10
"""Digits of a commit's hash that are shown."""
NUMBERS = re.compile(r"[0-9]+(\.[0-9]+)*")


class ValueDifference(Struct, frozen=True):
    """What a side computes otherwise than the first one.

    Attributes:
        op, size, dtype: of the inputs.
        kind: `outputs` or `gradients` are others for the same inputs; `inputs`: the op brings others; `raised`: the
            body fails on the inputs of the first side; `unknown`: it could not be found out.
        reason: the first place that differs, or why it is not known.
    """

    op: str
    size: int
    dtype: str
    kind: Literal["outputs", "gradients", "inputs", "raised", "unknown"]
    reason: str


class Values(Struct, frozen=True):
    """How many inputs of a side were compared with the first side's, and what came out otherwise."""

    compared: int = 0
    differences: tuple[ValueDifference, ...] = ()


class Side(Struct, frozen=True, omit_defaults=True):
    """One side of a run.

    Attributes:
        label: what it is called; with a number behind it from the second time on that it is asked for.
        tf, packages, python: its environment, as in `model.side.Environment`.
        revision: of the user's repository; None for the working tree.
        is_control: is it the first side a second time, for an A/A control?
        problem: why nothing is measured of it; None where it is.
        values: what it computes otherwise than the first side.
        folder: of its run; not stored.
    """

    label: str
    tf: str | None = None
    packages: tuple[str, ...] = ()
    python: str | None = None
    revision: Revision | None = None
    is_control: bool = False
    problem: str | None = None
    values: Values = Values()
    folder: Path = Path()

    @property
    def environment(self) -> Environment:
        """What it is run by."""
        return Environment(self.tf, self.packages, self.python)

    @property
    def is_of_tf_alone(self) -> bool:
        """Whether a version of TensorFlow is all that is asked for."""
        return self.tf is not None and self.label.startswith(self.tf) and self.environment == Environment(self.tf)


class Content(Struct, frozen=True):
    """The content of `sides.json`.

    Attributes:
        sides: all of them.
        fail_on: what the comparison was to fail on, as the option; None if that was not given.
        minimum_effect: the smallest difference that counts, as a share; None if it is not known.
    """

    sides: list[Side]
    fail_on: str | None = None
    minimum_effect: Annotated[float, Meta(gt=0, lt=1)] | None = None


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A run in memory, with its append-only folder behind it.

    Whoever has measured it judges this, and reads nothing of what it has written.

    Attributes:
        folder: of the run.
        measured: each of its sides that is measured, in order: what was planned for it and what has been measured.
        sides: what they differ in, those too of which nothing could be planned; none where the run has one side, whose
            folder is that of the run.
        fail_on, minimum_effect: what the comparison of its sides was to fail on, and the smallest difference that
            counts, as in `Content`.
        own: the own ops of the run as they are named to this process, for its workers; never what the folder names.
    """

    folder: Path
    measured: tuple[OpenSide, ...]
    sides: tuple[Side, ...] = ()
    fail_on: str | None = None
    minimum_effect: float | None = None
    own: OwnOps = NO_OWN_OPS

    @property
    def has_several_sides(self) -> bool:
        """Whether its sides have folders."""
        return bool(self.sides)

    @property
    def has_revisions(self) -> bool:
        """Whether a side is a revision."""
        return any(side.revision is not None for side in self.sides)

    @property
    def measured_sides(self) -> list[Side]:
        """What the sides that are measured differ in, in the order of `measured`."""
        return [side for side in self.sides if side.problem is None]

    def alone(self, folder: Path) -> OpenRun:
        """Return the run on one side, by the folder of that, as if there were no others."""
        return OpenRun(folder, tuple(side for side in self.measured if side.folder == folder), own=self.own)


Source: TypeAlias = Path | OpenRun
"""Where results are: in a folder or a file, or in memory with whoever has measured them."""


def open_sources(sources: Sequence[Source]) -> list[Source]:
    """Return sources as `open_source` does, each folder once.

    Raises:
        BadInput: a run cannot be read.
    """
    unique: dict[object, Source] = {}
    for source in sources:
        unique.setdefault(real_path(source) if isinstance(source, Path) and _is_own(source) else source, source)
    return list(map(open_source, unique.values()))


def open_source(source: Source) -> Source:
    """Return a source with the run open where it is one of pyopbench's own; a file of another tool stays a path.

    Raises:
        BadInput: a run cannot be read.
    """
    if isinstance(source, OpenRun):
        return source
    return open_run(source) if _is_own(source) else source


def _is_own(path: Path) -> bool:
    return path.is_dir() and (is_here(path) or (path / run_folder.RUN_FILE).exists())


def are_on_one_side(sources: Sequence[Source]) -> bool:
    """Whether all are runs of pyopbench on one side, and not results of another tool."""
    return all(isinstance(source, OpenRun) and not source.has_several_sides for source in sources)


def open_run(source: Source) -> OpenRun:
    """Return a run as it is on the disk, or as it is in memory where it is open.

    Raises:
        BadInput: a file is missing or corrupt.
    """
    if isinstance(source, OpenRun):
        return source
    folder = source
    if not is_here(folder):
        return OpenRun(folder, (run_folder.open_side(folder),))
    content = _read(folder)
    sides = content.sides
    measured = tuple(run_folder.open_side(side.folder) for side in sides if side.problem is None)
    return OpenRun(folder, measured, tuple(sides), content.fail_on, content.minimum_effect)


def is_here(folder: Path) -> bool:
    """Whether a folder holds a run whose sides have folders."""
    return os.path.lexists(folder / FILE)


def axis_of(sides: Sequence[Side]) -> Literal["commit", "tf", "side"]:
    """Return what sides differ in, as `compare --axis` takes it."""
    if all(side.revision is not None for side in sides):
        return "commit"
    return "tf" if all(side.is_of_tf_alone for side in sides) else "side"


def write(folder: Path, sides: Sequence[Side], minimum_effect: float | None = None, fail_on: str | None = None) -> None:
    """Write which sides a run has, when each has its folder, and how they are to be judged, as in `Content`."""
    stored = [{name: value for name, value in _builtins(side).items() if name != "folder"} for side in sides]
    judged = {"fail_on": fail_on, "minimum_effect": minimum_effect}
    document = {"sides": stored, **{name: value for name, value in judged.items() if value is not None}}
    write_atomically(folder / FILE, json_file.encode_in_lines(document))


def _builtins(side: Side) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(replace(side, folder=Path()), enc_hook=str)
    return plain


def name_sides(folder: Path, sides: Sequence[Side]) -> list[Side]:
    """Return sides with labels and folders: 2.21.0, and from its second time on with a number, 2.21.0-2."""
    names = [_name(side) for side in sides]
    labels = [
        name if name not in names[:place] else f"{name}-{1 + names[:place].count(name)}"
        for place, name in enumerate(names)
    ]
    return [
        replace(side, label=label, folder=folder / _folder_name(side, label, place))
        for place, (side, label) in enumerate(zip(sides, labels, strict=True), 1)
    ]


def _name(side: Side) -> str:
    asked = "" if side.revision is None else short_hash(side.revision.asked)
    return " ".join(filter(None, [asked, side.environment.label])) or "here"


def _folder_name(side: Side, label: str, place: int) -> str:
    """Return the name of the folder of a side: names of branches and packages are none of files."""
    if side.revision is not None:
        return f"rev-{place}"
    return f"tf-{label}" if side.environment == Environment(side.tf) else f"side-{place}"


def short_hash(name: str) -> str:
    """Return the first digits of the hash of a commit, and anything else as it is."""
    return name[:HASH_SHOWN] if HASH.fullmatch(name) else name


def read(folder: Path) -> list[Side]:
    """Return the sides of a run that are measured, in order.

    Raises:
        BadInput: the file is not as it was written.
    """
    return [side for side in read_all(folder) if side.problem is None]


def read_all(folder: Path) -> list[Side]:
    """Return the sides of a run, those too of which nothing could be planned.

    Raises:
        BadInput: the file is not as it was written.
    """
    return _read(folder).sides


def _read(folder: Path) -> Content:
    """Return what the file says, each side with its folder."""
    path = folder / FILE
    content = json_file.read(path, Content)
    wrong = _problem(content)
    if wrong:
        raise corrupt(str(path), wrong)
    return replace(content, sides=name_sides(folder, content.sides))


def _problem(content: Content) -> str | None:
    """Say what is wrong with a file of the right types, or return None."""
    if not content.sides:
        return "it names no side"
    if content.fail_on is not None:
        try:
            parse_fail_on(content.fail_on, 0.0)
        except BadInput:
            return f"{content.fail_on[:40]!r} is no condition to fail on"
    return next(filter(None, map(_problem_of, content.sides)), None)


def _problem_of(side: Side) -> str | None:
    if side.tf is not None and not NUMBERS.fullmatch(side.tf):
        return f"{side.tf[:40]!r} is no version of TensorFlow"
    try:
        known = read_packages(",".join(side.packages)) if side.packages else ()
    except BadInput:
        known = None
    return None if known == side.packages else f"{','.join(side.packages)[:40]!r} names no versions of packages"
