"""Look for changes in series that other projects labelled, with `pyopbench history` and with four other detectors.

python benchmarks/outside/histories.py FOLDER [--json FILE] [--again history]    writes results/outside/histories.json

With `--again`, only these detectors run, and the results of the others in the file are kept.

`FOLDER` contains checkouts of other projects, or only these parts of them; a source that is missing is left out:

    treeherder/                     mozilla/treeherder: series in tests/sample_data, detectors in treeherder/perf
    otava/                          apache/otava: series in tests/*.py
    signal-processing-algorithms/   mongodb/signal-processing-algorithms: series in tests/
    TCPD/                           alan-turing-institute/TCPD: datasets/*/*.json and annotations.json

Only names and counts from them are copied into the results. asv, ruptures (`pip install ruptures`) and otava
(`pip install apache-otava`) are used if they are installed; treeherder's detectors are those of the checkout.

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
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module, util
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

sys.path.append(str(Path(__file__).parents[1]))
import stored_document
from markdown_table import table
from outside import tallies
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.stats.change_points import SMALLEST_ERROR, between_runs, segment
from pyopbench.stats.unpaired import RUN_SPREAD

Floats: TypeAlias = npt.NDArray[np.float64]
Detector: TypeAlias = Callable[[Floats], Iterable[int]]

VERSION = 1
STORED = tallies.RESULTS / "histories.json"
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


def history(minimum_effect: float = MINIMUM_EFFECT) -> Detector:
    """Return what `pyopbench history` does with files of one launch each, such as asv's."""

    def found(values: Floats) -> list[int]:
        # A time is above 0, and history works on logs; a series that is no time is judged as it stands.
        logs = np.log(values) if (values > 0).all() else values
        least = math.log1p(minimum_effect) if (values > 0).all() else 0.0
        between = between_runs(logs, np.zeros(logs.size), RUN_SPREAD)
        errors = np.full(logs.size, max(between, SMALLEST_ERROR))
        changes = segment(logs, errors, "autocorrelated", between).changes
        return [one.place for one in changes if abs(one.step) >= least]

    return found


def asv_steps(values: Floats) -> list[int]:
    """Return the steps that asv's pages would draw."""
    asv: Any = import_module("asv.step_detect")
    return [int(step[0]) for step in asv.detect_steps(values.tolist())[1:]]


def pelt(penalty: float) -> Detector:
    """Return PELT of ruptures with its default cost and `penalty` log n times the variance of the series' noise."""

    def found(values: Floats) -> list[int]:
        ruptures: Any = import_module("ruptures")
        spread = float(np.median(np.abs(np.diff(values)))) / 0.6745 / math.sqrt(2) or float(np.std(values)) or 1.0
        fitted = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(values / spread)
        return [int(place) for place in fitted.predict(pen=penalty * math.log(values.size))[:-1]]

    return found


def otava(**settings: float) -> Detector:
    """Return otava's detection with the defaults of its function, or with other settings."""

    def found(values: Floats) -> list[int]:
        analysis: Any = import_module("otava.analysis")
        return [int(one.index) for one in analysis.compute_change_points(values.tolist(), **settings)[0]]

    return found


def treeherder(folder: Path) -> dict[str, Detector]:
    """Return treeherder's voting by setting: the detectors and votes of the checkout, whose database is not there."""
    _stand_in_for_database()
    alerts = _functions_of(folder / "treeherder/perf/alerts.py", folder)
    signature = types.SimpleNamespace(
        **dict.fromkeys(("min_back_window", "max_back_window", "fore_window", "alert_threshold", "alert_change_type")),
        lower_is_better=True,
    )

    @cache
    def analyzed(values: tuple[float, ...]) -> Any:
        data = [_Datum(place, value) for place, value in enumerate(values)]
        return alerts["detect_methods_changes"](signature, data, alerts["build_cpd_methods"]())

    def votes(strategy: str, agreement: int, values: Floats) -> list[int]:
        vote = alerts[f"{strategy}_voting_strategy"]
        return [int(one[0]) for one in vote(analyzed(tuple(values.tolist())), min_method_agreement=agreement)]

    return {
        "default": partial(votes, "equal", 3),
        "priority": partial(votes, "priority", 3),
        **{f"{many} agree": partial(votes, "equal", many) for many in (1, 2, 4, 5)},
    }


