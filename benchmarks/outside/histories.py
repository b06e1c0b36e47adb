"""Look for changes in series that other projects labelled, with `pyopbench history` and with three other detectors.

    python benchmarks/outside/histories.py FOLDER

`FOLDER` contains checkouts of other projects, or only these parts of them; a source that is missing is left out:

    treeherder/                     mozilla/treeherder: series in tests/sample_data
    otava/                          apache/otava: series in tests/*.py
    signal-processing-algorithms/   mongodb/signal-processing-algorithms: series in tests/
    TCPD/                           alan-turing-institute/TCPD: datasets/*/*.json and annotations.json

asv, ruptures (`pip install ruptures`) and otava (`pip install apache-otava`) are used if they are installed.

Labels are the places that the projects' own tests assert, or what people marked (TCPD). treeherder's labels are what
its first detector, a t-test with a threshold of 7, finds: a method that agrees with it is right here. A change counts
as found if one is reported within `MARGIN` points of it. F1 is as in the paper of TCPD (G. J. J. van den Burg and C. K.
I. Williams, "An Evaluation of Change Point Detection Algorithms", 2020, arXiv:2003.06222, section 4.2): the first point
counts as a change in both labels and answers, precision is over the labels of all annotators together, and recall is
the mean over annotators.
"""

from __future__ import annotations

import ast
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

sys.path.append(str(Path(__file__).parents[1]))
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.stats.change_points import SMALLEST_ERROR, between_runs, segment
from pyopbench.stats.unpaired import RUN_SPREAD
from tally import new_parser, table

Floats: TypeAlias = npt.NDArray[np.float64]
Detector: TypeAlias = Callable[[Floats], Iterable[int]]

MARGIN = 5
"""In points: TCPD's; the other sources are given the same."""
CONTROLS = "quality_control"
"""How the series of TCPD are called that its authors added to check annotators by; they are in none of its tables."""

TREEHERDER_LABELS: Mapping[str, tuple[int, ...]] = {
    "runs1": (1365019665,),
    "runs2": (1357704596, 1358971894, 1365014104),
    "runs3": (1335293827, 1338839958),
    "runs4": (1364922838,),
    "runs5": (),
    "a11y": (1366197637, 1367799757),
    "tp5rss": (1372846906, 1373413365, 1373424974),
}
"""Times of the pushes that `tests/perfalert/test_analyze.py` expects."""

LITERALS: Mapping[str, tuple[tuple[str, str, str, tuple[int, ...]], ...]] = {
    "otava": (
        ("tests/tigerbeetle_test.py", "_get_series", "", (15, 71)),
        ("tests/change_point_divisive_test.py", "", "SEQUENCE", (5, 8)),
        ("tests/analysis_test.py", "test_single_series", "series", (10,)),
        ("tests/series_test.py", "test_change_point_detection", "series_1", (6,)),
        ("tests/series_test.py", "test_change_point_detection", "series_2", (4,)),
    ),
    "signal-processing-algorithms": (("tests/test_detection.py", "test_random_ish_data", "series", (20, 40)),),
}
"""Source -> file, function, name of what is assigned ("" what is returned), and the places that the test asserts."""

Stretches: TypeAlias = tuple[tuple[int, int], ...]
BUILT: Mapping[str, tuple[Stretches, Mapping[int, int], tuple[int, ...]]] = {
    "test_finds_simple_regression": (((50, 15), (100, 15)), {}, (15,)),
    "test_finds_ahead": (((50, 14), (74, 1), (100, 15)), {}, (15,)),
    "test_finds_behind": (((50, 14), (76, 1), (100, 15)), {}, (14,)),
    "test_finds_simple_regression2": (((50, 15), (100, 15)), {2: 100}, (15,)),
    "test_regression_and_recovery": (((50, 15), (100, 15), (50, 15)), {2: 100, 32: 100}, (15, 33)),
    "test_two_regressions": (((50, 15), (100, 15), (150, 15)), {2: 100}, (15, 30)),
    "test_no_regressions": (((50, 30),), {}, ()),
    "test_absolute_certainty_univariate": (((0, 1000), (1, 1000)), {}, (1000,)),
}
"""MongoDB's tests whose series are built of stretches of one value: value and length of each, points that differ, and
the places that the test asserts."""


