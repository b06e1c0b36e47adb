"""Check pyopbench itself on a machine with a GPU.

    python benchmarks/gpu.py pairs FOLDER [--seconds 150] [--device gpu]
    python benchmarks/gpu.py judge FOLDER...
    python benchmarks/gpu.py counts SIMULATED.json GPU.json...
    python benchmarks/gpu.py store SEEN SIMULATED.json     # writes results/gpu.json and results/gpu/placement.json

`pairs` measures identical code twice, and code that was slowed by a known share, with no clock of the GPU locked;
`judge` tells how the verdicts on them came out, and needs no GPU. `counts` compares what the simulated device counted
with what the profiler of TensorFlow saw on a GPU, row by row, of files that `pyopbench placement --out` wrote.

`store` takes from a folder what was written on a machine with a GPU: `verify/*.json` of `pyopbench verify --axis
device=gpu --json`, `counts/*.json` of `pyopbench placement --device gpu --out`, `run` of `pyopbench run --device
cpu,gpu --out`, `pairs` of this script, and `pipeline_on_gpu.json` of the script of that name. Files in `verify` may be
empty, of a command that was ended before it was done: its cases are missing then.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markdown_table import table
from pyopbench.engine import certify, plan
from pyopbench.engine.measure import measure_run
from pyopbench.judge import judge
from pyopbench.model import formatting
from pyopbench.model.case import BASELINE, GPU, MINIMUM_EFFECT, Axes, Case
from pyopbench.store import counted_copies, integrity
from pyopbench.store.counted_copies import CopiesRow
from pyopbench.store.run_sides import OpenRun

STORED = Path(__file__).parents[1] / "results" / "gpu.json"
"""What was seen on a GPU, put together from the files that its commands wrote."""
VERSION = 1
VARIANTS = ("native", "numba", "numpy_function", "py_func", "py_function", "py_function_numpy")
"""Whose times on the GPU are kept."""
OPS = ("sinh", "square")
SIZES = (1, 1_000, 1_000_000)
PERCENTS = (0, *certify.INJECTED)
"""By how much the current callback is slowed down; 0 is the same code a second time."""
GROUP_SECONDS = 1.5
"""Of a launch, for the variants and controls of one op, size and direction."""


def measure_pairs(folder: Path, seconds: float, device: str) -> None:
    """Measure the controls of `pyopbench certify` on a device, in a run of their own."""
    made_from = certify.controls(PERCENTS)
    variants = tuple(dict.fromkeys((BASELINE, *made_from.values(), *made_from)))
    axes = Axes(
        ops=OPS,
        sizes=SIZES,
        variants=variants,
        modes=("call",),
        directions=certify.DIRECTIONS,
        placements=(device,),
        parts=False,
    )
    settings = replace(certify.CONTROL_SETTINGS, budget_seconds=seconds, group_seconds=GROUP_SECONDS, seed=1)
    with certify.controls_found():
        side = plan.begin(folder, plan.Request(axes, settings, BASELINE, tuple(sys.argv), made_from))
        run = OpenRun(folder, (side,))
        measure_run(
            side,
            settings,
            lambda step: None,
            lambda launches: judge.interim_analysis(run, _how(), launches, settings.launches).open,
        )


def _how() -> judge.Judging:
    return judge.Judging(BASELINE, MINIMUM_EFFECT)


def pairs_of(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return for each slowdown how the verdicts of all runs came out, as `certify.Pairs`."""
    verdicts = [one for folder in folders for one in judge.judge([folder], _how()).verdicts]
    found = []
    for percent in PERCENTS:
        names = certify.controls((percent,))
        there = [one for one in verdicts if Case.from_id(one.case).variant in names]
        found.append(certify.count(there, percent).__dict__)
    return found


@dataclass(frozen=True)
class Place:
    """Which row of one device is to be compared with which of the other."""

    op: str
    variant: str
    direction: str
    mode: str
    pinned: str
    inputs: str
    result: str


def counts_of(document: Mapping[str, Any]) -> dict[Place, CopiesRow]:
    """Return the rows of a document by their place."""
    found = {}
    for row in counted_copies.rows_of(document):
        case = row.case
        place = Place(case.op, case.variant, case.direction, case.mode, row.pinned, row.inputs, row.result)
        found[place] = row
    return found