class _Datum:
    """A push with one value, with what treeherder's detectors read and write."""

    def __init__(self, place: int, value: float) -> None:
        self.push_id = self.push_timestamp = place
        self.values = [value]
        self.confidence: dict[str, float] = {}
        self.change_detected: dict[str, bool] = {}
        for name in ("student", "cvm", "ks", "welch", "mwu"):
            self.confidence[name] = 0.0 if name == "student" else 1.0
            self.change_detected[name] = False

    def __lt__(self, other: _Datum) -> bool:
        return bool(self.push_id < other.push_id)


def _stand_in_for_database() -> None:
    """Make the one module of treeherder's importable that its detectors want: constants of a table's columns."""
    models: Any = types.ModuleType("treeherder.perf.models")
    models.PerformanceSignature = types.SimpleNamespace(ALERT_PCT=0, ALERT_ABS=1)
    sys.modules["treeherder.perf.models"] = models


def _functions_of(path: Path, folder: Path) -> dict[str, Any]:
    """Return the functions of `alerts.py`, whose other imports need a database and a service, and its detectors."""
    for name in ("treeherder", "treeherder.perf", "treeherder.perf.methods"):
        package: Any = types.ModuleType(name)
        package.__path__ = [str(folder / name.replace(".", "/"))]
        sys.modules.setdefault(name, package)
    tree = ast.parse(path.read_text())
    wanted = [
        one
        for one in tree.body
        if isinstance(one, ast.FunctionDef)
        or (isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant))
        or (isinstance(one, ast.ImportFrom) and (one.module or "").startswith("treeherder.perf.methods."))
    ]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(wanted, []), str(path), "exec"), names)  # of the checkout that the user named
    return names


def detectors(folder: Path) -> dict[str, dict[str, Detector]]:
    """Return the settings of each detector that can run here, the defaults first."""
    found: dict[str, dict[str, Detector]] = {
        "history": {
            "default": history(),
            "changes of 1% and more": history(minimum_effect=0.01),
        },
    }
    if util.find_spec("asv"):
        found["asv"] = {"default": asv_steps}
    if util.find_spec("ruptures"):
        found["ruptures"] = {
            "default": pelt(2),
            **{f"penalty {one} log n": pelt(one) for one in (4, 16)},
        }
    if util.find_spec("otava"):
        settings: list[dict[str, float]] = [
            {"max_pvalue": pvalue, "min_magnitude": least} for pvalue in (1e-5, 1e-3, 0.05) for least in (0.0, 0.05)
        ]
        found["otava"] = {"default": otava()}
        found["otava"] |= {
            ", ".join(f"{name} {value:g}" for name, value in one.items()): otava(**one) for one in settings
        }
    if (folder / "treeherder/treeherder/perf/alerts.py").is_file():
        found["treeherder"] = treeherder(folder / "treeherder")
    return found


# Results --------------------------------------------------------------------------------------------------------


def summary(series: Sequence[Labelled], run: Mapping[str, Mapping[str, Detector]]) -> list[dict[str, Any]]:
    """Return for each source, detector and setting how good it is, and its F1 for each series by name."""
    found = []
    for source in dict.fromkeys(one.source for one in series):
        of_source = [one for one in series if one.source == source]
        for name, settings in run.items():
            for setting, detector in settings.items():
                print(f"{source}: {name}, {setting}", file=sys.stderr, flush=True)
                scores = [score([int(place) for place in detector(one.values)], one.labels) for one in of_source]
                found.append(
                    {
                        "source": source,
                        "detector": name,
                        "setting": setting,
                        "series": len(of_source),
                        "f1": float(np.mean([one.f1 for one in scores])),
                        **{
                            key: sum(getattr(one, key) for one in scores)
                            for key in ("found", "false", "missed", "labelled")
                        },
                        "f1_of_each": {one.name: round(its.f1, 3) for one, its in zip(of_source, scores, strict=True)},
                    }
                )
    return found