@dataclass(frozen=True)
class Labelled:
    """A series with its labels.

    Attributes:
        source, name: where it is from.
        values: `(n,)` float64.
        labels: annotator -> the first point after each change.
    """

    source: str
    name: str
    values: Floats
    labels: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Score:
    """What a detector does on one series; `false` and `missed` count changes that no, or some, annotator marked."""

    f1: float
    found: int
    false: int
    missed: int
    labelled: int


def score(found: Sequence[int], labels: Mapping[str, Sequence[int]]) -> Score:
    """Return the paper's F1 for one series, and what of it is false or missed.

    Args:
        found: first points after changes.
        labels: of each annotator.
    """
    found = sorted(set(found) - {0})
    marked = sorted({place for places in labels.values() for place in places} - {0})
    matched = _matched(marked, found)
    precision = (1 + matched) / (1 + len(found))
    recalls = [(1 + _matched(set(one) - {0}, found)) / (1 + len(set(one) - {0})) for one in labels.values()]
    recall = float(np.mean(recalls))
    missed = sum(len(set(one) - {0}) - _matched(set(one) - {0}, found) for one in labels.values())
    labelled = sum(len(set(one) - {0}) for one in labels.values())
    return Score(2 * precision * recall / (precision + recall), len(found), len(found) - matched, missed, labelled)


def _matched(labels: Iterable[int], found: Sequence[int]) -> int:
    """Return how many labels have a change of their own within the margin; each change is of the nearest label."""
    left = list(found)
    many = 0
    for label in sorted(labels):
        near = min(left, key=lambda place: abs(place - label), default=None)
        if near is not None and abs(near - label) <= MARGIN:
            left.remove(near)
            many += 1
    return many


# Series ---------------------------------------------------------------------------------------------------------


def series_in(folder: Path) -> tuple[list[Labelled], dict[str, str]]:
    """Return the series in a folder of checkouts, and what is left out with the reason."""
    found: list[Labelled] = []
    left_out: dict[str, str] = {}
    for source, read in SOURCES.items():
        if (folder / source).is_dir():
            found += read(folder / source, left_out)
        else:
            left_out[source] = "the folder has none of it"
    return found, left_out


def _of_treeherder(folder: Path, left_out: dict[str, str]) -> Iterator[Labelled]:
    for name, expected in TREEHERDER_LABELS.items():
        path = folder / f"tests/sample_data/artifacts/performance/graphs/{name}.json"
        runs = sorted(json.loads(path.read_text())["test_runs"], key=lambda run: run[2])
        times = [run[2] for run in runs]
        labels = tuple(times.index(time) for time in expected)
        yield Labelled("treeherder", name, np.array([float(run[3]) for run in runs]), {"": labels})


def _of_literals(folder: Path, left_out: dict[str, str]) -> Iterator[Labelled]:
    for path, function, name, labels in LITERALS[folder.name]:
        values = np.array(_literal(folder / path, function, name), dtype=np.float64)
        yield Labelled(folder.name, f"{Path(path).stem}: {function} {name}".rstrip(), values, {"": labels})


def _of_mongodb(folder: Path, left_out: dict[str, str]) -> Iterator[Labelled]:
    yield from _of_literals(folder, left_out)
    for name, (stretches, others, labels) in BUILT.items():
        values = np.concatenate([np.full(many, float(value)) for value, many in stretches])
        values[list(others)] = list(others.values())
        yield Labelled(folder.name, name, values, {"": labels})
    for path in sorted((folder / "tests/data").rglob("*.json")):
        left_out[f"{folder.name}: {path.stem}"] = "its test asserts no places"


def _of_tcpd(folder: Path, left_out: dict[str, str]) -> Iterator[Labelled]:
    annotations = json.loads((folder / "annotations.json").read_text())
    for name, labels in annotations.items():
        path = folder / f"datasets/{name}/{name}.json"
        if name.startswith(CONTROLS):
            continue
        if not path.is_file():
            left_out[f"TCPD: {name}"] = "it has to be downloaded"
            continue
        read = json.loads(path.read_text())
        if read["n_dim"] > 1:
            left_out[f"TCPD: {name}"] = "it has several values for each point"
            continue
        raw = np.array([math.nan if one is None else one for one in read["series"][0]["raw"]], dtype=np.float64)
        there = np.isfinite(raw)
        place_of = np.cumsum(there) - there
        moved = {one: tuple(int(place_of[place]) for place in places) for one, places in labels.items()}
        yield Labelled("TCPD", name, raw[there], moved)


