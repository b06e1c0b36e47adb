"""Check pyopbench itself on a machine with a GPU.

    python benchmarks/gpu.py pairs FOLDER [--seconds 150] [--device gpu]
    python benchmarks/gpu.py judge FOLDER...

`pairs` measures identical code twice, and code that was slowed by a known share, with no clock of the GPU locked;
`judge` reports how the verdicts on them came out, and needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pyopbench.engine import certify, plan, sides
from pyopbench.engine.run import measure
from pyopbench.judge import judge
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT, Axes
from pyopbench.model.errors import PyopbenchError

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
    settings = replace(
        certify.CONTROL_SETTINGS, budget_seconds=seconds, group_seconds=GROUP_SECONDS, seed=1, pairs=made_from
    )
    with certify.controls_found():
        run = sides.begin(folder, plan.Request(axes, settings, tuple(sys.argv)))
        deque(measure(run, _how()), maxlen=0)


def _how() -> judge.Judging:
    return judge.Judging(BASELINE, MINIMUM_EFFECT)


def pairs_of(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return for each slowdown how the verdicts of all runs came out, as `certify.Figure`."""
    verdicts = [one for folder in folders for one in judge.judge([folder], _how()).verdicts]
    return [asdict(figure) for figure in certify.figures_of(verdicts)]


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
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "pairs":
            measure_pairs(chosen.folder, chosen.seconds, chosen.device)
        found = pairs_of([chosen.folder] if chosen.command == "pairs" else chosen.folders)
    except PyopbenchError as error:
        sys.stderr.write(f"error: {error.in_a_line}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
