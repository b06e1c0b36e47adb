"""pytest-benchmark: one test file run twice, the second time compared with the first and its gate closed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from peers.figures import NO_INTERVAL, Interval, Moments, Pair, Row, missing, ratio_of_means
from peers.processes import SUITES, PeerFailed, Task, call, tail

GATE_PERCENT = 5
"""Of the example in its documentation; it has no default."""
FIELDS = ("mean", "median")
REGRESSED = 1
"""pytest's exit status for tests that failed, and pytest-benchmark's for a gate that closed."""

_FAILED = re.compile(r"test_case\[(?P<case>[^]]+)\].* - Field '(?P<field>\w+)' has failed")

NOTE = (
    "pytest-benchmark: default settings, all cases in one process; a line for the mean and one for the median, each "
    f"with the gate `--benchmark-compare-fail ...:{GATE_PERCENT}%` of the second run, which only looks for what got "
    "slower; it states no interval: the one of means takes every round for independent (Welch)."
)


def compare(task: Task) -> list[Row]:
    """Measure twice and read what pytest-benchmark makes of it.

    Raises:
        PeerFailed: pytest ended with an error or left a case out.
    """
    (task.folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    plain = ["-c", "pytest.ini", "--noconftest", "-p", "no:cacheprovider"]  # our conftest.py shortens the times
    command = ["-m", "pytest", *plain, str(SUITES / "pytest_suite.py")]
    first_took, _ = call(task, [*command, "--benchmark-json=first.json"], "first.log")
    gates = ["--benchmark-compare-fail", *(f"{field}:{GATE_PERCENT}%" for field in FIELDS)]
    against = [*gates, f"--benchmark-compare={task.folder / 'first.json'}", "--benchmark-json=second.json"]
    second_took, said = call(task, [*command, *against], "second.log", legal=(0, REGRESSED))
    first, second = (read(json.loads((task.folder / f"{name}.json").read_text())) for name in ("first", "second"))
    took = first_took + second_took
    return [
        Row(
            f"pytest-benchmark: {field}",
            took / 2,
            took,
            pairs(task.cases, (first, second), field, failed_gates(said)),
            NOTE,
        )
        for field in FIELDS
    ]


def read(document: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """Return the statistics of each case."""
    return {benchmark["param"]: benchmark["stats"] for benchmark in document["benchmarks"]}


def failed_gates(said: str) -> set[tuple[str, str]]:
    """Return case and field of every gate that pytest-benchmark reports as failed.

    Raises:
        PeerFailed: it says that some failed, and none can be read.
    """
    failed = {(found["case"], found["field"]) for found in _FAILED.finditer(said)}
    if "Performance has regressed" in said and not failed:
        raise PeerFailed(f"pytest-benchmark words its gates in a new way\n{tail(said)}")
    return failed


def pairs(
    wanted: Sequence[str],
    runs: tuple[Mapping[str, Mapping[str, float]], Mapping[str, Mapping[str, float]]],
    field: str,
    failed: set[tuple[str, str]],
) -> tuple[Pair, ...]:
    """Return the pair of each case, in one of its statistics.

    Raises:
        PeerFailed: a case has no statistics.
    """
    if lacking := missing(wanted, *runs):
        raise PeerFailed(f"pytest-benchmark has no result for {', '.join(lacking)}")
    return tuple(_pairs(wanted, runs, field, failed))


def _pairs(wanted: Sequence[str], runs: Any, field: str, failed: set[tuple[str, str]]) -> Iterator[Pair]:
    for case in wanted:
        first, second = (run[case] for run in runs)
        interval = _interval(first, second) if field == "mean" else NO_INTERVAL
        yield Pair(case, first[field], second[field], *interval, different=(case, field) in failed)


def _interval(first: Mapping[str, float], second: Mapping[str, float]) -> Interval:
    return ratio_of_means(*(Moments(each["mean"], each["stddev"], int(each["rounds"])) for each in (first, second)))
