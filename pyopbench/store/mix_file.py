"""The CSV file of a mix: how often a program calls an op at each size. `record` writes it, `--mix` reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from pyopbench.model.errors import BadInput
from pyopbench.model.files import write_atomically
from pyopbench.model.parse import parse_size

Calls: TypeAlias = Mapping[int, float] | Mapping[tuple[str, int], float]
"""How often a size is called, or a size in a dtype."""

HEADERS = (["size", "weight"], ["shape", "weight"], ["size", "dtype", "weight"], ["shape", "dtype", "weight"])


def write_mix(path: Path, calls: Mapping[int, float]) -> None:
    """Write a mix, size -> how often it is called, as a CSV file that `read_mix` reads."""
    write_atomically(
        path, "".join(["size,weight\n", *(f"{size},{weight}\n" for size, weight in calls.items())]).encode()
    )


def read_mix(path: Path) -> Calls:
    """Read a mix from a CSV file: how often each size, or each shape, is called, in any dtype or in each.

    A shape is that of the largest input, such as `480x640x3`, and counts its elements.

    Returns:
        size -> weight, in the order of the file; with a column of dtypes (dtype, size) -> weight.

    Raises:
        BadInput: it is no such file, or a size is there twice; names the file and what is wrong.
    """
    try:
        table = pd.read_csv(path, dtype=str, encoding="utf-8-sig", skipinitialspace=True, keep_default_na=False)
        table.columns = table.columns.str.strip()
        if [*table.columns] not in HEADERS or not isinstance(table.index, pd.RangeIndex):
            raise ValueError(f"not a header of a mix: {','.join(map(str, table.columns))}")
        mix: dict[tuple[str, int], float] = {}
        for row in table.to_dict("records"):
            shape = [row["size"]] if "size" in row else row["shape"].split("x")
            key, weight = (row.get("dtype", "").strip(), math.prod(map(parse_size, shape))), float(row["weight"])
            if key in mix or key[1] <= 0 or not 0 < weight < math.inf:
                raise ValueError(f"twice, or not positive and finite: {','.join(row.values())}")
            mix[key] = weight
        if not mix:
            raise ValueError("it has no sizes")
    except (OSError, ValueError, BadInput) as error:
        raise BadInput(
            f"cannot read the mix {path}",
            received=error.in_a_line if isinstance(error, BadInput) else error,
            legal="a CSV file with the header " + " or ".join(map(",".join, HEADERS)),
            hint="fix the file: one line per size below the header, for example size,weight and then 1000,5",
        ) from error
    return mix if "dtype" in table else {size: weight for (_, size), weight in mix.items()}
