"""Does a training step on the GPU hide a callback in front of it, and is a port worth moving into that step?

    python benchmarks/pipeline_on_gpu.py --out results/pipeline_on_gpu.json   # a minute, on a machine with a GPU

Steps take 0.2, 1 and 5 times as long as making their input with the current callback. Everything is built, checked and
timed as by `pyopbench pipeline --device gpu`, but in one process, and for only a few arrangements, interleaved. Times
are of the whole program: pipeline, copies to the GPU and step.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from pyopbench.model.case import GPU
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.failures import describe_error
from pyopbench.model.own_target import read_target
from pyopbench.ops.load import load_op
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.worker import environment
from pyopbench.worker.pipeline.elements import Elements, make_elements
from pyopbench.worker.pipeline.form import PipelineContext, PipelineSettings
from pyopbench.worker.pipeline.measure import RunningPipeline, arrange_all
from pyopbench.worker.prepare import gpu

EXAMPLE = Path(__file__).parents[1] / "examples" / "input_pipeline"
BODIES = ("augment", "denoise")
"""A loop in Python, which holds the GIL, and a SciPy filter, which releases it."""
BATCH = 8
SHARES = (0.2, 1.0, 5.0)
PORTS = [f"{form} {name} batch={BATCH}" for form in ("port_batch", "device") for name in ("native", "traced")]
KEYS = ("step", "map", *PORTS)
ROUNDS, BLOCK_SECONDS = 5, 0.1
COLUMNS = ("body", "step / input", *KEYS)


def context_of(elements: Elements, step_seconds: float = 0.0) -> PipelineContext:
    """Return the context from which arrangements are built, in front of a step or without one."""
    settings = PipelineSettings((1,), (BATCH,), deterministic=True, processes=2)
    if step_seconds:
        settings = replace(settings, step_seconds=step_seconds, placement=GPU)
    return PipelineContext(elements, settings)


def running(context: PipelineContext, key: str) -> RunningPipeline | str:
    """Return an arrangement, checked and warm, or why it is left out."""
    arrangement, build = next(one for one in arrange_all(context) if one[0].key == key)
    if not callable(build):
        return build
    try:
        pipeline = RunningPipeline(arrangement, build, context)
        context.kept.append(pipeline)
        pipeline.check()
        pipeline.warm_up()
    except Exception as error:  # noqa: BLE001 - what an arrangement raises is its result
        return describe_error(error)
    return pipeline


def timed(pipelines: Mapping[str, RunningPipeline], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a step of each pipeline in every round, interleaved in random order."""
    found: dict[str, list[float]] = {key: [] for key in pipelines}
    keys, rng = list(pipelines), random.Random(0)
    for _ in range(rounds):
        rng.shuffle(keys)
        for key in keys:
            elements, seconds = pipelines[key].block(BLOCK_SECONDS)
            found[key].append(seconds / elements * BATCH)
            pipelines[key].rest()
    return found


def measure(body: str, rounds: int) -> Iterator[dict[str, Any]]:
    """Yield for each step its time with every arrangement, or why there is none."""
    OWN_OPS[body] = read_target(str(EXAMPLE / f"{body}.py"), [], [])
    size = load_op(body).quick_sizes[0]
    elements = replace(make_elements(body, "numpy_function", size, "float32"), step_elements=BATCH)
    alone = context_of(elements)
    current = running(alone, "map")
    if isinstance(current, str):
        raise SystemExit(f"{body}: {current}")
    input_seconds = statistics.median(timed({"map": current}, rounds)["map"])
    for share in SHARES:
        context = context_of(elements, share * input_seconds / BATCH)
        made = {key: running(context, key) for key in KEYS}
        refused = {key: one for key, one in made.items() if isinstance(one, str)}
        pipelines = {key: one for key, one in made.items() if not isinstance(one, str)}
        seconds = timed(pipelines, rounds)
        row = {"body": body, "share": share, "input_seconds": input_seconds, "seconds": seconds, "refused": refused}
        print_row(body, f"{share:g} x", *(cell_of(seconds, key) for key in KEYS))
        yield {**row, "copies_of_step": copies_of(context)}


def copies_of(context: PipelineContext) -> dict[str, Any] | str:
    """Return the copies of a step according to TensorFlow's profiler, or why they are not known."""
    *components, _ = next(iter(context.ready()))
    assert context.step is not None
    step = context.step
    try:
        return asdict(gpu.count_copies(lambda: step(components))[1])
    except PyopbenchError as error:
        return error.message


def cell_of(seconds: Mapping[str, Sequence[float]], key: str) -> str:
    """Return the median time of a step in milliseconds, with the range over all rounds."""
    found = [1e3 * one for one in seconds.get(key, ())]
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})" if found else "none"


def print_row(*cells: str) -> None:
    """Print a row of a table as Markdown, at once."""
    print(f"| {' | '.join(cells)} |", flush=True)  # noqa: T201 - a script


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print a table of milliseconds and write all times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a JSON file for the seconds of every round")
    parser.add_argument("--bodies", nargs="+", default=BODIES, choices=BODIES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args(words)
    try:
        gpu.use_device(GPU)
    except PyopbenchError as error:
        raise SystemExit(str(error)) from error
    print_row(*COLUMNS)
    print_row(*["---"] * len(COLUMNS))
    rows: list[dict[str, Any]] = []
    for row in chain.from_iterable(measure(body, given.rounds) for body in given.bodies):
        rows.append(row)
        if given.out is not None:
            facts = {**environment.machine(), **environment.software(), "gpu": environment.read_gpus()}
            document = {"environment": facts, "batch": BATCH, "rows": rows}
            given.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
