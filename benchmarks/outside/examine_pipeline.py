"""Print how many steps per second a program makes, unchanged or with a written arrangement in its stage.

    python benchmarks/outside/examine_pipeline.py FACTS SECONDS KEY [FILE]

The arguments: the content of a `program.json`; for how long to draw elements; the key of the arrangement, or `map` for
the unchanged program; and the file of the arrangement, unless it needs none, such as `map parallel=4`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pyopbench.model.arrangement import CURRENT, read_key
from pyopbench.model.files import load_file
from pyopbench.model.own_target import read_program, read_target
from pyopbench.ops.own.load import load_own
from pyopbench.worker.pipeline.program import InBatches, InMap, Program, call_as_in_a_map

WARM_SHARE = 0.3
"""Of the time, which is not counted: starting and filling buffers."""


def main(arguments: Sequence[str]) -> None:
    """Draw from the dataset of a program and print the rate."""
    facts, seconds, key, *file = arguments
    given = json.loads(facts)
    target = read_target(given["op"], given.get("inputs", ()), [], given.get("seed_with", ""))
    op = load_own(target)
    elements: Any = SimpleNamespace(op=op, dtypes=op.output_dtypes(op.dtypes[0]))
    program = Program(read_program(given["program"]), elements)
    change = None if key == CURRENT else change_of(key, Path(file[0]) if file and file[0] else None)
    dataset, _ = program.build(change)
    print(steps_a_second(dataset, float(seconds)))


def change_of(key: str, file: Path | None) -> InMap | InBatches:
    """Return the change that a written file is made for."""
    found = read_key(key)
    assert found is not None
    if found.form == "map":
        return InMap(None, found.parallel)
    assert file is not None
    module = load_file(file, "arranged")
    if found.batch:
        return InBatches(module.arrange, found.batch)
    if found.form == "processes":
        return InMap(partial(module.outputs_of, pool=module.usual_pool()), module.usual_pool().processes)
    return InMap(partial(call_as_in_a_map, module.outputs_of), -1)


def steps_a_second(dataset: Any, seconds: float) -> float:
    """Return steps a second of a loop of Python over a dataset, after a while."""
    start, begun, steps = time.perf_counter(), 0.0, 0
    for _ in dataset:
        now = time.perf_counter()
        if not begun:
            begun = now if now - start > WARM_SHARE * seconds else 0.0
            continue
        steps += 1
        if now - start > seconds:
            return steps / (now - begun)
    raise ValueError("the dataset has ended")


if __name__ == "__main__":
    main(sys.argv[1:])
