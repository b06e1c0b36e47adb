"""Bodies that do what no body should, as variants to be found through PYOPBENCH_PATH; and a run of all of them.

`python tests/helpers/hostile.py FOLDER` measures the op `negate` with each beside well-behaved variants, and says what
became of it. That takes some minutes, which the tests spare themselves: they ask for some in a worker of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from places import EXTRAS
from pyopbench.model.discover import PATH_VARIABLE

FAULTS = {
    "segfaulting": "ctypes.string_at(0)",
    "hanging_in_c": "ctypes.PyDLL(None).pause()  # PyDLL keeps the GIL",
    "ending": "os._exit(0)",
    "quitting": "sys.exit('enough')",
    "killing": "os.kill(os.getpid(), signal.SIGKILL)",
    "eating": "while True: kept.append(np.ones(1 << 25))",
    "printing_in_c": "print('{}'); os.write(1, b'{}'); ctypes.CDLL(None).puts(b'{}'); ctypes.CDLL(None).fflush(None)",
    "flooding": "once() and print('x' * (40 << 20))",
    "forking": "once() and (os.fork() or time.sleep(3600))",
    "forking_in_two": "once() and os.fork()",
    "closing": "once() and os.closerange(3, 100)",
    "spinning": "once() and [threading.Thread(target=spin, daemon=True).start() for _ in range(2)]",
    "piling": "threading.Thread(target=threading.Event().wait, daemon=True).start()",
}
"""What a body does before it returns -x; `once()` is true in the first call alone."""

TEMPLATE = '''\
"""A callback whose body misbehaves, for tests."""

import ctypes, os, signal, sys, threading, time
from dataclasses import replace

import numpy as np
import tensorflow as tf

from pyopbench.ops.build_callback import build_callback
from pyopbench.ops.load import load_variant

kept = []
calls = []


def once():
    calls.append(None)
    return len(calls) == 1


def spin():
    while True:
        pass


def misbehave():
    {statement}


def _build(op, case):
    def body(*inputs):
        misbehave()
        return op.numpy(*inputs)

    return build_callback(op, case, tf.numpy_function, body, op.numpy_gradient)


VARIANT = replace(
    load_variant("numpy_function"),
    name="{name}",
    summary="a body that misbehaves, for tests",
    build=_build,
    role="by_name",
    unsupported=lambda op, case: None if case.direction == "forward" else "forward only",
)
'''


def write(folder: Path) -> str:
    """Write the variants below a folder; return what PYOPBENCH_PATH has to be, with the ops for tests."""
    (folder / "variants").mkdir(parents=True)
    for name, statement in FAULTS.items():
        path = folder / "variants" / f"{name}.py"
        path.write_text(TEMPLATE.format(name=name, statement=statement), encoding="utf-8")
    return os.pathsep.join((str(folder), str(EXTRAS)))


def main(folder: Path) -> None:
    """Run all of them, and print a line for each: how often it was measured, or what was said of it."""
    variables = {**os.environ, PATH_VARIABLE: write(folder / "faults")}
    out = folder / "run"
    chosen = f"py_function_numpy,native,{','.join(FAULTS)}"
    options = f"--variant {chosen} --axis direction=forward --axis size=4 --quick --launches 3"
    limits = f"--out {out}"
    command = [sys.executable, "-c", "from pyopbench.cli.app import main; main()", "run", "negate"]
    done = subprocess.run([*command, *options.split(), *limits.split()], env=variables, check=False)
    lines = [json.loads(line) for line in (out / "samples.jsonl").read_text(encoding="utf-8").splitlines()]
    for variant in (*FAULTS, "native", "py_function_numpy"):
        key = f"negate/{variant}/none/forward/call/float32/4/cpu"
        launches = sum(key in line.get("samples", {}) for line in lines)
        said = [one for line in lines for one in line.get("failures", ()) if one["case"] == key]
        sys.stdout.write(f"{variant}: {launches} launches; {[(one['status'], one['reason']) for one in said]}\n")
    left = [line["left_behind"] for line in lines if "left_behind" in line]
    started = sum(line["kind"] == "launch" for line in lines)
    sys.stdout.write(f"exit code {done.returncode}; {started} workers started; left behind: {left}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