SOURCES: Mapping[str, Callable[[Path, dict[str, str]], Iterator[Labelled]]] = {
    "treeherder": _of_treeherder,
    "otava": _of_literals,
    "signal-processing-algorithms": _of_mongodb,
    "TCPD": _of_tcpd,
}


def _literal(path: Path, function: str, name: str) -> Any:
    """Return the list that a file assigns to a name, or returns, in a function ("" anywhere), without running it."""
    tree: ast.AST = ast.parse(path.read_text())
    if function:
        tree = next(one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name == function)
    for one in ast.walk(tree):
        if isinstance(one, ast.Return) and not name and one.value is not None:
            return ast.literal_eval(one.value)
        if isinstance(one, ast.Assign) and [getattr(target, "id", "") for target in one.targets] == [name]:
            value = one.value
            return ast.literal_eval(value.args[0] if isinstance(value, ast.Call) else value)
    raise ValueError(f"{path} has no list {name or 'that is returned'} in {function or 'it'}")


# Detectors ------------------------------------------------------------------------------------------------------


def history(values: Floats) -> list[int]:
    """Return what `pyopbench history` finds in files of one launch each, such as asv's."""
    # A time is above 0, and history works on logs; a series of anything else is judged as it is.
    logs = np.log(values) if (values > 0).all() else values
    least = math.log1p(MINIMUM_EFFECT) if (values > 0).all() else 0.0
    between = between_runs(logs, np.zeros(logs.size), RUN_SPREAD)
    errors = np.full(logs.size, max(between, SMALLEST_ERROR))
    changes = segment(logs, errors, between).changes
    return [one.place for one in changes if abs(one.step) >= least]


def asv_steps(values: Floats) -> list[int]:
    """Return the steps that asv's pages would draw."""
    asv: Any = import_module("asv.step_detect")
    return [int(step[0]) for step in asv.detect_steps(values.tolist())[1:]]


def pelt(values: Floats) -> list[int]:
    """Return the steps of ruptures' PELT with a penalty of 2 log n times the variance of the series' noise."""
    ruptures: Any = import_module("ruptures")
    spread = float(np.median(np.abs(np.diff(values)))) / 0.6745 / math.sqrt(2) or float(np.std(values)) or 1.0
    fitted = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(values / spread)
    return [int(place) for place in fitted.predict(pen=2 * math.log(values.size))[:-1]]


def otava(values: Floats) -> list[int]:
    """Return what otava's function finds with its defaults."""
    analysis: Any = import_module("otava.analysis")
    return [int(one.index) for one in analysis.compute_change_points(values.tolist())[0]]


DETECTORS: Mapping[str, Detector] = {"history": history, "asv": asv_steps, "ruptures": pelt, "otava": otava}


# Results --------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Run every detector on every series, and print how good it is on each source."""
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path, help="checkouts of the projects")
    series, left_out = series_in(parser.parse_args(arguments).folder)
    if not series:
        parser.error(f"the folder has none of {', '.join(SOURCES)}")
    rows = []
    for source in dict.fromkeys(one.source for one in series):
        of_source = [one for one in series if one.source == source]
        for name, detector in DETECTORS.items():
            if name == "history" or util.find_spec(name):
                scores = [score([int(place) for place in detector(one.values)], one.labels) for one in of_source]
                rows.append(_row(f"{source} ({len(of_source)})", name, scores))
    print(table(("source (series)", "detector", "F1", "false alarms, 100 series", "labels missed"), rows))
    counted = Counter((name.split(":")[0], reason) for name, reason in left_out.items())
    print("".join(f"Left out: {many} of {source}, {reason}.\n" for (source, reason), many in counted.items()))
    return 0


def _row(source: str, name: str, scores: Sequence[Score]) -> tuple[str, ...]:
    false, missed, labelled = (sum(getattr(one, key) for one in scores) for key in ("false", "missed", "labelled"))
    mean = np.mean([one.f1 for one in scores])
    return source, name, f"{mean:.3f}", f"{100 * false / len(scores):,.0f}", f"{missed:,} of {labelled:,}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
