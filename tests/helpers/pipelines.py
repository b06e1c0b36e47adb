"""Runs of an op in an input pipeline with known truth."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import stored
from pyopbench.judge.judge import Judgement, Judging, judge
from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.case import BASELINE, PIPELINE
from pyopbench.store.measured_run import PipelineRows
from pyopbench.store.own_runs import run_of
from pyopbench.store.run import OpenRun, OpenSide

CURRENT = Arrangement("map", "keep", "ds.map(f)")
PARALLEL = Arrangement("map", "parallel", "ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)", AUTOTUNE)
BATCH = Arrangement("batch_body", "batch", "ds.batch(32).map(f)", batch=32)
POOL = Arrangement("processes", "processes", "ds.map(call_pool, num_parallel_calls=2)", 2)
PORT = Arrangement("port", "port", "ds.map(native, num_parallel_calls=tf.data.AUTOTUNE)", AUTOTUNE, 0, "native", 4.0)
LEFT_OUT = Arrangement("port", "port", "ds.map(autograph)", AUTOTUNE, 0, "autograph", 3.0)
ALL = (CURRENT, PARALLEL, BATCH, POOL, PORT)
LAUNCHES, ROUNDS, ELEMENTS = 3, 6, 320
OP = "double"
NOWHERE = Path("/no/such/folder")


def case_of(key: str, variant: str = BASELINE) -> str:
    """Return the id of the case that stands for an arrangement, by its key."""
    return stored.case(variant, OP, 1000, mode=f"{PIPELINE}:{key}")


def id_of(one: Arrangement) -> str:
    """Return the id of the case that stands for an arrangement."""
    return case_of(one.key, one.variant or BASELINE)


def failure(key: str, status: str = "raised", reason: str = "no", launch: int | None = 0) -> dict[str, Any]:
    """Return a failure of an arrangement, by its key."""
    return {"case": case_of(key), "status": status, "reason": reason, "launch": launch}


def plan(arrangements: Sequence[Arrangement] = ALL, **changes: Any) -> dict[str, Any]:
    """Return what a run in a pipeline is planned by, as `run.json` holds it."""
    return {
        "parallel": [1, AUTOTUNE],
        "batch": [32],
        "processes": 2,
        "step_seconds": 0.0,
        "step_elements": 32,
        "minimum_effect": 0.03,
        "arrangements": [asdict(one) for one in (*arrangements, LEFT_OUT)],
        "elements": 64,
        "body_seconds": 1e-4,
        **changes,
    }


def content(arrangements: Sequence[Arrangement] = ALL, **changes: Any) -> dict[str, Any]:
    """Return the content of the `run.json` of such a run."""
    skip = {"case": id_of(LEFT_OUT), "status": "unsupported", "reason": "the op has no python body", "launch": None}
    cases = list(map(id_of, arrangements))
    settings = {**stored.SETTINGS, "baseline": BASELINE}
    made = stored.run(cases, skips=[skip], pipeline=plan(arrangements), settings=settings)
    made["catalogue"]["variants"]["native"] = {**stored.VARIANT, "kind": "port"}
    return {**made, **changes}


def lines(
    seconds: Mapping[str, float],
    seed: int = 0,
    noise: float = 0.01,
    arrangements: Sequence[Arrangement] = ALL,
) -> list[dict[str, Any]]:
    """Return lines in which elements of each arrangement take so many seconds, but for lognormal noise.

    Args:
        seconds: of an element, by key.
        seed: of the noise.
        noise: standard deviation of its log: between rounds, and half as much between launches.
        arrangements: all that there are.
    """
    rng = np.random.default_rng(seed)
    ids = {one.key: id_of(one) for one in arrangements}
    found: list[dict[str, Any]] = []
    for launch in range(LAUNCHES):
        shift = {key: rng.normal(0, noise / 2) for key in seconds}
        samples: dict[str, list[list[float]]] = {ids[key]: [] for key in seconds}
        for turn in range(ROUNDS):
            drift = rng.normal(0, 5 * noise)  # what all of a round have in common
            for order, key in enumerate(seconds):
                taken = ELEMENTS * seconds[key] * float(np.exp(shift[key] + drift + rng.normal(0, noise)))
                samples[ids[key]].append([turn, order, ELEMENTS, taken])
        pools = {ids[key]: 4.0 for key in seconds if "processes" in key}
        line = stored.group_line(launch, [ids[key] for key in seconds])
        prepared = {"kind": "prepared", "launch": launch, "group": line["group"], "failures": [], "seconds": 5.0}
        found += [stored.launch_line(launch), {**prepared, "pool_seconds": pools}, {**line, "samples": samples}]
    return found


def side(
    seconds: Mapping[str, float],
    *,
    arrangements: Sequence[Arrangement] = ALL,
    failures: Sequence[dict[str, Any]] = (),
    changes: Mapping[str, Any] | None = None,
    **how: Any,
) -> OpenSide:
    """Return a side of a run with the lines of `lines`, and with failures, in memory."""
    made = lines(seconds, arrangements=arrangements, **how)
    if failures:
        made[1]["failures"] = list(failures)
    run = OpenRun(NOWHERE, stored.typed(content(arrangements, **(changes or {}))))
    run.measured[0].lines = [stored.typed_line(line) for line in made]
    return run.measured[0]


def rows(seconds: Mapping[str, float], **how: Any) -> PipelineRows:
    """Return what was measured in such a run; the arguments are those of `side`."""
    found = run_of(side(seconds, **how)).pipeline
    assert found is not None
    return found


def judged(seconds: Mapping[str, float], **how: Any) -> tuple[Judgement, OpenRun]:
    """Return such a run, and the judgement of it."""
    run = side(seconds, **how).run
    return judge([run], Judging(BASELINE, 0.03)), run


def write(folder: Path, seconds: Mapping[str, float], *, minimum_effect: float = 0.03, **how: Any) -> Path:
    """Store such a run, and return its folder."""
    return stored.write(folder, content(pipeline=plan(minimum_effect=minimum_effect)), lines(seconds, **how))


OF_WORKER = ("arrangements", "elements", "body_seconds")


def write_answer(path: Path) -> None:
    """Write what a worker answers that is asked for the arrangements of an op, for a fake one to answer."""
    planned = content()
    answer = {name: planned[name] for name in ("cases", "skips", "catalogue")}
    environment = {key: value for key, value in stored.ENVIRONMENT.items() if key not in {"commit", "dirty"}}
    found = {name: planned["pipeline"][name] for name in OF_WORKER}
    path.write_text(json.dumps({**answer, "plan": found, "environment": environment}), encoding="utf-8")
