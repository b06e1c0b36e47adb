"""Hold ports of the bodies of `examples/corpus/` against them, on random inputs that Hypothesis draws.

    python benchmarks/random_inputs.py                      # every body, 200 inputs each, with the port `traced`
    python benchmarks/random_inputs.py dice losses --examples 50 --variant traced

Values may be NaN, equal, zero, infinite or large, and there may be none at all. A port may raise where its body does
not; it must never return something else. Gradients are compared too, where inputs and outputs are finite: with the
gradient by hand, or with differences. What the body itself makes otherwise when its inputs move by a few roundings,
such as the order of what is equal, is counted apart. Exit codes: 0 no port is wrong, 1 one is, 2 bad usage.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from bodies import find
from bodies.random_inputs import Tally, draw_and_compare
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import read_target
from pyopbench.ops.load import load_variants
from pyopbench.ops.own.explain import explain
from pyopbench.ops.own.load import load_own

SHOWN = 3
"""How many inputs are printed for each body."""


def main(arguments: Sequence[str]) -> int:
    """Compare what was asked for; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="bodies or families; all if none is named")
    parser.add_argument("--examples", type=int, default=200, help="inputs for each body (200)")
    parser.add_argument("--variant", default="traced", help="the port (traced)")
    options = parser.parse_args(arguments)
    tf.get_logger().setLevel("ERROR")
    np.seterr(all="ignore")
    try:
        paths = find.paths(options.names)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    is_wrong = False
    for path in paths:
        began = time.monotonic()
        op = load_own(read_target(str(path), [], []))
        found = _held(op, load_variants()[options.variant], options.examples)
        print(f"{path.parent.name}/{path.stem}: {_told(found)} ({time.monotonic() - began:.0f} s)", flush=True)
        is_wrong |= isinstance(found, Tally) and bool(found.wrong)
    return 1 if is_wrong else 0


def _held(op: Any, variant: Any, examples: int) -> Tally | str:
    """Return what became of the inputs of a body, or why it has no port."""
    if variant.kind == "callback":  # it brings no gradient, unless the op has one, which is the body's own
        op = replace(op, differentiable=())
    case = Case(op.name, variant.name, NO_GRADIENT, "forward", "call", op.dtypes[0], op.sizes[0])
    try:
        return draw_and_compare(op, variant, case, examples=examples)
    except Exception as error:  # noqa: BLE001 - a body that nobody wrote for this port may raise anything
        return explain(error, op)


def _told(found: Tally | str) -> str:
    if isinstance(found, str):
        return found
    parts = [f"{found.equal} equal, {found.gradients} gradients equal, {found.refused} refused by the body"]
    several_of = {"raised": found.raised, "left open by the body": found.left_open, "WRONG": found.wrong}
    for what, several in several_of.items():
        if several:
            shown = "".join(f"\n    {one}" for one in several[:SHOWN])
            parts.append(f"{len(several)} {what}{shown}")
    return ", ".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
