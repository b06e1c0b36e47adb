"""What files of other tools have in common: JSON that is whole and as that tool writes it, or an error with the place.

Nothing is taken from a file before all of it has been checked, and nothing in it is trusted: names may hold anything.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec import structs

from pyopbench.model import formatting
from pyopbench.model.case import BASELINE, Case
from pyopbench.model.errors import BadInput
from pyopbench.model.printable import printable
from pyopbench.store.catalogue_facts import declared
from pyopbench.store.measured_run import CASE_COLUMNS, COLUMNS, no_rows
from pyopbench.store.types import UNKNOWN_OP, UNKNOWN_VARIANT, Catalogue, OpFacts, Settings, VariantFacts

LONGEST_NAME = 200
"""A longer name of a benchmark is cut where it is shown; no tool's own are as long."""
LONGEST_SECONDS = 1e9
"""Of a call, thirty years: more is no measurement, and JSON's whole numbers have no end that a float has."""
DURATION = f"seconds from 0 to {LONGEST_SECONDS:g}"
"""What `is_duration` takes, for messages."""
MOST_CALLS = 10**12
"""In a sample; more would be a quarter of an hour of calls of a nanosecond."""
COUNT = f"a whole number from 1 to {MOST_CALLS:,}"
"""What `is_count` takes, for messages."""


@dataclass(frozen=True)
class Timed:
    """One benchmark of another tool.

    Attributes:
        name: what the tool calls it, with its parameters.
        case: the case that it is, or None for a benchmark that is not one of pyopbench.
        calls: calls in each sample, at least 1.
        seconds: of one call, for each sample in the order of the file; the median alone where samples were not kept.
        has_samples: whether the file has the samples, even if there is only one.
    """

    name: str
    case: Case | None
    calls: int
    seconds: tuple[float, ...]
    has_samples: bool

    @property
    def key(self) -> str:
        """What it is matched by: the id of the case, or the name."""
        return self.name if self.case is None else self.case.id