def agreement(series: Sequence[Labelled]) -> dict[str, float]:
    """Return by source the mean F1 of each annotator against the others, if there are several."""
    found: dict[str, float] = {}
    for source in dict.fromkeys(one.source for one in series):
        several = [one.labels for one in series if one.source == source and len(one.labels) > 1]
        scores = [
            np.mean([score(labels[one], {who: labels[who] for who in labels if who != one}).f1 for one in labels])
            for labels in several
        ]
        if scores:
            found[source] = float(np.mean(scores))
    return found


def in_order(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows by source, and of each source those of `history` first."""
    sources = list(SOURCES)
    return sorted(rows, key=lambda one: (sources.index(one["source"]), one["detector"] != "history"))


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each source and detector, as Markdown: its defaults, and the best of the settings tried."""
    rows = []
    for source in dict.fromkeys(one["source"] for one in document["summary"]):
        of_source = [one for one in document["summary"] if one["source"] == source]
        for name in dict.fromkeys(one["detector"] for one in of_source):
            usual, *others = [one for one in of_source if one["detector"] == name]
            best = max((usual, *others), key=lambda one: one["f1"])
            rows.append(
                (
                    f"{source} ({usual['series']})",
                    name,
                    f"{usual['f1']:.3f}",
                    f"{100 * usual['false'] / usual['series']:,.0f}",
                    f"{usual['missed']:,} of {usual['labelled']:,}",
                    f"{best['f1']:.3f} ({best['setting']})",
                )
            )
        if source in document["agreement"]:
            usual = of_source[0]
            rows.append(
                (f"{source} ({usual['series']})", "a person", f"{document['agreement'][source]:.3f}", "", "", "")
            )
    head = (
        "source (series)",
        "detector",
        "F1, defaults",
        "false alarms, 100 series",
        "labels missed",
        "F1, best setting",
    )
    return table(head, rows)


def skipped_text(document: Mapping[str, Any]) -> str:
    """Return how many series of which source are left out, by reason, as Markdown."""
    counted = Counter((name.split(":")[0], reason) for name, reason in document["left_out"].items())
    said = [f"{many} of {source}: {reason}" for (source, reason), many in counted.items()]
    return f"Left out: {'; '.join(said)}.\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every detector on every series, and store a summary."""
    parser = tallies.parser_of(__doc__, STORED)
    parser.add_argument("folder", type=Path, help="checkouts of the projects")
    parser.add_argument("--again", nargs="+", default=[], metavar="NAME", help="only these detectors")
    options = parser.parse_args(arguments)
    series, left_out = series_in(options.folder)
    if not series:
        parser.error(f"{options.folder} has none of {', '.join(SOURCES)}")
    packages = ("numpy", "scipy", "asv", "ruptures", "apache-otava")
    document = stored_document.begin(VERSION, packages, {"margin": MARGIN})
    run = detectors(options.folder)
    kept: list[dict[str, Any]] = []
    if options.again:
        unknown = [name for name in options.again if name not in run]
        if unknown:
            parser.error(f"{unknown[0]} is none of {', '.join(run)}")
        stored = stored_document.read_to_go_on(options.json, document)
        kept = [one for one in stored["summary"] if one["detector"] not in options.again]
        run = {name: run[name] for name in options.again}
    document |= {
        "left_out": left_out,
        "agreement": agreement(series),
        "summary": in_order([*summary(series, run), *kept]),
    }
    stored_document.write(options.json, document)
    sys.stdout.write(results_table(document) + "\n" + skipped_text(document))


if __name__ == "__main__":
    main()
