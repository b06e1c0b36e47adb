"""A side of a comparison: samples of one or several runs, each under what it is matched by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from pyopbench.judge.latencies import checked_frame, label_of, with_pipeline
from pyopbench.model import formatting
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.model.paths import real_path
from pyopbench.stats import costs, estimate
from pyopbench.stats.estimate import LEAST_COMPARISONS, UNKNOWN, Estimate, Spread
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_source
from pyopbench.store.run import short_hash

NOT_TOLD = "unknown"
"""Stands for a fact of the environment that is not known."""

AXES = ("run", "commit", "tf", "side", "variant")
SYNTAX = "compare A B, or compare RESULTS LABEL LABEL --axis commit, tf, side or variant"
SHORTEST_HASH = 4
"""Fewer digits of a commit name too many of them."""
OTHERS = "name a result that contains two, or two results"
APART: Mapping[str, tuple[str, ...]] = {
    "run": ("environment",),
    "commit": ("machine", "environment"),
    "tf": ("machine", "commit"),
    "side": ("machine",),
    "variant": ("machine", "commit", "environment"),
}
"""What tells the runs of one side from each other, by axis: parts of the environment, beside the axis itself."""
OWN_APART = ("tensorflow",)
"""The same for pyopbench, which has several runs in one folder only where they are of several versions."""

BLOCK_COLUMNS = ["run", "block"]
"""What makes a block: launches of one number, one of each version or revision, which sample in turns."""
LEAST_CASES, LEAST_LAUNCHES = 6, 4
"""So few cases show which spread is usual if each has as many launches. Simulated with six cases and four launches, a
slowdown by 5% was found in 48% of gates in place of 12%, with fewer false alarms (docs/decisions/0022)."""


@dataclass(frozen=True)
class CaseKey:
    """What a case is matched by; `str()` of it is what tables and JSON call the case.

    Attributes:
        name: the id of the case, without variant and gradient where variants are compared; of a benchmark of another
            suite its name.
        parts: the parts of that id; none for a benchmark of another suite.
        environment: name and value of what tells the runs of one side from each other, such as `tensorflow` and
            `2.16.2`; none for a single run.
    """

    name: str
    parts: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.name} in {environment_name(self.environment)}" if self.environment else self.name

    @classmethod
    def whole(cls, case: Case) -> CaseKey:
        """Return the key by which a case is matched with itself."""
        return cls._of(case.parts)

    @classmethod
    def without_variant(cls, case: Case) -> CaseKey:
        """Return the key by which a case is matched with the same one of another variant."""
        return cls._of((case.op, case.direction, case.mode, case.dtype, case.size, case.placement))

    @classmethod
    def _of(cls, parts: tuple[str | int, ...]) -> CaseKey:
        words = tuple(map(str, parts))
        return cls("/".join(words), words)


def environment_name(environment: Iterable[tuple[str, str]]) -> str:
    """Return what tells runs apart; a bare version does not say of what it is, names of machines and commits do."""
    return " ".join(f"TensorFlow {value}" if name == "tensorflow" else value for name, value in environment)


@dataclass(frozen=True, eq=False)
class ComparedSide:
    """One side of a comparison.

    Attributes:
        label: what it is called.
        runs: where it comes from.
        frame: its samples as `measured_run.Run.frame`; in place of the id of a case stands its key, as text.
        failures: what it has no number for, by the text of its key.
        environment: what it ran on, with a set of texts for each name: several runs may differ.
        keys: text of a key -> the key, of every case in `frame` and `failures`.
    """

    label: str
    runs: tuple[Run, ...]
    frame: pd.DataFrame
    failures: Mapping[str, Failure]
    environment: Mapping[str, Any]
    keys: Mapping[str, CaseKey]


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides of a comparison.

    Attributes:
        axis: what they differ in, one of `AXES`.
        first, second: the sides.
        paired: by `round` or `block`, or "" if they were not interleaved.
    """

    axis: str
    first: ComparedSide
    second: ComparedSide
    paired: Literal["round", "block", ""]

    @property
    def tool(self) -> str:
        """What measured both."""
        return self.first.runs[0].tool


