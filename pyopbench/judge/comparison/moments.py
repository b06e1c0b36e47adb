"""The places on the axis of a history: a commit, a version or a date, in one run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, TypeAlias

from pyopbench.model.printable import printable
from pyopbench.store.run import Run
from pyopbench.store.run_sides import short_hash

Axis: TypeAlias = Literal["commit", "tf", "date"]
AXES: tuple[Axis, ...] = ("commit", "tf", "date")
LONGEST_LABEL = 40
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Moment:
    """One place on the axis.

    Attributes:
        label: what the axis shows: the first digits of a commit, a version, or a date.
        value: the whole of it, by which it is named in a command.
        date: of the commit if that is known, else of the run; ISO 8601, "" where neither is.
        run: the run that it was measured in.
        subject: first line of the commit's message; "" where it is not known.
    """

    label: str
    value: str
    date: str
    run: str
    subject: str = ""


def usual_axis(sources: Sequence[Sequence[Run]]) -> Axis:
    """Return what the runs differ in: commits if there are several, else versions of TensorFlow, else dates."""
    runs = [run for source in sources for run in source]
    for axis in ("commit", "tf"):
        if len({value_on(axis, run) for run in runs} - {UNKNOWN}) > 1:
            return axis
    return "date"


def moment_of(axis: Axis, run: Run) -> Moment:
    """Return where on the axis a run is."""
    value = value_on(axis, run)
    committed = str(run.environment.get("commit_date") or "") if axis == "commit" else ""
    subject = str(run.environment.get("commit_subject") or "") if axis == "commit" else ""
    return Moment(_label(axis, value), value, committed or run.created, run.name, printable(subject))


def value_on(axis: str, run: Run) -> str:
    """Return the commit, version or date of a run."""
    if axis == "date":
        return run.created or UNKNOWN
    found = run.environment.get("commit" if axis == "commit" else "tensorflow")
    return str(found) if found else UNKNOWN


def in_order(axis: Axis, moments: Sequence[Moment]) -> list[Moment]:
    """Return moments from the oldest to the newest; versions by their numbers; what is equal stays in its order."""
    if axis == "tf":
        return sorted(moments, key=lambda one: ([int(part) for part in re.findall("[0-9]{1,9}", one.value)], one.date))
    return sorted(moments, key=lambda one: _seconds(one.date))


def _label(axis: Axis, value: str) -> str:
    if axis == "commit":
        value = short_hash(value)
    return printable(value[:16].replace("T", " ") if axis == "date" else value[:LONGEST_LABEL])


def _seconds(date: str) -> float:
    """Return a date as seconds; what is no date comes first."""
    try:
        found = datetime.fromisoformat(date.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
