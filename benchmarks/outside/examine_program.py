"""What becomes of the op file of one program: forms held against NumPy, files written and tested, or calls timed.

The process that `benchmarks/outside/npbench.py` starts for each: it writes lines as `benchmarks/bodies/examine.py`
does, and prints seconds by name with `--seconds`.

    python benchmarks/outside/examine_program.py FOLDER/npbench_gemm.py --lines FILE
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import tensorflow as tf

from bodies import examine
from bodies.written_files import became_of_file, path_of
from outside.npbench import ALL, FORMS, WRITTEN
from outside.peer_times import seconds_of
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.own_target import OwnOps, read_target
from pyopbench.ops.load import load_variants, make_inputs
from pyopbench.ops.own.load import load_own, register_own_ops
from pyopbench.ports.arrays import as_given
from pyopbench.worker.prepare.segments import constants, wrap


def main(arguments: Sequence[str]) -> int:
    """Examine a program and write its lines, or time it; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--lines", type=Path)
    parser.add_argument("--without", default="")
    parser.add_argument("--forms", default=",".join(ALL))
    parser.add_argument("--test-seconds", type=float, default=60.0)
    parser.add_argument("--seconds", help="forms to time")
    options = parser.parse_args(arguments)
    tf.get_logger().setLevel("ERROR")
    np.seterr(all="ignore")
    if options.seconds is not None:
        for found in times(options.path, [one for one in options.seconds.split(",") if one]):
            print(json.dumps(found), flush=True)
        return 0
    with options.lines.open("a", encoding="utf-8", buffering=1) as lines:
        left_out = [one for one in ALL if one not in options.forms.split(",")]
        without = [*options.without.split(","), *left_out]
        for line in examined(options.path, without, options.test_seconds):
            lines.write(json.dumps(line, allow_nan=False) + "\n")
    return 0


def examined(path: Path, without: Sequence[str], test_seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the facts of a program, and for each form and file of it its name and then what became of it."""
    others = [name for name in load_variants() if name not in FORMS]
    yield from examine.examined(str(path), without=[*without, *others], files=set(FORMS) - set(WRITTEN))
    for variant in WRITTEN:
        name = f"{variant} written"
        if name not in without:
            yield {"begun": name, "kind": "file"}
            yield {"form": name, "kind": "file", **_written(path, variant, test_seconds)}


def _written(path: Path, variant: str, test_seconds: float) -> dict[str, str]:
    target = read_target(str(path), (), ())
    op = load_own(target)
    out = path_of(op, variant, path.parent)
    for old in (out, out.with_name(f"test_{out.name}")):
        old.unlink(missing_ok=True)
    found = became_of_file(op, target, variant, path.parent, test_seconds)
    return {"became": "passed", "reason": ""} if found["became"] == "right" else found


def times(path: Path, names: Sequence[str]) -> Iterator[dict[str, float]]:
    """Yield the seconds of a call of the NumPy body and of each form: all that are known so far."""
    target = read_target(str(path), [], [])
    register_own_ops(OwnOps((target,)))
    op = load_own(target)
    (dtype,) = op.dtypes
    inputs = make_inputs(op, op.sizes[0], dtype, 0)
    given, tensors = as_given(inputs), constants(inputs)
    found = {"numpy": seconds_of(lambda: op.numpy(*given))}
    yield found
    for form in names:
        variant = load_variants()[form]
        case = Case(op.name, form, NO_GRADIENT, "forward", "call", dtype, op.sizes[0])
        function = wrap(variant.build(op, case), variant, case.mode)
        found[form] = seconds_of(lambda function=function: function(*tensors))
        yield found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
