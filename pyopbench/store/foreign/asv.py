"""Results of asv (airspeed velocity): each file, which is of one commit in one environment, becomes one run.

A benchmark of pyopbench's own suite names one case by its class and its parameters op, variant, size and placement.
Those of other suites keep their names, and can be compared but not reported on.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyopbench.model.case import DEVICES, NO_GRADIENT, Case, Failure
from pyopbench.store.catalogue_facts import declared
from pyopbench.store.foreign import asv_file, common
from pyopbench.store.foreign.asv_file import AsvEntry
from pyopbench.store.foreign.common import Timed, TimedRun
from pyopbench.store.limitations import Limitation, NotInterleaved, OnlyOneLaunch, VersionsUnknown, samples_not_kept
from pyopbench.store.measured_run import COLUMNS, Run, no_rows
from pyopbench.store.warnings import Counted, NoTimes, RunWarning, UnknownGradients

TOOL: Final = "asv"
DIRECTIONS = {
    "latency.ForwardLatency.time_call": "forward",
    "latency.BackwardLatency.time_call": "backward",
    "latency.ForwardBackwardLatency.time_call": "forward_backward",
}
"""The benchmarks of pyopbench's own suite that time cases, with parameters op, variant, size and placement."""
ON_CPU = "'cpu'"
"""The placement, as asv writes it, of results from before there was that parameter."""
Parameters: TypeAlias = tuple[str, str, int, str]
"""Op, variant, size and placement."""
PACKAGES = {"tensorflow": ("tensorflow-cpu", "tensorflow"), "numpy": ("numpy",)}
"""Names in asv's matrix for what an environment is told by; with `pip+` before them where they are pip's alone."""


def read(files: Iterable[tuple[Path, Mapping[str, Any]]]) -> list[Run]:
    """Read files of results, each of which becomes a run.

    Args:
        files: where each is, for messages, and its JSON, which need not be kept until the end.

    Raises:
        BadInput: one is of another version, or not as asv writes it; with file and place.
    """
    read = [_without_frames(path, document) for path, document in files]
    of_each = common.frames(TOOL, [TimedRun(run.name, run.environment["tensorflow"], timed) for run, timed in read])
    return [replace(run, frame=frame, others=others) for (run, _), (frame, others) in zip(read, of_each, strict=True)]


def _without_frames(path: Path, document: Mapping[str, Any]) -> tuple[Run, list[Timed]]:
    timed, failed, strange = _sorted(asv_file.entries_of(path, document))
    failures, other_failures = ([one for is_case, one in failed if is_case == wanted] for wanted in (True, False))
    common.require_once((one.key for one in timed), path)
    environment = {**_environment(document), "commit_date": asv_file.committed_of(path, document)}
    name = f"{document['commit_hash'][:8]} in {document['env_name']}"
    cases = [one.case for one in timed if one.case is not None]
    cases += [Case.from_id(failure.case) for failure in failures]
    run = Run(
        name=common.shown(name),
        command=(),
        created=asv_file.created_of(path, document),
        settings=common.settings_of([one.case for one in timed if one.case is not None]),
        environment=environment,
        catalogue=common.catalogue_of(cases),
        cases=tuple(dict.fromkeys(case.id for case in cases)),
        failures=tuple(failures),
        other_failures=tuple(other_failures),
        launches=(),
        frame=no_rows(COLUMNS),
        warnings=_warnings(path, asv_file.others_of(document), strange),
        tool=TOOL,
        cannot=_cannot(timed),
    )
    return run, timed


def _sorted(entries: Sequence[AsvEntry]) -> tuple[list[Timed], list[tuple[bool, Failure]], list[str]]:
    """Return times, failures with whether each is of a case, and variants that are not known here."""
    usual = {name: facts.get("gradients", ()) for name, facts in declared("variants").items()}
    timed, failures, strange = [], [], []
    for entry in entries:
        parameters = _parameters(entry)
        if parameters and DIRECTIONS[entry.benchmark] != "forward" and not usual.get(parameters[1]):
            strange.append(common.shown(parameters[1]))
            continue
        case = _case(DIRECTIONS[entry.benchmark], parameters, usual) if parameters else None
        if entry.result is not None and not math.isnan(entry.result):
            seconds = entry.samples or (entry.result,)
            timed.append(Timed(entry.name, case, entry.calls, seconds, entry.samples is not None))
        else:
            key = entry.name if case is None else case.id
            failures.append((case is not None, _failure(key, failed=entry.result is None)))
    return timed, failures, strange


def _parameters(entry: AsvEntry) -> Parameters | None:
    """Return the parameters of a benchmark of pyopbench's own suite; None for any other."""
    if entry.benchmark not in DIRECTIONS or len(entry.values) not in (3, 4):
        return None
    try:
        op, variant, size, placement = (ast.literal_eval(value) for value in (*entry.values, ON_CPU)[:4])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    named = all(isinstance(name, str) and re.fullmatch(r"\w+", name) for name in (op, variant))
    if not named or placement not in DEVICES or type(size) is not int or not 0 < size < 10**18:
        return None
    return op, variant, size, placement


def _case(direction: str, parameters: Parameters, usual: Mapping[str, Sequence[str]]) -> Case:
    """Return the case: a `tf.function` of float32, with the gradient that is usual for the variant."""
    op, variant, size, placement = parameters
    gradient = NO_GRADIENT if direction == "forward" else usual[variant][0]
    return Case(op, variant, gradient, direction, "call", "float32", size, placement)


def _failure(key: str, *, failed: bool) -> Failure:
    if failed:
        return Failure(key, "raised", "the benchmark failed; `asv show` prints its error output")
    return Failure(key, "unsupported", "no result: the suite skipped the combination, or the run did not select it")


def _environment(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of machine and versions, by the names that runs of pyopbench have for it."""
    params, requirements = document["params"], document["requirements"]
    cores = str(params.get("num_cpu") or "")
    return {
        "machine": common.shown_or_none(params.get("machine")),
        "cpu": common.shown_or_none(params.get("cpu")),
        "cores": int(cores) if re.fullmatch("[0-9]{1,6}", cores) else None,
        "os": common.shown_or_none(params.get("os")),
        "python": common.shown_or_none(document.get("python")),
        "numpy": _version(requirements, "numpy"),
        "tensorflow": _version(requirements, "tensorflow"),
        "commit": common.shown(document["commit_hash"]),
        "environment": common.shown(document["env_name"]),
    }


def _version(requirements: Mapping[str, Any], package: str) -> str | None:
    names = [name for plain in PACKAGES[package] for name in (plain, f"pip+{plain}")]
    return next((common.shown_or_none(requirements[name]) for name in names if requirements.get(name)), None)


def _warnings(path: Path, left_out: Sequence[str], strange: Sequence[str]) -> tuple[RunWarning, ...]:
    return (
        *((NoTimes(str(path), tuple(left_out)),) if left_out else ()),
        *((UnknownGradients(str(path), _counted(strange)),) if strange else ()),
    )


def _counted(names: Sequence[str]) -> tuple[Counted, ...]:
    return tuple(Counted(name, count) for name, count in sorted(Counter(names).items()))


def _cannot(timed: Sequence[Timed]) -> tuple[Limitation, ...]:
    return (
        OnlyOneLaunch(TOOL),
        NotInterleaved(TOOL),
        VersionsUnknown(TOOL),
        *samples_not_kept(TOOL, [one.has_samples for one in timed]),
    )