def side_of(label: str, runs: Sequence[Run], match: Callable[[Case], CaseKey], apart: Sequence[str]) -> ComparedSide:
    """Return a side of a comparison.

    Args:
        label: what it is called.
        runs: where it comes from.
        match: case -> what it is matched by. A benchmark of another suite is matched by its name.
        apart: parts of the environment that tell several runs from each other; they become part of what a case is
            matched by. None for a single run.

    Raises:
        BadInput: two runs that nothing tells apart.
    """
    frames: list[pd.DataFrame] = []
    failures: dict[str, Failure] = {}
    keys: dict[str, CaseKey] = {}
    for run, environment in zip(map(with_pipeline, runs), _environments(label, runs, apart), strict=True):
        cases = dict.fromkeys([*run.frame["case"].unique(), *(failure.case for failure in run.failures)])
        found = {str(case): match(Case.from_id(str(case))) for case in cases}
        others = [*run.others["case"].unique(), *(failure.case for failure in run.other_failures)]
        found |= {str(name): CaseKey(str(name)) for name in others}
        found = {case: replace(key, environment=environment) for case, key in found.items()}
        keys |= {str(key): key for key in found.values()}
        # Compared by their names: benchmarks of other suites have nothing else.
        checked = [part for part in (checked_frame(run), run.others) if len(part)]
        frame = pd.concat(checked, ignore_index=True) if checked else run.frame
        frames.append(frame.assign(case=frame["case"].map({case: str(key) for case, key in found.items()})))
        for failure in (*run.failures, *run.other_failures):
            failures.setdefault(str(found[failure.case]), failure)
    return ComparedSide(label, tuple(runs), pd.concat(frames, ignore_index=True), failures, _environment(runs), keys)


def _environments(label: str, runs: Sequence[Run], apart: Sequence[str]) -> list[tuple[tuple[str, str], ...]]:
    """Return for each run what tells it from the others of its side; nothing for each if `apart` is empty.

    Raises:
        BadInput: two of them have the same.
    """
    found: list[tuple[tuple[str, str], ...]] = []
    for run in runs:
        environment = tuple((name, str(run.environment.get(name))) for name in apart)
        if environment in found and apart:
            raise BadInput(
                "several results on one side that cannot be distinguished",
                received=f"{label}: {environment_name(environment)}",
                legal=f"one for each {formatting.listing(list(apart))}",
                hint="name single files of results",
            )
        found.append(environment)
    return found


def _environment(runs: Sequence[Run]) -> dict[str, Any]:
    names = dict.fromkeys(name for run in runs for name in run.environment)
    return {name: sorted({_told(run.environment.get(name)) for run in runs}) for name in names}


def _told(value: Any) -> str:
    return NOT_TOLD if value is None else str(value)


def read_sides(words: Sequence[str], axis: str) -> Sides:
    """Return the sides that a command line names.

    Args:
        words: two paths; or one path and two labels, which may be left out if there are only two.
        axis: one of `AXES`.

    Raises:
        BadInput: a path or a label is none, the tools differ, or there is nothing to tell the sides apart by.
    """
    if axis not in AXES:
        raise BadInput("unknown axis", received=repr(axis), legal=", ".join(AXES), hint="for example --axis tf")
    paths = [Path(word) for word in words]
    if len(paths) == 2 and axis != "variant" and all(path.exists() for path in paths):
        return _two_results(paths, axis)
    if axis == "run" or len(words) not in (1, 3):
        missing = [str(path) for path in paths if not path.exists()]
        told = f"; not there: {formatting.listing(missing)}" if missing else ""
        raise BadInput(
            "give two results, or one result and two labels of an axis",
            received=f"{' '.join(words)} with --axis {axis}{told}",
            legal=SYNTAX,
            hint="for example pyopbench compare results/before results/after",
        )
    runs = read_source(paths[0])
    _require_one_tool(runs)
    return sides_along(axis, runs, list(words[1:]), words[0])


def _two_results(paths: Sequence[Path], axis: str) -> Sides:
    if real_path(paths[0]) == real_path(paths[1]):
        raise BadInput(
            "both sides are the same results",
            received=paths[0],
            legal="two different results",
            hint="name the folder of the other run",
        )
    found = [read_source(path) for path in paths]
    _require_one_tool([run for runs in found for run in runs])
    for path, runs in zip(paths, found, strict=True):
        commits = sorted({str(run.environment.get("commit"))[:8] for run in runs})
        if len(commits) > 1:
            raise BadInput(
                "results of several commits on one side",
                received=f"{path}: {formatting.listing(commits)}",
                legal="one commit on each side",
                hint=f"pyopbench compare {path} {commits[0]} {commits[1]} --axis commit, or name single files",
            )
    apart = _apart("run", found)
    first, second = (side_of(str(path), runs, CaseKey.whole, apart) for path, runs in zip(paths, found, strict=True))
    return Sides(axis, first, second, "")


