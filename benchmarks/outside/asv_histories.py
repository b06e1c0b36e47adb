"""Look for changes in real histories of asv, and count how many of them a neighbouring series shows too.

python benchmarks/outside/asv_histories.py FOLDER [--json FILE]    writes results/outside/asv_histories.json

`FOLDER` contains checkouts of repositories of results, or only these parts of them; one that is missing is left out:

    django-asv/results/ubuntu-latest                    django/django-asv
    kedro-benchmark-results/.asv/results                kedro-org/kedro-benchmark-results
    conda-benchmarks/.asv/results                       conda/conda-benchmarks, after `asv update`

Nobody labelled these, and nothing in them can be measured again. So a change counts as confirmed if a neighbour
has one in the same direction that may be at the same commits. Neighbours are the other methods of a benchmark's class,
its other parameters, and the same benchmark in other environments. If half of all series change there in the same
direction, it is attributed to the machine. To show how often neighbours agree by chance, the same is counted with the
changes of all neighbours shifted by half of the history.

Only counts are stored.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
import stored_document
from markdown_table import table
from outside import tallies
from pyopbench.judge.comparison.history import History, Options, read_history

VERSION = 1
STORED = tallies.RESULTS / "asv_histories.json"
SOURCES: Mapping[str, str] = {
    "django-asv": "results/ubuntu-latest",
    "kedro-benchmark-results": ".asv/results",
    "conda-benchmarks": ".asv/results",
}
"""Repository -> the folder of its results."""
MACHINE_SHARE = 0.5
"""A change that this share of the series have is attributed to the machine."""
FEWEST_SERIES = 4
"""With fewer series, half of them may be the neighbours themselves."""


@dataclass(frozen=True)
class Place:
    """A change of a series, between the first and the last moment that may be the first after it."""

    series: int
    group: str
    first: int
    last: int
    is_slower: bool

    def is_with(self, other: Place, moved: int = 0, many: int = 1) -> bool:
        """Return whether both may be the same change, with the other one shifted in a history of `many` moments."""
        first, last = other.first, other.last
        if moved:
            first = (other.first + moved) % many
            last = first + other.last - other.first
        return self.is_slower == other.is_slower and self.first <= last and first <= self.last


def places_in(found: History) -> list[Place]:
    """Return the listed changes of a history."""
    at = {moment.label: number for number, moment in enumerate(found.moments)}
    return [
        Place(
            one.number,
            group_of(found.traced[one.number].series.case),
            at[one.first],
            at[one.last],
            one.direction == "slower",
        )
        for one in found.changes
    ]


def group_of(case: str) -> str:
    """Return the class of a benchmark of asv, or its module: its name without parameters and without the method."""
    return case.partition("(")[0].rpartition(".")[0]


def sorts_of(places: Sequence[Place], spans: Sequence[tuple[int, int]], moments: int) -> Counter[str]:
    """Count kinds of changes: `machine`, `confirmed` by a neighbour, `alone`, and `by_chance` confirmed by chance.

    Args:
        places: of all changes.
        spans: of each series, its first and last moment.
        moments: of the history.
    """
    found: Counter[str] = Counter(machine=0, confirmed=0, alone=0, by_chance=0)
    for one in places:
        others = [other for other in places if other.series != one.series]
        shared = {other.series for other in others if one.is_with(other)}
        there = sum(start < one.first and one.last <= stop for start, stop in spans)
        neighbours = [other for other in others if other.group == one.group]
        if there >= FEWEST_SERIES and len(shared) + 1 >= MACHINE_SHARE * there:
            found["machine"] += 1
        elif any(one.is_with(other) for other in neighbours):
            found["confirmed"] += 1
        else:
            found["alone"] += 1
        found["by_chance"] += any(one.is_with(other, moments // 2, moments) for other in neighbours)
    return found


def row_of(name: str, folder: Path) -> dict[str, Any]:
    """Read a folder of results, and return the counts."""
    start = time.monotonic()
    found = read_history([folder], Options())
    seconds = time.monotonic() - start
    places = places_in(found)
    spans = [(int(one.series.places[0]), int(one.series.places[-1])) for one in found.traced]
    return {
        "source": name,
        "files": sum(1 for path in folder.rglob("*.json") if path.name not in ("machine.json", "benchmarks.json")),
        "moments": len(found.moments),
        "series": len(found.traced),
        "points": sum(one.series.values.size for one in found.traced),
        "changes": len(places),
        "with_changes": len({one.series for one in places}),
        **sorts_of(places, spans, len(found.moments)),
        "seconds": seconds,
    }


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each source, as Markdown."""
    head = (
        "results",
        "files",
        "series",
        "points of a series",
        "changes, 100 series",
        "series with any",
        "changes of the machine",
        "confirmed by a neighbour",
        "by no other series",
        "confirmed by chance",
        "seconds",
    )
    return table(head, list(_rows(document["rows"])))


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        many = row["changes"]
        yield (
            row["source"],
            f"{row['files']:,}",
            f"{row['series']:,}",
            f"{row['points'] / row['series']:,.0f}",
            f"{100 * many / row['series']:,.0f}",
            f"{row['with_changes'] / row['series']:.0%}",
            *(f"{row[sort]:,} of {many:,}" for sort in ("machine", "confirmed", "alone", "by_chance")),
            f"{row['seconds']:,.0f}",
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read each history in the folder, store the counts, and print them."""
    options, there = tallies.read_folders(tallies.parser_of(__doc__, STORED), arguments, SOURCES)
    document = stored_document.begin(VERSION, ("numpy", "pandas"), {})
    document |= {"rows": [row_of(name, folder) for name, folder in there.items()]}
    stored_document.write(options.json, document)
    sys.stdout.write(results_table(document))


if __name__ == "__main__":
    main()
