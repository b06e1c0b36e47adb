"""Reads the runs at a path to results: a run's folder, results of asv, or a file of pytest-benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyopbench.model import formatting
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.files import real_path
from pyopbench.model.side import Environment
from pyopbench.store.foreign import asv_files, read_file
from pyopbench.store.measured_run import Run
from pyopbench.store.merge import pool
from pyopbench.store.own_runs import run_of
from pyopbench.store.run import RUN_FILE, OpenRun, Source, is_run, open_run, open_sources
from pyopbench.store.types import Side

LEGAL = (
    "a folder written by `pyopbench run`, a folder of asv's results or one of their files, or a JSON file of "
    "pytest-benchmark"
)
MOST_SHOWN = 8
"""So many files are named in a message."""


def read_source(source: Source) -> tuple[Run, ...]:
    """Return the runs of a source: one for a run or a file; else one for each side, or for each file of asv.

    Raises:
        BadInput: it is none of these, or something in it is not as it was written.
    """
    if isinstance(source, OpenRun) or is_run(source):
        return _runs_of(open_run(source))
    files = [source] if source.is_file() else asv_files(source)
    runs = [read_file(file) for file in files]
    if not files or None in runs:
        raise _no_results(source if not files else files[runs.index(None)])
    return tuple(run for run in runs if run is not None)


def read_one(sources: Sequence[Source]) -> Run:
    """Return the one run of some sources; several folders of pyopbench's own are pooled.

    Raises:
        BadInput: as `read_source`; or there are several runs that are not pyopbench's own, or of several tools.
    """
    opened = open_sources(sources)
    own = [source for source in opened if isinstance(source, OpenRun) and not source.has_several_sides]
    if len(own) == len(opened) > 1:
        return run_of(pool(own).measured[0])
    runs = [run for source in opened for run in read_source(source)]
    if len(runs) > 1:
        raise BadInput(
            "these runs have different clocks or environments, so one report cannot cover them",
            received=formatting.listing([str(_path_of(source)) for source in opened]),
            legal="one run of asv or pytest-benchmark, or several folders of pyopbench's own",
            hint="report each file separately; pyopbench compare compares two",
        )
    return runs[0]


def read_cases(sources: Sequence[Source]) -> Run:
    """Return the one run of some sources, which has to have measured a case: what a report can be made of.

    Raises:
        BadInput: as `read_one`.
        NothingMeasured: it holds none.
    """
    run = read_one(sources)
    if run.frame.empty:
        others = run.others["case"].nunique()
        paths = list(map(_path_of, sources))
        raise NothingMeasured(
            "no case of pyopbench was measured, so there is nothing to report",
            received=f"{formatting.listing(list(map(str, paths)))}: {formatting.count(others, 'other benchmark')}",
            legal="results of pyopbench's own suites for asv and pytest-benchmark",
            hint="pyopbench compare also accepts benchmarks of other suites" if others else "",
        )
    return run


def _path_of(source: Source) -> Path:
    return source.folder if isinstance(source, OpenRun) else source


def _runs_of(run: OpenRun) -> tuple[Run, ...]:
    """Return a separate run for each side, because a failure on one says nothing about another.

    If there are several, `frame` and `noise` have a column `block`: launches with the same number were interleaved, one
    of each side. The label of a TensorFlow stands for its version; of revisions the commit stands for pyopbench's, and
    `revision` is the label.
    """
    if not run.has_several_sides:
        return (run_of(run.measured[0]),)
    name = real_path(run.folder).name
    return tuple(_labelled(run_of(measured), measured.side, name) for measured in run.measured)


def _labelled(run: Run, version: Side, name: str) -> Run:
    frame, noise = (rows.assign(run=name, block=rows["launch"]) for rows in (run.frame, run.noise))
    environment: dict[str, Any] = {"side": version.label}
    if version.revision is not None:
        revision = version.revision
        environment |= {"commit": revision.commit, "dirty": revision.dirty, "revision": version.label}
    elif version.asked == Environment(version.tf):
        environment["tensorflow"] = version.label
    if version.revision is None:
        frame = frame.assign(tf=version.label)
    return replace(run, frame=frame, noise=noise, environment={**run.environment, **environment})


def _no_results(path: Path) -> BadInput:
    below = sorted({file.parent for file in path.rglob(RUN_FILE)}) or sorted(path.rglob("*.json"))
    named = formatting.listing([str(one) for one in below[:MOST_SHOWN]], "or")
    hint = f"choose one of those below it: {named}" if named else "use the folder that `pyopbench run` printed"
    received = path if path.exists() else f"{path}: no such file or folder"
    return BadInput("these are not results", received=received, legal=LEGAL, hint=hint)
