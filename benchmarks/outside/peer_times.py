"""How long a call of NPBench's own version of a program takes, written by hand for JAX or for Numba.

The process that `benchmarks/outside/npbench.py` starts with the Python of `--peers`: it imports nothing of pyopbench,
and prints seconds, or ends with what is wrong.

    python benchmarks/outside/peer_times.py FOLDER jax
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

BLOCK_SECONDS = 3e-3
BLOCKS = 9
"""Timed blocks, of which the median is taken: enough to tell twice as fast."""

FILES = {"jax": "_jax", "numba": "_numba_n"}
TOLERANCE = 1e-4


def main(arguments: Sequence[str]) -> int:
    """Time one version of one program; returns the exit code."""
    folder, kind = Path(arguments[0]), arguments[1]
    call = json.loads((folder / "call.json").read_text(encoding="utf-8"))
    run = {"jax": _jax, "numba": _numba}[kind](call, _arguments(folder, call))
    expected = _outputs(call, _arguments(folder, call), _function(call, "_numpy"))
    found = [np.asarray(one) for one in run()]
    if not all(any(_is_same(one, other) for other in found) for one in expected):
        print(f"the version for {kind} returns something else", file=sys.stderr)
        return 1
    print(seconds_of(run))
    return 0


def seconds_of(call: Callable[[], Any]) -> float:
    """Return the median over blocks of what one call takes; it is called once before."""
    call()
    began = time.perf_counter()
    call()
    repeats = max(1, int(BLOCK_SECONDS / max(time.perf_counter() - began, 1e-6)))
    blocks = []
    for _ in range(BLOCKS):
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        blocks.append((time.perf_counter() - began) / repeats)
    return statistics.median(blocks)


def _arguments(folder: Path, call: dict[str, Any]) -> dict[str, Any]:
    stored = np.load(folder / "inputs.npz")
    values = {name: eval(text, {"np": np}) for name, text in call["constants"].items()}
    inputs = {name: stored[f"{name}_0"] for name in call["inputs"]}
    return values | {name: one if one.ndim else one.item() for name, one in inputs.items()}


def _function(call: dict[str, Any], ending: str) -> Any:
    path = Path(call["folder"]) / f"{call['module']}{ending}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, call["function"])


def _outputs(call: dict[str, Any], given: dict[str, Any], function: Any) -> list[Any]:
    """Return what a function returns and what it writes, of copies of the arrays that it writes."""
    copied = given | {name: given[name].copy() for name in call["written"]}
    returned = function(*(copied[name] for name in call["arguments"]))
    several = list(returned) if isinstance(returned, tuple) else [] if returned is None else [returned]
    return several + ([copied[name] for name in call["outputs"]] or ([] if several else _written(call, copied)))


def _written(call: dict[str, Any], copied: dict[str, Any]) -> list[Any]:
    return [copied[name] for name in call["written"]]


def _jax(call: dict[str, Any], given: dict[str, Any]) -> Callable[[], list[Any]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    function = _function(call, FILES["jax"])
    values = {name: jax.numpy.array(one) if isinstance(one, np.ndarray) else one for name, one in given.items()}
    return lambda: jax.tree.leaves(jax.block_until_ready(function(*(values[name] for name in call["arguments"]))))


def _numba(call: dict[str, Any], given: dict[str, Any]) -> Callable[[], list[Any]]:
    function = _function(call, FILES["numba"])
    return lambda: _outputs(call, given, function)


def _is_same(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