def compare_counts(simulated: Mapping[str, Any], seen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Compare the copies and bytes of calls with new and with the same inputs.

    Rows are comparable if both devices counted them, the same each time.

    Returns:
        `rows` of the GPU, how many are `comparable`, `equal`, and `on_device_equal` (copies within the device too);
        `left_out`: why and how many rows are not comparable; `different`: each that is not equal, with both counts;
        `by_variant`: `rows`, `comparable` and `equal` of each variant of an op.
    """
    ours = counts_of(simulated)
    theirs = {place: row for document in seen for place, row in counts_of(document).items()}
    left_out: Counter[str] = Counter()
    by_variant: dict[str, Counter[str]] = {}
    different, equal, whole = [], 0, 0
    for place, row in theirs.items():
        reason = _why_not(ours.get(place), row)
        of_variant = by_variant.setdefault(f"{place.op}/{place.variant}", Counter(rows=0, comparable=0, equal=0))
        of_variant.update(["rows"] if reason else ["rows", "comparable"])
        if reason:
            left_out[reason] += 1
            continue
        both = [_crossing(one.counts) for one in (ours[place], row)]
        equal += both[0] == both[1]
        of_variant["equal"] += both[0] == both[1]
        whole += ours[place].counts == row.counts
        if both[0] != both[1]:
            different.append({**place.__dict__, "simulated": both[0], "seen": both[1]})
    comparable = len(theirs) - sum(left_out.values())
    return {
        "rows": len(theirs),
        "comparable": comparable,
        "equal": equal,
        "on_device_equal": whole,
        "left_out": dict(left_out),
        "different": different,
        "by_variant": by_variant,
    }


def _why_not(simulated: CopiesRow | None, seen: CopiesRow) -> str:
    if simulated is None:
        return "not counted on the simulated device"
    if simulated.refused or seen.refused:
        return f"refused on {'both' if simulated.refused and seen.refused else 'one'}"
    if simulated.varies or seen.varies:
        return "differs from call to call"
    return ""


def _crossing(counts: Mapping[str, Mapping[str, Sequence[int]]]) -> list[list[int]]:
    return [list(counts[state][way]) for state in counted_copies.STATES for way in ("to_device", "to_host")]


def stored(seen: Path, simulated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of what was seen on a GPU, from the files of a folder."""
    counted = [json.loads(path.read_bytes()) for path in sorted(seen.glob("counts/*.json"))]
    compared = compare_counts(simulated, counted)
    del compared["different"]
    pipeline = json.loads((seen / "pipeline_on_gpu.json").read_bytes())
    return {
        "version": VERSION,
        "environment": pipeline["environment"],
        "counts": compared,
        "verify": _verified(seen),
        "pairs": pairs_of([seen / "pairs"]),
        "pipeline": {"batch": pipeline["batch"], "rows": pipeline["rows"]},
        "latencies": _latencies(seen / "run"),
    }


def _verified(seen: Path) -> dict[str, Any]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(seen.glob("verify/*.json"))]
    findings = [one for text in texts if text for one in json.loads(text)]
    failed = [one for one in findings if one["failure"] is not None]
    unsupported = [one for one in failed if one["failure"]["status"] == "unsupported"]
    right = [Case.from_id(one["case"]).op for one in findings if one["failure"] is None]
    return {
        "right": len(right),
        "wrong": len(failed) - len(unsupported),
        "unsupported": dict(Counter(Case.from_id(one["case"]).variant for one in unsupported)),
        "right_by_op": dict(sorted(Counter(right).items())),
    }


def _latencies(run: Path) -> list[dict[str, Any]]:
    found = judge.judge([run], _how()).latencies
    there = found[(found["placement"] == GPU) & found["variant"].isin(VARIANTS)]
    columns = ["op", "variant", "direction", "size", "seconds", "low", "high", "launches"]
    return [dict(zip(columns, row, strict=True)) for row in there[columns].to_dict(orient="split")["data"]]


