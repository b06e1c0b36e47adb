"""From the lines that hold samples to a frame with one row for each timed block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.model.case import Case
from pyopbench.store.measured_run import COLUMNS
from pyopbench.store.types import Catalogue, GroupLine, Side

NODE = "node"
"""The mode in which copies of an op are timed inside a graph."""
SHARED_COLUMNS = (*COLUMNS[: COLUMNS.index("round")], "timer_seconds", "timer_error_seconds")
"""Columns that all blocks of a case in a line have in common."""
BODY_ALONE = "body_alone"
"""The role of what is called as it is beside graphs."""
WITH_COPIES = 5
"""Numbers of a sample that says how many copies of the op a call runs; one of a body alone does not, in any mode."""


def frame_of(run: str, side: Side, groups: Sequence[GroupLine]) -> pd.DataFrame:
    """Return one row for each block, with `COLUMNS`; what all blocks of a case in a line share is looked up once.

    A row at a time, of which there may be millions, takes several times as long, and gigabytes.

    Args:
        run: its name.
        side: what is planned.
        groups: the lines of samples that hold any.
    """
    version = side.environment["tensorflow"]
    parts: dict[str, tuple[str | int, ...]] = {}
    shared: list[tuple[Any, ...]] = []
    blocks: list[Sequence[float]] = []
    counts: list[int] = []
    for line in groups:
        for key, samples in line.samples.items():
            if key not in parts:
                parts[key] = Case.from_id(key).parts
            head = ("pyopbench", run, line.launch, line.group, key, *parts[key], version)
            shared.append((*head, line.sweep, line.timer_seconds, line.timer_error_seconds))
            blocks += samples
            counts.append(len(samples))
    if not blocks:
        return pd.DataFrame([], columns=list(COLUMNS))
    rows = pd.DataFrame(shared, columns=list(SHARED_COLUMNS))
    numbers = _numbers(blocks)
    frame = rows.loc[rows.index.repeat(counts)].reset_index(drop=True)
    columns = dict(zip(("round", "order", "calls", "seconds", "copies"), numbers.T, strict=True))
    whole = {name: values.astype(np.int64) for name, values in columns.items() if name != "seconds"}
    frame = frame.assign(**{**columns, **whole}, floor_seconds=math.nan)[list(COLUMNS)]
    return _with_floor(frame, side.catalogue)


def _numbers(blocks: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    """Return `(blocks, WITH_COPIES)`; a block that does not say how many copies it has is one of one copy."""
    if len(set(map(len, blocks))) > 1:
        blocks = [one if len(one) == WITH_COPIES else (*one, 1) for one in blocks]
    found = np.fromiter(chain.from_iterable(blocks), np.float64).reshape(len(blocks), -1)
    return found if found.shape[1] == WITH_COPIES else np.column_stack([found, np.ones(len(found))])


def _with_floor(frame: pd.DataFrame, catalogue: Catalogue) -> pd.DataFrame:
    """Put what a call of the empty function took in a round beside every graph of copies that was timed in it.

    A body alone is called as it is, so that there is nothing to take off.
    """
    keys = ["run", "launch", "group", "round"]
    empty = frame["copies"] == 0
    if not empty.any():
        return frame
    floors = (frame["seconds"] / frame["calls"])[empty].groupby([frame[key][empty] for key in keys]).median()
    found = pd.Series(floors.reindex(pd.MultiIndex.from_frame(frame[keys])).to_numpy(), index=frame.index)
    alone = frame["variant"].isin(catalogue.parts_of_role(BODY_ALONE))
    return frame.assign(floor_seconds=found.where(frame["mode"] == NODE).mask(alone, 0.0))
