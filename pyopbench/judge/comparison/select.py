"""What a command line puts side by side: two results, or two parts of one result along an axis."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pyopbench.judge.comparison.case_key import CaseKey
from pyopbench.judge.comparison.sides import Sides, side_of
from pyopbench.judge.latencies import label_of
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.model.paths import real_path
from pyopbench.store import run_sides
from pyopbench.store.read import read_source
from pyopbench.store.run import Run

AXES = ("run", "commit", "tf", "side", "variant")
SYNTAX = "compare A B, or compare RESULTS LABEL LABEL --axis commit, tf, side or variant"
SHORTEST_HASH = 4
"""Fewer digits of a commit name too many of them."""
OTHERS = "name a result that holds two, or two results"
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
        together = _of_one_run(paths)
        if together is None:
            return _two_results(paths, axis)
        return read_sides(together, run_sides.axis_of(run_sides.read(Path(together[0]))))
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


def _of_one_run(paths: Sequence[Path]) -> list[str] | None:
    """Return how two versions of one run are named, which were measured by turns and so are paired; None for others."""
    folder = real_path(paths[0]).parent
    if not run_sides.is_here(folder):
        return None
    labels = {one.folder: one.label for one in run_sides.read(folder)}
    found = [labels.get(real_path(path)) for path in paths]
    return None if None in found or found[0] == found[1] else [str(folder), *map(str, found)]


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
    _require_one_machine(found, paths)
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


def _require_one_machine(found: Sequence[Sequence[Run]], paths: Sequence[Path]) -> None:
    for path, runs in zip(paths, found, strict=True):
        machines = {host for run in runs for host in run.hosts.values()}
        if len(machines) > 1:
            raise BadInput(
                "two runs that were not interleaved are not compared over several machines: what each machine was off "
                "by in either run is not known",
                received=f"{path}: {formatting.count(len(machines), 'machine')}",
                legal="runs of one machine, or one run on several versions",
                hint="compare shard with shard of the same machine, or measure both together: "
                "pyopbench run --tf A --tf B --shard I/N",
            )


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
    first, second = (side_of(run_sides.short_hash(label), parts[label], CaseKey.whole, apart) for label in chosen)
    chosen_runs = [run for label in chosen for run in parts[label]]
    is_revisions = all("revision" in run.environment for run in chosen_runs)
    in_blocks = (axis in ("tf", "side") or is_revisions) and _are_in_blocks(chosen_runs)
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
    short = [run_sides.short_hash(label) for label in known]
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
    exact = [one for one in known if one in (label, run_sides.short_hash(label))]
    found = exact or [one for one in known if shortened and one.startswith(label)]
    if len(found) != 1:
        raise BadInput(
            f"no such {axis}" if not found else f"more than one {axis} starts like this",
            received=f"{label!r} in {path}",
            legal=formatting.listing([run_sides.short_hash(one) for one in known], "or")
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
    return replace(run, frame=frame, failures=failures, others=run.others.iloc[:0])
