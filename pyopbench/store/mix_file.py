"""The CSV file of a mix: how often a program calls an op at each size. `record` writes it, `--mix` reads it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pyopbench.model.errors import BadInput
from pyopbench.model.parse import parse_size
from pyopbench.model.write_file import write_atomically

Calls: TypeAlias = Mapping[int, float] | Mapping[tuple[str, int], float]
"""How often a size is called, or a size in a dtype."""

HEADER = ["size", "weight"]
HEADERS = (HEADER, ["shape", "weight"], ["size", "dtype", "weight"], ["shape", "dtype", "weight"])
REMEDY = "fix the file: one line per size below the header, for example size,weight and then 1000,5"


def write_mix(path: Path, calls: Mapping[int, float]) -> None:
    """Write a mix as a CSV file that `read_mix` reads.

    Args:
        path: the file; one that is there already is replaced.
        calls: size -> how often it is called, in the order of the file's lines.

    Raises:
        OSError: the file cannot be written.
    """
    rows = io.StringIO()
    csv.writer(rows, lineterminator="\n").writerows([HEADER, *calls.items()])
    write_atomically(path, rows.getvalue().encode())


def read_mix(path: Path) -> Calls:
    """Read a mix from a CSV file: how often each size, or each shape, is called, in any dtype or in each.

    A shape is that of the largest input, such as `480x640x3`, and counts its elements.

    Args:
        path: the file; a line per size, blank lines are skipped.

    Returns:
        size -> weight, in the order of the file; with a column of dtypes (dtype, size) -> weight.

    Raises:
        BadInput: the file cannot be read, has another header, no line, or a line that is not a new size or shape
            and a positive finite weight; names the file and the line.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"cannot read the mix {path}",
            received=error,
            legal="a CSV file in UTF-8",
            hint=REMEDY,
        ) from error
    rows = [(number, _cells(path, number, line)) for number, line in enumerate(lines, start=1) if line.strip()]
    header = _read_header(path, rows)
    mix: dict[tuple[str, int], float] = {}
    for number, row in rows[1:]:
        key, weight = _read_row(dict(zip(header, row, strict=False)), row, f"{path}, line {number}")
        if key in mix:
            raise BadInput(
                f"{path}, line {number}: this size appears twice",
                received=key[1],
                legal="each size once",
                hint=REMEDY,
            )
        mix[key] = weight
    return mix if "dtype" in header else {size: weight for (_, size), weight in mix.items()}


def _cells(path: Path, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line]))
    except csv.Error as error:  # a cell of more than 128 KiB, for example
        raise BadInput(
            f"{path}, line {number}: not CSV", received=error, legal="a size and a weight", hint=REMEDY
        ) from error


def _read_header(path: Path, rows: Sequence[tuple[int, Sequence[str]]]) -> list[str]:
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    if header not in HEADERS:
        where = f"{path}, line {rows[0][0] if rows else 1}"
        received = ",".join(rows[0][1]) if rows else "an empty file"
        raise BadInput(
            f"{where}: not a header of a mix",
            received=received,
            legal=" or ".join(map(",".join, HEADERS)),
            hint=REMEDY,
        )
    if len(rows) == 1:
        raise BadInput(
            f"{path}, line {rows[0][0]}: the mix has no sizes",
            received="no size",
            legal="at least one size",
            hint=REMEDY,
        )
    return header


def _read_row(cells: Mapping[str, str], row: Sequence[str], where: str) -> tuple[tuple[str, int], float]:
    size_or_shape = "a whole number such as 1000 or 1e3, or a shape such as 480x640x3"
    legal = f"{','.join(cells)}: {size_or_shape}, and a positive finite number"
    try:
        if len(cells) != len(row):
            raise ValueError(f"{len(row)} cells")
        shape = [cells["size"]] if "size" in cells else cells["shape"].split("x")
        size = math.prod(map(parse_size, shape))
        weight = float(cells["weight"])
    except (KeyError, ValueError, BadInput) as error:
        raise BadInput(f"{where}: not a size and a weight", received=",".join(row), legal=legal, hint=REMEDY) from error
    if size <= 0 or not (math.isfinite(weight) and weight > 0):
        raise BadInput(f"{where}: not positive and finite", received=",".join(row), legal=legal, hint=REMEDY)
    return (cells.get("dtype", "").strip(), size), weight
