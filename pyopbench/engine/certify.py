"""What pyopbench is worth on this machine: runs whose answers are known, judged as any other run is.

Controls are a variant's twin, which is the same code in a graph of its own, and the current callback slowed down by a
known share of what it costs. They are measured in the mode of the main job and by the same workers, all of them for as
long, and each is compared with the variant that it is made from. Between them the main job is
run several times, whose answers are not known: each run is valued by the others, and what ports shift by from run to
run is the run effect.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyopbench.engine.certificate_extent import INJECTED, Extent, MainJob, Trial
from pyopbench.engine.certificate_figures import count, decisions_of, quantile, smallest_effects
from pyopbench.engine.certificate_runs import MODE, Measured, Tell, Work, controls, measure_all
from pyopbench.engine.worker_process import ask_once
from pyopbench.judge.decide import Judgement
from pyopbench.judge.decision import Verdict
from pyopbench.judge.repetition import run_effect_of
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT, Case
from pyopbench.model.errors import NothingMeasured
from pyopbench.store import integrity, run_folder
from pyopbench.store.certificate import FILE, KEY, Certificate, ControlRun, Overhead, path_for

LEAST_RUNS_OF_EFFECT = 3
"""Runs of the main job from which a certificate tells the run effect: two of a few ops hardly do."""

OVERHEAD = {"do": "overhead", "rounds": 400, "group_seconds": 4.0}
"""Enough rounds for a median to some hundredths of a percent of the shortest body."""


def certify(folder: Path, extent: Extent, *, quick: bool, command: tuple[str, ...], tell: Tell) -> Certificate:
    """Measure what pyopbench is worth here, keep the certificate and return it.

    Args:
        folder: for the runs that it is made from, and a copy of the certificate.
        extent: how much to measure.
        quick: for the record: that it was little.
        command: for the record.
        tell: is told of every step.

    Raises:
        BadInput: the folder holds runs already.
        WorkerLost: no worker could be started.
        NothingMeasured: no identical pair was measured, so that nothing is certified.
    """
    began = time.monotonic()
    work = Work(folder, extent, command, began + extent.seconds, tell)
    tell(work.stage("timing bodies of known cost"))
    overhead = ask_once({**OVERHEAD, "block_seconds": extent.settings.block_seconds})
    measured, undone = measure_all(work)
    certificate = _certificate_of(measured, overhead, quick=quick, command=command)
    certificate = replace(certificate, seconds=time.monotonic() - began, undone=undone)
    _require_pairs(certificate, folder)
    _keep(certificate, folder)
    return certificate


def _certificate_of(
    measured: Sequence[Measured], overhead: Mapping[str, Any], *, quick: bool, command: tuple[str, ...]
) -> Certificate:
    """Return the figures of all that was measured, without how long it took and what there was no time for."""
    controlled = [one for one in measured if isinstance(one.of, Trial)]
    judged = [one.judgement for one in controlled]
    jobs = [one.judgement for one in measured if isinstance(one.of, MainJob)]
    effects = [effect for judgement in judged for effect in smallest_effects(judgement)]
    environment = measured[0].judgement.run.environment
    return Certificate(
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        quick=quick,
        seconds=0.0,
        mode=MODE,
        minimum_effect=MINIMUM_EFFECT,
        environment={name: environment[name] for name in (*KEY, "pyopbench", "commit", "dirty")},
        controls=tuple(_control_run(one) for one in controlled),
        identical=count(_verdicts(judged, 0), 0),
        injected=tuple(count(_verdicts(judged, percent), percent) for percent in INJECTED),
        effect=quantile(effects, 0.5),
        effect_90=quantile(effects, 0.9),
        overheads=tuple(Overhead(*pair) for pair in overhead["overheads"]),
        timer_seconds=overhead["timer_seconds"],
        timer_error_seconds=overhead["timer_error_seconds"],
        decisions=decisions_of(jobs),
        run_effect=run_effect_of(jobs) if len(jobs) >= LEAST_RUNS_OF_EFFECT else None,
        undone=(),
    )


def _control_run(one: Measured) -> ControlRun:
    launches = len({line["launch"] for line in one.judgement.run.launches})
    return ControlRun(launches, int(one.judgement.run.settings["launches"]), one.ended.by)


def _require_pairs(certificate: Certificate, folder: Path) -> None:
    if not certificate.identical.pairs:
        raise NothingMeasured(
            "cannot certify: no identical pair was measured in two launches",
            received=f"{folder}: {formatting.count(len(certificate.controls), 'run')} of controls",
            legal="at least one variant and its twin, each with two launches",
            hint=f"pyopbench report {folder}/controls-1 shows what failed; then certify again",
        )


def _keep(certificate: Certificate, folder: Path) -> None:
    content = integrity.sealed(certificate.as_json())
    for path in (folder / FILE, path_for(certificate.environment)):
        path.parent.mkdir(parents=True, exist_ok=True)
        run_folder.write_atomically(path, content)


def _verdicts(judged: Sequence[Judgement], percent: int) -> Iterator[Verdict]:
    """Return the verdicts on the controls that are slowed down by `percent`."""
    names = controls((percent,))
    return (
        verdict for judgement in judged for verdict in judgement.verdicts if Case.from_id(verdict.case).variant in names
    )
