"""A mix of sizes: which share of today's time the op spends at each size."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.arguments import parse_size
from pyopbench.errors import BadInput

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Calls: TypeAlias = Mapping[int, float] | Mapping[tuple[str, int], float]
"""How often a size is called, or a size in a dtype."""

HEADER = ["size", "weight"]
HEADERS = (HEADER, ["shape", "weight"], ["size", "dtype", "weight"], ["shape", "dtype", "weight"])
REMEDY = "mend the file: a line for each size below the header, for example size,weight and then 1000,5"


@dataclass(frozen=True, eq=False)
class Mix:
    """Shares of today's time by size, and how to read off a size that lies between two measured ones.

    Attributes:
        sizes: the sizes of the mix, ascending (points).
        shares: `(points,)` float64, share of the baseline's time that is spent at each; sums to 1.
        measured: sizes at which the baseline was measured, ascending.
        weights: `(points, measured)` float64, rows sum to 1: linear interpolation over the log of the size.
    """

    sizes: tuple[int, ...]
    shares: Floats
    measured: tuple[int, ...]
    weights: Floats

    @cached_property
    def needed(self) -> tuple[int, ...]:
        """The measured sizes that the mix draws on."""
        return tuple(size for size, column in zip(self.measured, self.weights.T, strict=True) if np.any(column))

    def ratios(self, log_ratios: npt.ArrayLike) -> Floats:
        """Return the ratios at the sizes of the mix.

        Args:
            log_ratios: `(..., needed)` float64, log of candidate over baseline at the sizes `needed`.

        Returns:
            `(..., points)` float64, seconds over the baseline's seconds.
        """
        columns = [self.measured.index(size) for size in self.needed]
        return np.exp(np.asarray(log_ratios, dtype=np.float64) @ self.weights[:, columns].T)

    def cost(self, log_ratios: npt.ArrayLike) -> Floats:
        """Return the time afterwards over the time today, `(...)` for log ratios `(..., needed)`.

        A share of today's time times seconds-afterwards over seconds-today is time afterwards, so shares of *time*
        (not of calls) are the weights under which ratios may be averaged.
        """
        return np.asarray(self.ratios(log_ratios) @ self.shares, dtype=np.float64)


def even_mix(measured: Sequence[int]) -> Mix:
    """Return the mix of someone who has given none: today's time is spread evenly over the log of the size.

    The share of a size is its weight in the trapezoid rule over log(size); all of it for one size alone.
    """
    logs = np.log(np.asarray(measured, dtype=np.float64))
    gaps = np.diff(logs)
    widths = np.append(gaps, 0) + np.insert(gaps, 0, 0) if gaps.size else np.ones(1)
    return Mix(tuple(measured), widths / widths.sum(), tuple(measured), np.eye(len(measured)))


def calls_mix(calls: Mapping[int, float], seconds: Mapping[int, float], what: str) -> Mix:
    """Return the mix in which a size is called in proportion to `calls[size]`.

    Args:
        calls: size -> weight, any positive numbers.
        seconds: measured size -> seconds per call of the baseline, at least one.
        what: whose seconds these are, for the message of the error.

    Returns:
        The mix; what lies between two measured sizes is interpolated with both axes in logs.

    Raises:
        BadInput: a size lies outside the measured range.
    """
    sizes, measured = sorted(calls), sorted(seconds)
    outside = [size for size in sizes if not measured[0] <= size <= measured[-1]]
    if outside:
        raise BadInput(
            f"the mix holds sizes outside the measured range of {what}",
            received=", ".join(str(size) for size in outside),
            legal=f"sizes from {measured[0]} to {measured[-1]}",
            next_step="measure these sizes as well (--axis size=...), or take them out of the mix",
        )
    places = np.log(np.asarray(measured, dtype=np.float64))
    rows = [np.interp(np.log(sizes), places, column) for column in np.eye(len(measured))]
    weights = np.stack(rows, axis=1)
    at = np.exp(weights @ np.log([seconds[size] for size in measured]))
    shares = np.array([calls[size] for size in sizes]) * at
    return Mix(tuple(sizes), shares / shares.sum(), tuple(measured), weights)


def calls_in(calls: Calls, dtype: str) -> dict[int, float]:
    """Return how often each size is called in a dtype; without dtypes in the mix, in any."""
    pairs = [(key if isinstance(key, tuple) else (dtype, key), weight) for key, weight in calls.items()]
    return {size: weight for (name, size), weight in pairs if name == dtype}


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
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"cannot read the mix {path}",
            received=error,
            legal="a CSV file in UTF-8",
            next_step=REMEDY,
        ) from error
    rows = [(number, next(csv.reader([line]))) for number, line in enumerate(lines, start=1) if line.strip()]
    header = _read_header(path, rows)
    mix: dict[tuple[str, int], float] = {}
    for number, row in rows[1:]:
        key, weight = _read_row(dict(zip(header, row, strict=False)), row, f"{path}, line {number}")
        if key in mix:
            raise BadInput(
                f"{path}, line {number}: the size is there twice",
                received=key[1],
                legal="each size once",
                next_step=REMEDY,
            )
        mix[key] = weight
    return mix if "dtype" in header else {size: weight for (_, size), weight in mix.items()}


def _read_header(path: Path, rows: Sequence[tuple[int, Sequence[str]]]) -> list[str]:
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    if header not in HEADERS:
        where = f"{path}, line {rows[0][0] if rows else 1}"
        received = ",".join(rows[0][1]) if rows else "an empty file"
        raise BadInput(
            f"{where}: not the header of a mix",
            received=received,
            legal=" or ".join(map(",".join, HEADERS)),
            next_step=REMEDY,
        )
    if len(rows) == 1:
        raise BadInput(
            f"{path}, line {rows[0][0]}: the mix ends after its header",
            received="no size",
            legal="at least one size",
            next_step=REMEDY,
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
        raise BadInput(
            f"{where}: not a size and a weight", received=",".join(row), legal=legal, next_step=REMEDY
        ) from error
    if size <= 0 or not (math.isfinite(weight) and weight > 0):
        raise BadInput(f"{where}: not positive and finite", received=",".join(row), legal=legal, next_step=REMEDY)
    return (cells.get("dtype", "").strip(), size), weight
