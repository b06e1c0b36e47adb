"""What probes found before, kept in the user's data folder: runs need not try again what this TensorFlow can do.

There is a file for each software and state of the probes, and one more for each op that something was tried with and
each state of its files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import platformdirs

from pyopbench.model.discover import BUILTIN, KERNELS, OPS, PACKAGE, WORKER, find
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import brought
from pyopbench.store import probes
from pyopbench.store.probes import SOFTWARE

SOURCES = (".py", ".cc", ".cpp", ".cu", ".h", ".hpp")
"""What an op may be made of: its file may load any of these that lies beside it."""

KERNEL_FOLDERS = (BUILTIN, OPS / "numba_bodies", KERNELS)
"""Where the bodies of the built-in ops are."""

DIGITS = 12
"""Of a digest in the name of a file."""


def keep(document: Mapping[str, Any]) -> None:
    """Keep what was found, beside what was found before on the same software with the same ops."""
    rows = probes.rows_of(document)
    for op in dict.fromkeys(row.op for row in rows):
        path = path_for(document, op)
        if path is None:
            continue
        part = {**document, "rows": [row for row in document["rows"] if row.get("op") == op]}
        try:
            probes.write(path, probes.merged(_read(path), part))
        except OSError:
            return  # a home that cannot be written to only costs the time of trying again


def kept(software: Mapping[str, Any], ops: Iterable[str] = ()) -> dict[str, Any] | None:
    """Return what was found before with the same software and the same probes and variants; None if nothing was.

    Args:
        software: the keys of `SOFTWARE`.
        ops: what was found with these ops as well, as they are now.
    """
    paths = [path_for(software, op) for op in (None, *ops)]
    found = [document for path in paths if path is not None and (document := _read(path)) is not None]
    return reduce(probes.merged, found) if found else None


def path_for(software: Mapping[str, Any], op: str | None = None) -> Path | None:
    """Return where what was found with some software (the keys of `SOFTWARE`) is kept, with the cube or with an op.

    None for an op that is named as a module: where its source is, only an import would tell.
    """
    digests = [_digest(_sources())]
    if op is not None:
        of_op = _digest_of(op)
        if of_op is None:
            return None
        digests += [op, of_op]
    name = "-".join(str(software[key]) for key in SOFTWARE)
    folder = Path(platformdirs.user_data_dir("pyopbench", appauthor=False)) / "probes"
    return folder / f"{re.sub('[^A-Za-z0-9.]+', '-', name)}-{'-'.join(digests)}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return probes.read(path) if path.exists() else None
    except BadInput:
        return None


def _sources() -> list[Path]:
    """Return the files of what is tried: probes, what they are made of, and variants."""
    parts = (WORKER / "subject.py", WORKER / "op_subject.py", WORKER / "second_derivative.py")
    return sorted({*(WORKER / "probes").glob("*.py"), *parts, *find("variants").values()})


def _digest_of(op: str) -> str | None:
    """Return a digest of all that an op may be made of; None where it is not there, or only an import would tell."""
    target = brought().get(op)
    path = find("ops").get(op) if target is None else Path(target.place) if target.is_file else None
    if path is None:
        return None
    words = [] if target is None else [target.function, *target.inputs]
    inputs = [Path(text) for text in words if text.endswith(".npy")]
    try:
        beside = [one for folder in _folders_of(path) for one in folder.iterdir() if one.suffix in SOURCES]
        return _digest(sorted({path, *beside, *inputs}), words)
    except OSError:
        return None


def _folders_of(path: Path) -> Sequence[Path]:
    """Return the folders that hold what the file of an op may load."""
    if PACKAGE in path.parents:
        return KERNEL_FOLDERS
    root = path.parent.parent
    # A folder of PYOPBENCH_PATH holds its ops in a folder, and beside that what they share.
    return (
        [root, *(one for one in root.iterdir() if one.is_dir())]
        if path.parent == BUILTIN or path.parent.name == "ops"
        else [path.parent]
    )


def _digest(paths: Iterable[Path], words: Iterable[str] = ()) -> str:
    found = hashlib.sha256("\0".join(words).encode())
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:DIGITS]
