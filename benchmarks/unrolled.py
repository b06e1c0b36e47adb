"""Loops of known length in a written port: unrolled while it is traced, and as a loop in the graph.

Both are written from the same bodies, and their calls are interleaved, so that whatever slows the machine slows both.

    python benchmarks/unrolled.py [--rounds 10,50,200,500] [--seconds 1.0]
"""

from __future__ import annotations

import argparse
import ast
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import load_own
from pyopbench.ports.porting import writers
from pyopbench.ports.porting.module_text import import_text
from pyopbench.ports.porting.observe import observe
from pyopbench.ports.porting.port import write_port

ALWAYS, NEVER = 10**9, 0
"""Operations up to which a loop is unrolled."""

BODIES = {
    "jacobi_1d": (
        "for t in range(N):\n        a[1:-1] = 0.33 * (a[:-2] + a[1:-1] + a[2:])\n    return a",
        "rng.random(400)",
    ),
    "heat_2d": (
        "for t in range(N):\n        a = a + 0.1 * (np.roll(a, 1, 0) + np.roll(a, -1, 0) - 2 * a)\n    return a",
        "rng.random((60, 60))",
    ),
    "power iteration": (
        "v = a[0]\n    for t in range(N):\n        v = a @ v\n        v = v / np.sqrt((v * v).sum())\n    return v",
        "rng.random((64, 64))",
    ),
    "mandelbrot": (
        "z = a * 0\n    for t in range(N):\n        z = np.where(z * z < 4.0, z * z + a, z)\n    return z",
        "rng.random(4000)",
    ),
    "recurrence": (
        "h = a[0]\n    for t in range(N):\n        h = np.tanh(a @ h + a[t % 32])\n    return h",
        "rng.random((32, 32))",
    ),
    "moving average": (
        (
            "s = 0.0\n    out = np.zeros(N)\n    for t in range(N):\n        s = 0.9 * s + 0.1 * a[t]\n"
            "        out[t] = s\n    return out"
        ),
        "rng.random(600)",
    ),
    "large stencil": (
        "for t in range(N):\n        a[1:-1] = 0.33 * (a[:-2] + a[1:-1] + a[2:])\n    return a",
        "rng.random(200_000)",
    ),
}


def port_of(body: str, given: str, rounds: int, most: int, folder: Path) -> tuple[Any, str]:
    """Return a port, and its text."""
    path = folder / f"body_{len(list(folder.iterdir()))}.py"
    path.write_text(f"import numpy as np\n\nN = {rounds}\n\n\ndef body(a):\n    {body}\n", encoding="utf-8")
    op = load_own(read_target(f"{path}:body", [given], []))
    writers.observe = partial(observe, most_unrolled=most)  # type: ignore[attr-defined]
    module = write_port(op, "traced")
    return getattr(import_text(path.stem, module.text), module.function), module.text


def compare(body: str, given: str, rounds: int, seconds: float, folder: Path) -> dict[str, Any]:
    """Return how long the first call of each takes, and a later one."""
    x = tf.constant(eval(given, {"rng": np.random.default_rng(0), "np": np}))
    calls, found = {}, {}
    for name, most in (("unrolled", ALWAYS), ("loop", NEVER)):
        function, text = port_of(body, given, rounds, most, folder)
        calls[name] = tf.function(function)
        begin = time.perf_counter()
        found[name] = calls[name](x).numpy()
        calls[f"{name} traced"] = time.perf_counter() - begin
        loops = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.For)]
        assert any("tf.range" in ast.unparse(one.iter) for one in loops) == (name == "loop")
    np.testing.assert_allclose(found["unrolled"], found["loop"], rtol=1e-9)
    times: dict[str, list[float]] = {"unrolled": [], "loop": []}
    end = time.perf_counter() + seconds
    rng = np.random.default_rng(1)
    while time.perf_counter() < end or len(times["loop"]) < 5:
        for name in rng.permutation(list(times)):
            begin = time.perf_counter()
            calls[name](x).numpy()
            times[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(some) for name, some in times.items()}
    ratio = statistics.median(one / other for one, other in zip(times["loop"], times["unrolled"], strict=True))
    return {**{name: calls[name] for name in calls if name.endswith("traced")}, **medians, "ratio": ratio}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", default="10,50,200,500")
    parser.add_argument("--seconds", type=float, default=1.0)
    chosen = parser.parse_args()
    print("| body | rounds | unrolled | loop | loop / unrolled | first call, unrolled | first call, loop |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (body, given) in BODIES.items():
            for rounds in map(int, chosen.rounds.split(",")):
                one = compare(body, given, rounds, chosen.seconds, Path(folder))
                print(
                    f"| {name} | {rounds} | {one['unrolled'] * 1e3:.2f} ms | {one['loop'] * 1e3:.2f} ms "
                    f"| {one['ratio']:.2f} | {one['unrolled traced']:.2f} s | {one['loop traced']:.2f} s |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
