"""What docs/revisions.md says of results/found_changes.json and results/identical_commits.json, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gate_trials import OUTCOMES, apart_of_same, at_least, at_most, found_slower

from markdown_table import table
from pyopbench.model import formatting

CHANGES = {
    "slower": "5% slower",
    "faster": "10% faster",
    "values": "other values",
    "nothing": "none in time or values",
}
"""What a row of `found_changes.py` names in a word, in the order of the table."""


def found(document: Mapping[str, Any]) -> str:
    """Return a row for each kind of change, and how often a slowdown of 5% was found."""
    rows_by_change = {name: [row for row in document["rows"] if row["change"] == name] for name in CHANGES}
    columns = ("change", "runs", "as expected", "cases", *OUTCOMES, "runs that report other values", "minutes a run")
    lines = [_change(CHANGES[name], rows) for name, rows in rows_by_change.items() if rows]
    found_runs, runs = found_slower(document["rows"])
    share = at_least(found_runs, runs)
    sentence = f"A slowdown of 5% was found in {found_runs} of {runs} runs: in at least {share:.0%} (95% confidence)."
    return f"{table(columns, lines)}\n{sentence}\n"


def identical(document: Mapping[str, Any]) -> str:
    """Return how many rows of the same commit were told apart, and what those runs would have found."""
    rows = document["rows"]
    apart, row_count = apart_of_same(rows)
    runs = formatting.count(len(rows), "run")
    return (
        f"In {runs} of the built-in ops, {_minutes(rows)} minutes each, {apart} of {row_count:,} rows were "
        f"called slower or faster: at most {at_most(apart, row_count):.2%} (95% confidence). {_reach(rows)}\n"
    )


def _reach(rows: Sequence[Mapping[str, Any]]) -> str:
    smallest = sorted(row["smallest_found"] for row in rows if row["smallest_found"] is not None)
    if smallest[0] > 1:
        return "So short a run over so many cases would not even have found a case that takes twice as long."
    shown = _range(list(map(formatting.percent, smallest)))
    return f"The smallest slowdown that such a run would have found in a typical case is {shown}."


def _change(words: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    counts = [sum(row[name] for row in rows) for name in ("met", "cases", *OUTCOMES)]
    other_values = sum(row["values"] > 0 for row in rows)
    return (words, *map(str, (len(rows), *counts, other_values)), _minutes(rows))


def _minutes(rows: Sequence[Mapping[str, Any]]) -> str:
    minutes = [row["minutes"] for row in rows]
    return _range([f"{end:.1f}" for end in (min(minutes), max(minutes))])


def _range(texts: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys((texts[0], texts[-1])))