def merged(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one document of counted copies for several, of other variants or ops; a row of two is taken once.

    Failures name paths of the machine, and are left out.
    """
    rows: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in (row for document in documents for row in document["rows"]):
        rows.setdefault((row["case"], row["pinned"], row["inputs"], row["result"]), row)
    known = [name for name in documents[0] if name != integrity.KEY]
    return {
        **{name: documents[0][name] for name in known},
        "ops": {op: found for one in documents for op, found in one["ops"].items() if found["arrays"]},
        "variants": dict(sorted((name, found) for one in documents for name, found in one["variants"].items())),
        "rows": list(rows.values()),
        "failures": [],
        "holes": [],
    }


def checks_table(document: Mapping[str, Any]) -> str:
    """Return how many cases and pairs came out how."""
    verified, (same, *slowed) = document["verify"], document["pairs"]
    rows = [
        ("cases of `verify` on the GPU, right", f"{verified['right']:,}"),
        ("wrong", str(verified["wrong"])),
        ("not supported there", str(sum(verified["unsupported"].values()))),
        (
            "pairs of the same code, found different",
            f"{same['faster'] + same['slower']} of {same['pairs']} (95% upper bound: {same['bound']:.1%})",
        ),
        *((f"slowed by {one['percent']}%, found slower", f"{one['slower']} of {one['pairs']}") for one in slowed),
    ]
    return table(("", "how many"), rows)


def counts_table(document: Mapping[str, Any]) -> str:
    """Return how many rows of each variant the simulated device counted as the profiler did."""
    rows = [
        (f"`{name}`", one["rows"], one["comparable"], one["equal"])
        for name, one in sorted(document["counts"]["by_variant"].items())
    ]
    total = document["counts"]
    rows.append(("all", total["rows"], total["comparable"], total["equal"]))
    return table(("op and variant", "rows", "comparable", "equal"), [tuple(map(str, row)) for row in rows])


def callbacks_table(document: Mapping[str, Any]) -> str:
    """Return the time of a call, forward, of each variant on the GPU."""
    found: dict[tuple[str, int], dict[str, str]] = {}
    for one in document["latencies"]:
        if one["direction"] == "forward":
            found.setdefault((one["op"], one["size"]), {})[one["variant"]] = formatting.seconds(one["seconds"])
    rows = [(op, f"{size:,}", *(cells.get(name, "") for name in VARIANTS)) for (op, size), cells in found.items()]
    return table(("op", "size", *VARIANTS), rows)


def pipeline_table(document: Mapping[str, Any]) -> str:
    """Return the median time of a step of the whole program, by how long the step alone takes."""
    names = [name for name, found in document["pipeline"]["rows"][0]["seconds"].items() if found]
    rows = [
        (f"{one['share']:g}", *(formatting.seconds(statistics.median(one["seconds"][name])) for name in names))
        for one in document["pipeline"]["rows"]
    ]
    return table(("step / input", *(f"`{name}`" for name in names)), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    pairs = commands.add_parser("pairs")
    pairs.add_argument("folder", type=Path)
    pairs.add_argument("--seconds", type=float, default=150.0)
    pairs.add_argument("--device", default="gpu", choices=("cpu", "gpu"))
    judged = commands.add_parser("judge")
    judged.add_argument("folders", type=Path, nargs="+")
    counts = commands.add_parser("counts")
    counts.add_argument("simulated", type=Path)
    counts.add_argument("seen", type=Path, nargs="+")
    kept = commands.add_parser("store")
    kept.add_argument("seen", type=Path)
    kept.add_argument("simulated", type=Path)
    chosen = parser.parse_args(arguments)
    if chosen.command == "store":
        content = stored(chosen.seen, json.loads(chosen.simulated.read_bytes()))
        STORED.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        counted = [json.loads(path.read_bytes()) for path in sorted(chosen.seen.glob("counts/*.json"))]
        counted_copies.write(STORED.with_suffix("") / counted_copies.FILE, merged(counted))
        return 0
    found: Any
    if chosen.command == "counts":
        simulated, *seen = [json.loads(path.read_bytes()) for path in (chosen.simulated, *chosen.seen)]
        found = compare_counts(simulated, seen)
    elif chosen.command == "pairs":
        measure_pairs(chosen.folder, chosen.seconds, chosen.device)
        found = pairs_of([chosen.folder])
    else:
        found = pairs_of(chosen.folders)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