def _require_one_tool(runs: Iterable[Run]) -> None:
    tools = sorted({run.tool for run in runs})
    if len(tools) > 1:
        raise BadInput(
            "results of different tools cannot be compared, because each has its own clock",
            received=formatting.listing(tools),
            legal="results of one tool on both sides",
            hint="compare results of the same tool",
        )


def sides_along(axis: str, runs: Sequence[Run], labels: Sequence[str], path: str) -> Sides:
    """Return two parts of one result.

    Args:
        axis: what they differ in, one of `AXES`.
        runs: of the result.
        labels: of the parts.
        path: of the result, for messages.

    Raises:
        BadInput: a label is none.
    """
    if axis == "variant":
        return _variants(runs, labels, path)
    parts = _by_side(runs) if axis == "side" else _by_tf(runs) if axis == "tf" else _by_commit(runs)
    known = sorted(parts, key=_as_version) if axis == "tf" else list(parts)
    chosen = _choose(axis, labels, known, path)
    apart = _apart(axis, [parts[label] for label in chosen])
    chosen_runs = [run for label in chosen for run in parts[label]]
    is_revisions = all("revision" in run.environment for run in chosen_runs)
    in_blocks = (axis in ("tf", "side") or is_revisions) and _are_in_blocks(chosen_runs)
    first, second = (side_of(short_hash(label), parts[label], CaseKey.whole, apart) for label in chosen)
    return Sides(axis, first, second, "block" if in_blocks else "")


def _as_version(label: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]{1,9}", label)]


def _by_commit(runs: Sequence[Run]) -> dict[str, list[Run]]:
    parts: dict[str, list[Run]] = {}
    for run in runs:
        parts.setdefault(str(run.environment.get("revision") or run.environment.get("commit")), []).append(run)
    return parts