def load(path: Path) -> Any:
    """Return the JSON of a file.

    Raises:
        BadInput: the file is empty or not JSON; with line and column.
    """
    content = path.read_bytes()
    if not content.strip():
        raise damaged(path, "the file is empty")
    try:
        return json.loads(content)
    except UnicodeDecodeError as error:
        raise damaged(path, f"not text in UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise damaged(path, f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except (RecursionError, ValueError) as error:  # nested without end; a whole number of thousands of digits
        raise damaged(path, f"not JSON that can be read ({formatting.shorten(str(error), 80)})") from error


def damaged(
    path: Path,
    problem: str,
    legal: str = "the file as the tool wrote it",
    hint: str = "restore the file or measure again; nothing was read from it",
) -> BadInput:
    """Return the error for a file that is not as its tool writes it; nothing of it is used."""
    return BadInput(
        "cannot read these results",
        received=f"{path}: {shown(problem, 300)}",
        legal=legal,
        hint=hint,
    )


def in_one_line(name: str) -> str:
    """Return a name as `printable`, with the ends of its lines shown too."""
    return printable(name).replace("\n", "\\x0a").replace("\t", "\\x09")


def shown(name: str, characters: int = LONGEST_NAME) -> str:
    """Return a name as `in_one_line`, cut where it is too long."""
    return formatting.shorten(in_one_line(name), characters)


def shown_or_none(value: Any) -> str | None:
    """Return a value as `shown`; None if it is missing or empty."""
    return shown(str(value)) if value else None


def is_duration(value: Any) -> bool:
    """Whether a value is seconds: a number from 0 to `LONGEST_SECONDS`; True is none, though Python counts with it."""
    return type(value) in (int, float) and 0 <= value <= LONGEST_SECONDS


def is_count(value: Any) -> bool:
    """Whether a value is a number of calls: whole, from 1 to `MOST_CALLS`; asv writes some of them as 1.0."""
    return type(value) in (int, float) and 1 <= value <= MOST_CALLS and value == int(value)


def require_once(keys: Iterable[str], path: Path) -> None:
    """Check that nothing was measured twice in one file.

    Raises:
        BadInput: with the first key that is there more often.
    """
    for key, count in Counter(keys).items():
        if count > 1:
            raise damaged(path, f"{count} benchmarks are {shown(key)}", "each benchmark once")


@dataclass(frozen=True)
class TimedRun:
    """What was timed in one run of another tool.

    Attributes:
        name: of the run.
        version: of TensorFlow; None where it is not told.
        timed: its benchmarks.
    """

    name: str
    version: str | None
    timed: Sequence[Timed]


def frames(tool: str, runs: Sequence[TimedRun]) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return for each run the tidy frame of its cases, and the one of all other benchmarks, whose case is their name.

    All samples are of round 0, because a round is what is interleaved, and here nothing is; and of launch 0, because
    neither tool tells which process a sample is from.
    """
    both = (_frames(tool, runs, is_case=is_case) for is_case in (True, False))
    return list(zip(*both, strict=True))


def _frames(tool: str, runs: Sequence[TimedRun], *, is_case: bool) -> list[pd.DataFrame]:
    """Return a frame for each run: parts of one, which pandas makes as fast as that of a single run."""
    found = [no_rows(COLUMNS)] * len(runs)
    # A column of nothing has another type than one with a text in it.
    for has_version in (True, False):
        places = [place for place, run in enumerate(runs) if (run.version is not None) == has_version]
        chosen = [[one for one in runs[place].timed if (one.case is not None) == is_case] for place in places]
        rows = [(runs[place], one) for place, timed in zip(places, chosen, strict=True) for one in timed]
        whole, start = _frame(tool, rows), 0
        for place, timed in zip(places, chosen, strict=True):
            stop = start + sum(len(one.seconds) for one in timed)
            if stop > start:
                found[place] = whole.iloc[start:stop]
                found[place].index = pd.RangeIndex(stop - start)
            start = stop
    return found


def _frame(tool: str, rows: Sequence[tuple[TimedRun, Timed]]) -> pd.DataFrame:
    """Return a row for each sample; what is not told of a column is nan."""
    timed = [one for _, one in rows]
    if not timed:
        return no_rows(COLUMNS)
    counts = [len(one.seconds) for one in timed]

    def repeated(values: Iterable[Any]) -> list[Any]:
        return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]

    none = (None,) * len(CASE_COLUMNS)
    parts = zip(*(none if one.case is None else one.case.parts for one in timed), strict=True)
    told = {
        "tool": tool,
        "run": repeated(run.name for run, _ in rows),
        "launch": 0,
        "case": repeated(one.key for one in timed),
        "tf": repeated(run.version for run, _ in rows),
        "sweep": 0,
        "round": 0,
        "group": repeated(one.name if one.case is None else one.case.group for one in timed),
        "calls": repeated(one.calls for one in timed),
        "copies": 1,
        **{name: repeated(values) for name, values in zip(CASE_COLUMNS, parts, strict=True)},
        "order": [place for count in counts for place in range(count)],
        "seconds": [seconds * one.calls for one in timed for seconds in one.seconds],
    }
    return pd.DataFrame({name: told.get(name, math.nan) for name in COLUMNS})


def catalogue_of(cases: Iterable[Case]) -> Catalogue:
    """Return what is known here of the ops and variants of these cases."""
    ops: dict[str, list[Case]] = {}
    for case in cases:
        ops.setdefault(case.op, []).append(case)
    variants = sorted({case.variant for of_op in ops.values() for case in of_op})
    known_ops, known_variants = declared("ops"), declared("variants")
    return Catalogue(
        ops={op: _op(known_ops.get(op, {}), of_op) for op, of_op in sorted(ops.items())},
        variants={name: _variant(known_variants.get(name, {})) for name in variants},
        gradients={},
    )


def _op(known: Mapping[str, Any], cases: Iterable[Case]) -> OpFacts:
    told = {key: known[key] for key in ("summary", "source", "size_unit") if key in known}
    return structs.replace(UNKNOWN_OP, **told, sizes=sorted({case.size for case in cases}))


def _variant(known: Mapping[str, Any]) -> VariantFacts:
    told = {key: value for key, value in known.items() if key in VariantFacts.__struct_fields__}
    lists = {key: list(value) for key, value in told.items() if isinstance(value, tuple)}
    return structs.replace(UNKNOWN_VARIANT, **{**told, **lists})


def settings_of(cases: Iterable[Case]) -> Settings:
    """Return how it was measured, as far as known, with the baseline that a report takes unless told otherwise."""
    known = declared("variants")
    # The current callback if it is there, else any callback, else any variant.
    variants = sorted(
        {case.variant for case in cases},
        key=lambda name: (name != BASELINE, known.get(name, {}).get("kind") != "callback", name),
    )
    return Settings(baseline=(*variants, BASELINE)[0], launches=1)
