"""How often the same form of a pipeline is found different from itself, and how often one with more work is not.

    python benchmarks/pipeline_pairs.py                # writes results/pipeline_pairs.json; 50 minutes, two idle cores
    python benchmarks/pipeline_pairs.py --pairs 10 --share 0.03
    python benchmarks/pipeline_pairs.py --pairs 2 --launches 2   # to try it out

A worker holds some pairs at a time: for each the current callback in `Dataset.map`, the same once more, and the same
with a share of more work for an element, all with a body that holds the GIL. They are measured and judged as by
`pyopbench pipeline`: interleaved, and in several launches. For 5% more work the body is called once more for every 20th
element. The script counts how often an interval does not contain 1, which for the same form should be 5% of the time,
and how often a change is recommended.

The script also counts how often a form would be found whose elements take longer: in each pair of the same form, the
times of one are multiplied by a factor. Exit code 1 unless the same form is found different in at most 5 of 100
pairs, a change is recommended in at most one, and 25% more are found in 95.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stored_document
from markdown_table import table
from pyopbench.model.arrangement import Arrangement
from pyopbench.model.write_file import write_atomically

if TYPE_CHECKING:
    import tensorflow as tf

    from pyopbench.worker.pipeline.form import PipelineContext

BODY = Path(__file__).parents[1] / "examples" / "input_pipeline" / "augment.py"
PAIRS, HELD, LAUNCHES, ROUNDS = 100, 10, 7, 3
"""Pairs in all, and in one worker; launches of each, and rounds: as many as `pipeline` makes in its usual budget."""
BLOCK_SECONDS = 0.3
"""Seconds of a block of `pipeline` if five arrangements are measured to the end."""
SIZE = 8
"""Pixels a side: a body of a third of a millisecond, of which a block holds some hundred calls."""
MOST_APART, MOST_CHANGED, FOUND, FOUND_SLOWER = 0.05, 0.01, 0.95, 0.25
"""Shares of pairs: at most found different, at most advised to change, at least found if one is so much slower."""
MORE = 0.05
"""Share of more work for an element."""
SLOWER = (0.05, 0.1, 0.15, 0.2, FOUND_SLOWER, 0.3, 0.4, 0.5)
"""Shares by which an element is made slower in the data."""
MINIMUM_EFFECT = 0.03
STORED = Path(__file__).parents[1] / "results" / "pipeline_pairs.json"
VERSION = 1
PLANNED: dict[str, Any] = {
    "parallel": [1, 2],
    "batch": [1],
    "deterministic": True,
    "processes": 1,
    "private_threads": 0,
    "step_seconds": 0.0,
    "step_elements": 1,
    "minimum_effect": MINIMUM_EFFECT,
    "elements": 1,
    "delivered": 1,
    "told_apart": True,
    "body_seconds": 0.0,
    "output_shapes": [],
}
"""The plan of a run in a pipeline; none of it affects what is compared here."""
ROLES = ("one", "other", "more")
NAMES = {"other": "same", "more": "more_work"}
"""Role -> its key in the stored file."""
KEPT: list[Any] = []
"""Pipelines that ran: freeing one while a call is under way waits for ever, as that call waits for the interpreter."""


def arrangement(pair: int, role: str) -> Arrangement:
    """Return the arrangement of one of a pair; its name is all that tells it from the other."""
    return Arrangement(f"{role}-{pair}", "keep" if role == "one" else "parallel", "ds.map(f)")


def measure_launch(launch: int, pairs: int, share: float, warm: int | None) -> dict[str, Any]:
    """Measure a launch in this process: all pairs at once, interleaved in random order.

    Args:
        launch: its number, which seeds the order.
        pairs: how many.
        share: of more work.
        warm: elements after which all were steady in another launch; None where that is to be found out.
    """
    import tensorflow as tf

    from pyopbench.model.case import BASELINE
    from pyopbench.model.own_target import OwnOps, read_target
    from pyopbench.ops.own.load import register_own_ops
    from pyopbench.worker.pipeline.elements import make_elements
    from pyopbench.worker.pipeline.form import PipelineContext, PipelineSettings
    from pyopbench.worker.pipeline.measure import RunningPipeline

    tf.config.set_visible_devices([], "GPU")
    target = read_target(str(BODY), [], [])
    register_own_ops(OwnOps((target,)))
    elements = make_elements(target.name, BASELINE, SIZE, "float32")
    context = PipelineContext(elements, PipelineSettings((1,), (1,), deterministic=True, processes=1))
    rng = random.Random(launch)
    keys = [(pair, role) for pair in range(pairs) for role in ROLES]
    running: dict[tuple[int, str], RunningPipeline] = {}
    KEPT.append(running)
    drawn = [warm or 0]
    for pair, role in rng.sample(keys, len(keys)):
        every = round(1 / share) if role == "more" else 0
        running[pair, role] = RunningPipeline(arrangement(pair, role), partial(callback, every=every), context)
        running[pair, role].check()
        drawn.append(running[pair, role].warm_up(warm).elements)
        running[pair, role].rest()
    blocks = []
    for turn in range(ROUNDS):
        for order, key in enumerate(rng.sample(keys, len(keys))):
            count, seconds = running[key].block(BLOCK_SECONDS)
            running[key].rest()
            where = {"key": arrangement(*key).key, "launch": launch, "round": turn, "order": order}
            blocks.append({**where, "elements": count, "seconds": seconds})
    return {"blocks": blocks, "op": target.name, "size": SIZE, "warm": max(drawn)}


def callback(context: PipelineContext, every: int) -> tf.data.Dataset:
    """Return the body in a callback in `map`; each so many elements it is called once more, never for 0."""
    import tensorflow as tf

    from pyopbench.worker.pipeline.form import mapped

    elements, calls = context.elements, itertools.count(1)

    def work(*inputs: Any) -> Any:
        if every and next(calls) % every == 0:
            elements.body(*inputs)
        return elements.body(*inputs)

    def in_callback(*inputs: Any) -> tuple[Any, ...]:
        return elements.shaped(tf.numpy_function(work, inputs, elements.dtypes))

    return mapped(elements.source(), in_callback, Arrangement("map", "keep", ""), context.settings)


def compared(launches: list[dict[str, Any]], pair: int, role: str, slower: float = 0.0) -> tuple[bool, bool]:
    """Judge one of a pair as the current callback, and the plain one as what one may go to.

    Args:
        launches: in which both were measured.
        pair: its number.
        role: of the current callback.
        slower: by which share the current callback is made slower.

    Returns:
        Does the interval of their ratio leave out 1, in favour of the plain one if the other has more work? And would
        one be told to change anything?
    """
    import pandas as pd
    from msgspec import convert

    from pyopbench.judge.pipeline import TrainingStep, judge
    from pyopbench.model.case import BASELINE, NO_GRADIENT, PIPELINE, Case
    from pyopbench.store.measured_run import PipelineRows
    from pyopbench.store.run_json import PipelinePlan

    both = (Arrangement("map", "keep", "ds.map(f)"), Arrangement("map", "parallel", "ds.map(f)", parallel=2))
    roles = (arrangement(pair, one).key for one in (role, "one"))
    modes = {key: stands_for.key for key, stands_for in zip(roles, both, strict=True)}
    op, size = launches[0]["op"], launches[0]["size"]
    of_op = (op, BASELINE, NO_GRADIENT, "forward")
    cases = {key: Case(*of_op, f"{PIPELINE}:{key}", "float32", size) for key in modes.values()}
    rows = [
        {
            "tool": "pyopbench",
            "run": "pairs",
            "launch": one["launch"],
            "mode": cases[modes[one["key"]]].mode,
            "round": one["round"],
            "calls": one["elements"],
            "seconds": one["seconds"] * (1 + slower * (modes[one["key"]] == "map")),
        }
        for launch in launches
        for one in launch["blocks"]
        if one["key"] in modes
    ]
    planned = {**PLANNED, "arrangements": [asdict(one) for one in both]}
    ids = tuple(case.id for case in cases.values())
    measured = PipelineRows(convert(planned, PipelinePlan), ids, (), pd.DataFrame(rows), {}, "pixels a side")
    choice = judge(measured, MINIMUM_EFFECT, TrainingStep(1)).choice
    gain = choice.gain
    assert gain is not None
    return gain.low > 1 or (role == "other" and not slower and gain.high < 1), choice.label is not None


def main() -> int:
    """Measure all pairs and print how often each was found different; return 1 if that misses the limits at the top."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--launches", type=int, default=LAUNCHES)
    parser.add_argument("--share", type=float, default=MORE, help="share of more work")
    parser.add_argument(
        "--json", type=Path, help=f"write the result here; by default to {STORED.name} if nothing else is given"
    )
    parser.add_argument("--launch", nargs=3, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.launch:
        launch, pairs, warm = given.launch
        print(json.dumps(measure_launch(launch, pairs, given.share, warm or None)), flush=True)  # noqa: T201 - a script
        os._exit(0)  # without freeing what is kept
    more = f"{given.share:.0%} more work"
    print_row("pairs", "same: interval without 1", "same: change", f"{more}: interval without 1", f"{more}: change")
    print_row(*["---"] * 5)
    told: Counter[tuple[str, str]] = Counter()
    found: Counter[float] = Counter()
    done = 0
    while done < given.pairs:
        pairs = min(HELD, given.pairs - done)
        launches: list[dict[str, Any]] = []
        for one in range(given.launches):  # what was steady in the first is warmed by as many elements in the others
            warm = launches[0]["warm"] if launches else 0
            launches.append(_launch(done * given.launches + one, pairs, given.share, warm))
        done += pairs
        for pair, role in itertools.product(range(pairs), ROLES[1:]):
            apart, changed = compared(launches, pair, role)
            told[role, "apart"] += apart
            told[role, "changed"] += changed
        for pair, slower in itertools.product(range(pairs), SLOWER):
            found[slower] += compared(launches, pair, "other", slower)[0]
        print_row(done, *(told[role, what] for role in ROLES[1:] for what in ("apart", "changed")))
    settings = {"pairs": done, "launches": given.launches, "more_work": given.share}
    document = {
        **stored_document.begin(VERSION, ("tensorflow-cpu", "tensorflow", "numpy"), settings),
        **{name: {what: told[role, what] for what in ("apart", "changed")} for role, name in NAMES.items()},
        "slower": [{"by": slower, "found": found[slower]} for slower in SLOWER],
    }
    print("\n" + results_table(document))  # noqa: T201 - a script
    path = given.json or (STORED if settings == {"pairs": PAIRS, "launches": LAUNCHES, "more_work": MORE} else None)
    if path is not None:
        write_atomically(path, (json.dumps(document, indent=1) + "\n").encode())
    same = document["same"]
    is_alike = same["apart"] <= MOST_APART * done and same["changed"] <= MOST_CHANGED * done
    return 0 if is_alike and found[FOUND_SLOWER] >= FOUND * done else 1


def results_table(document: Mapping[str, Any]) -> str:
    """Return for how many pairs a difference was found, and a change recommended, as Markdown."""
    settings = document["settings"]
    more = f"the body does {settings['more_work']:.0%} more work"
    rows = [
        [what, settings["pairs"], document[name]["apart"], document[name]["changed"]]
        for what, name in (("none: the same arrangement twice", "same"), (more, "more_work"))
    ]
    rows += [[f"takes {one['by']:.0%} longer", settings["pairs"], one["found"], ""] for one in document["slower"]]
    cells = ([str(one) for one in row] for row in rows)
    return table(["difference", "pairs", "difference found", "change recommended"], cells)


def print_row(*cells: object) -> None:
    """Print a row of a table as Markdown, at once."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)  # noqa: T201 - a script


def _launch(number: int, pairs: int, share: float, warm: int) -> dict[str, Any]:
    words = (sys.executable, __file__, "--share", str(share), "--launch", str(number), str(pairs), str(warm))
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=variables)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main())
