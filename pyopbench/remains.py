"""What bodies left running in their workers, in a warning for each op: it ran beside what was measured meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyopbench import text


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
