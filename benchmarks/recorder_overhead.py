"""What `pyopbench record` adds to a call, measured in pairs: the same callback with and without, block after block.

A script of its own: `python benchmarks/recorder_overhead.py [ROUNDS]`. The body does nothing, so that what is added
stands out. Beside the two runs a copy of the one without: its difference is what the measurement cannot tell. The order
is random in each round, and the figures are medians over rounds of differences. Time is that of the process on all its
threads, so that what else runs on the machine counts less. The garbage collector is off: its turn may come in either.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import script_ops

from pyopbench.find.injected.recorder import Recorder

CALLS = 20
ROUNDS = 1000
COPIES = 8
REPLACED = ("eager_py_func", "numpy_function", "py_func_common", "EagerFunc")
FUNCTIONS = {"numpy_function": "numpy_function", "py_function": "eager_py_func"}


def body(x: Any) -> Any:
    """Return the input."""
    return x


def make_callback(public: Callable[..., Any], *, graph: bool) -> Callable[[], Any]:
    """Return a call of the body through a public function of TensorFlow, alone or in a tf.function."""
    x = tf.ones([8])
    if not graph:
        return lambda: public(body, [x], tf.float32)
    traced = tf.function(lambda: public(body, [x], tf.float32), autograph=False)
    traced()
    return traced


def take_state() -> dict[str, Any]:
    """Return what a recorder replaces in TensorFlow's module, as it is now."""
    return {name: getattr(script_ops, name) for name in REPLACED}


def put_state(state: dict[str, Any]) -> None:
    """Put it back."""
    for name in REPLACED:
        setattr(script_ops, name, state[name])


def measure_block(call: Callable[[], Any], state: dict[str, Any]) -> float:
    """Return seconds a call, with TensorFlow's module as it belongs to it."""
    put_state(state)
    start = process_time()
    for _ in range(CALLS):
        call()
    return (process_time() - start) / CALLS


def main(rounds: int) -> None:
    """Measure both functions eagerly and in a graph, and print microseconds."""
    plain = take_state()
    # The recorder saves until the process ends, and so into the folder while it is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Recorder(Path(folder)).install(script_ops)
        states = {"plain": plain, "twin": plain, "recorded": take_state()}
        for kind, name in FUNCTIONS.items():
            for graph in (True, False):
                sys.stdout.write(
                    f"{kind:15} {'graph' if graph else 'eager'}  {compare(states, name, rounds, graph=graph)}\n"
                )
        put_state(plain)


def compare(states: dict[str, dict[str, Any]], name: str, rounds: int, *, graph: bool) -> str:
    """Return in words what a call takes, and how much longer it takes recorded and in a copy of itself."""
    callbacks: list[dict[str, Callable[[], Any]]] = []
    for _ in range(COPIES):
        callbacks.append({})
        for label, state in states.items():
            put_state(state)
            callbacks[-1][label] = make_callback(state[name], graph=graph)
    seconds: dict[str, list[float]] = {label: [] for label in states}
    rng = np.random.default_rng(0)
    gc.disable()
    for place in range(rounds):
        for label in rng.permutation(list(states)):
            seconds[label].append(measure_block(callbacks[place % COPIES][label], states[label]))
    gc.enable()
    middle = {label: np.median(np.subtract(seconds[label], seconds["plain"])) * 1e6 for label in ("twin", "recorded")}
    usual = np.median(seconds["plain"]) * 1e6
    return f"{usual:6.1f} us a call, recorded {middle['recorded']:+.2f} us, a copy {middle['twin']:+.2f} us"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
