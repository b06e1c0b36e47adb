"""A process of a pool whose body behaves as its op is called; or, with `parent`, a parent of such a pool that waits.

double returns 2 x; raising raises; dying ends the process; forking leaves a process that returns too; hanging hangs;
shrinking returns less than it was given; unloadable cannot be loaded. Only where the first number is 1 do they do so.
"""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from pyopbench.worker.pipeline import process, process_pool


def load(name: str, target: None) -> Any:
    if name == "unloadable":
        raise ImportError("no module named that")

    def body(x: Any) -> Any:
        if x[0] == 1:
            behave(name)
        return x[:1] if name == "shrinking" and x[0] == 1 else 2 * x

    return body


def behave(name: str) -> None:
    if name == "raising":
        raise ValueError("no")
    if name == "dying":
        os._exit(7)
    if name == "forking":
        os.fork()
    if name == "hanging":
        signal.pause()


def elements(name: str, n: int = 4) -> Any:
    """Return what a pool is given: elements whose first numbers are 0, 1, 2 ..."""
    inputs = tuple((np.full(3, place, np.float32),) for place in range(n))
    outputs = tuple((2 * row[0],) for row in inputs)
    case = SimpleNamespace(op=name)
    return SimpleNamespace(inputs=inputs, outputs=outputs, dtypes=("float32",), case=case, target=None)


def be_parent() -> None:
    """Start a pool, have one process hang, print the ids of all, and wait to be killed."""
    process_pool.COMMAND = (sys.executable, __file__)
    pool = process_pool.ProcessPool(elements("hanging"), 2)
    hanging, other = pool._all
    hanging.send((np.ones((1, 3), np.float32),))
    sys.stdout.write(f"{hanging._process.pid} {other._process.pid}\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    if sys.argv[1:] == ["parent"]:
        be_parent()
    else:
        process.main(sys.argv[1:], load)