def _by_tf(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs of each TensorFlow that is told."""
    parts: dict[str, list[Run]] = {}
    for run in runs:
        if run.environment.get("tensorflow"):
            parts.setdefault(str(run.environment["tensorflow"]), []).append(run)
    return parts


def _by_side(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs of each side of a run on several."""
    parts: dict[str, list[Run]] = {}
    for run in runs:
        if "side" in run.environment:
            parts.setdefault(str(run.environment["side"]), []).append(run)
    return parts


def _are_in_blocks(runs: Sequence[Run]) -> bool:
    return all("block" in run.frame.columns for run in runs)


def _apart(axis: str, sides: Iterable[Sequence[Run]]) -> tuple[str, ...]:
    """Return what tells the runs of a side from each other; nothing where no side has several."""
    several = [runs for runs in sides if len(runs) > 1]
    if not several:
        return ()
    return OWN_APART if several[0][0].tool == "pyopbench" else APART[axis]


def _choose(axis: str, labels: Sequence[str], known: Sequence[str], path: str) -> list[str]:
    """Return the two labels in full. Two versions need no naming: the older one is the first."""
    named = labels or (known if axis in ("tf", "side") and len(known) == 2 else ())
    short = [short_hash(label) for label in known]
    if not named:
        told = f"{path} has {formatting.listing(short) or f'no {axis}'}"
        example = f"pyopbench compare {path} {short[0]} {short[1]} --axis {axis}" if len(short) > 1 else OTHERS
        raise BadInput(f"--axis {axis} takes two labels", received=told, legal=SYNTAX, hint=example)
    chosen = [_full(axis, label, known, path) for label in named]
    if chosen[0] == chosen[1]:
        raise BadInput(
            "both sides are the same",
            received=chosen[0],
            legal="two different labels",
            hint=f"name two of {formatting.listing(known)}",
        )
    return chosen


def _full(axis: str, label: str, known: Sequence[str], path: str) -> str:
    shortened = axis == "commit" and re.fullmatch(f"[0-9a-f]{{{SHORTEST_HASH},}}", label)
    # A label in full is meant as it is: that of a control begins with the one of its revision.
    # A revision that was asked for by its whole hash has the first digits of it for a label.
    exact = [one for one in known if one in (label, short_hash(label))]
    found = exact or [one for one in known if shortened and one.startswith(label)]
    if len(found) != 1:
        raise BadInput(
            f"no such {axis}" if not found else f"more than one {axis} starts like this",
            received=f"{label!r} in {path}",
            legal=formatting.listing([short_hash(one) for one in known], "or")
            or f"nothing: no {axis} is recorded in {path}",
            hint="give the whole of one of these",
        )
    return found[0]


def _variants(runs: Sequence[Run], labels: Sequence[str], path: str) -> Sides:
    """Return two variants of the same runs; `variant+gradient` names one with another gradient than its usual one."""
    known = sorted({label for run in runs for label in _labels(run).values()})
    chosen = _choose("variant", labels, known, path)
    apart = _apart("variant", [runs])
    first, second = (
        side_of(label, [_of_variant(run, label) for run in runs], CaseKey.without_variant, apart) for label in chosen
    )
    return Sides("variant", first, second, "round" if runs[0].tool == "pyopbench" else "")


def _labels(run: Run) -> dict[str, str]:
    """Return the label of each case that has samples or failed; a forward case is of every gradient of its variant."""
    keys = dict.fromkeys([*run.frame["case"].unique(), *(failure.case for failure in run.failures)])
    cases = {str(key): Case.from_id(str(key)) for key in keys}
    return {key: label_of(run.catalogue, case.variant, case.gradient) for key, case in cases.items()}


def _of_variant(run: Run, label: str) -> Run:
    labels = _labels(run)
    frame = run.frame[run.frame["case"].map(labels) == label]
    failures = tuple(failure for failure in run.failures if labels[failure.case] == label)
    return replace(run, frame=frame, failures=failures, others=run.others.iloc[:0], other_failures=())


def pair_logs(sides: Sides) -> pd.DataFrame:
    """Return one log ratio for each case that both paired sides have and each launch, or block of launches."""
    return paired_by_round(sides) if sides.paired == "round" else sweep_logs(sides.first.frame, sides.second.frame)


def pair_estimates(sides: Sides, pairs: pd.DataFrame | None = None) -> dict[str, Estimate]:
    """Return the estimate of each case that both paired sides have, with the spread that its own launches show.

    Args:
        sides: that are paired.
        pairs: `pair_logs` of them, where they are known already.
    """
    pairs = pair_logs(sides) if pairs is None else pairs
    return estimate.estimates(pairs)


def usual_over(several: Sequence[Sides]) -> Spread | None:
    """Return which spread is usual in several comparisons of one run, which share their launches and machine.

    A comparison of few cases does not show that by itself, but many commits of these few cases do.

    Returns:
        None for fewer than two comparisons, and where all of them are too few, as in `usual_of`.
    """
    if len(several) < 2 or any(sides.paired != "block" for sides in several):
        return None
    usual = usual_among([one for sides in several for one in pair_estimates(sides).values()])
    return None if usual == UNKNOWN else usual


def usual_among(estimates: Sequence[Estimate]) -> Spread:
    """Return which spread is usual among estimates of interleaved cases, `UNKNOWN` where they do not show it."""
    many = all(one.n >= LEAST_LAUNCHES for one in estimates if one.known)
    least = LEAST_CASES if many else LEAST_COMPARISONS
    return estimate.usual_of(estimates, least)


def paired_by_round(sides: Sides) -> pd.DataFrame:
    """Return one log ratio for each case and launch, paired by round: both sides are of the same processes."""
    both, cases, partners = _labelled(sides.first.frame, sides.second.frame)
    pairs = estimate.paired_logs(both, partners)
    return pairs.assign(case=pairs["case"].map(cases))


def sweep_logs(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Return one log ratio for each case and block of launches, paired by sweep.

    A block holds a launch of each side. In each sweep both sample a group right after one another, so that what the
    machine did meanwhile is common to both; a round of the one has no partner in the other. So the medians of the
    rounds of a sweep are paired, and several launches of one side in a block are pooled. A block in which either side
    has no number is left out.

    Args:
        first: samples of a side, as `Run.frame`, with a column `block`.
        second: of the other, as the first.

    Returns:
        Columns case, run, block, and value, the natural log of second over first; sorted by case, run and block.
    """
    both, cases, partners = _labelled(_sweep_costs(first), _sweep_costs(second))
    pairs = estimate.ratio_logs(both, partners, BLOCK_COLUMNS)
    return pairs.assign(case=pairs["case"].map(cases))


def _sweep_costs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what each case costs in each sweep of a block, with the sweep in place of the round."""
    rounds = costs.round_costs(frame, [*BLOCK_COLUMNS, "launch", "sweep"])
    medians = rounds.groupby(["case", *BLOCK_COLUMNS, "sweep"], observed=True)["seconds"].median()
    return medians.reset_index().rename(columns={"sweep": "round"})


def _labelled(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, Mapping[str, str], Mapping[str, str]]:
    """Return both in one frame, and by the label of each case of the second the case, and its label in the first."""
    before = first.assign(case="first " + first["case"].astype("str"))
    after = second.assign(case="second " + second["case"].astype("str"))
    cases = {f"second {case}": case for case in second["case"].unique()}
    both = pd.concat([before, after], ignore_index=True)
    return both, cases, {name: f"first {case}" for name, case in cases.items()}
