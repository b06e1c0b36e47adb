"""What bodies left running in their workers, in a warning for each op: it ran beside what was measured meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyopbench import text

BUSY_CORES = 0.5
MANY_LEFT = 64
"""Cores kept busy, or threads and processes left, from which on what bodies leave behind would show in what comes
after, or fail it: such a worker is given up. A pool that waits for its next task is neither."""


def is_spoilt(group: Mapping[str, Any]) -> bool:
    """Whether what a group has left behind, as stored, makes its worker unfit for another."""
    left = group.get("left_behind", {"threads": 0, "processes": 0, "cores": 0.0})
    return bool(left["cores"] >= BUSY_CORES or left["threads"] + left["processes"] >= MANY_LEFT)


def warnings_of(groups: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a warning for each op whose groups left something behind, with the most that was seen of each.

    Args:
        groups: lines of groups, as stored.
    """
    left: dict[str, list[Mapping[str, Any]]] = {}
    for line in groups:
        if "left_behind" in line:
            left.setdefault(line["group"].partition("/")[0], []).append(line["left_behind"])
    return [_warning(op, found) for op, found in left.items()]


def _warning(op: str, found: list[Mapping[str, Any]]) -> str:
    most = {key: max(one[key] for one in found) for key in ("threads", "processes", "cores")}
    counts = f"{text.count(most['threads'], 'thread')}, {text.count(most['processes'], 'process', 'processes')}"
    return (
        f"{op}: bodies left something running after {text.count(len(found), 'group')} (at most {counts}, "
        f"{text.number(most['cores'])} cores busy); what else was measured in these groups ran beside it"
    )
