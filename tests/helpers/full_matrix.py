"""A made-up judgement as large as a run of everything: 12 ops, every gradient, 7 sizes, 3 modes, 2 dtypes.

python tests/helpers/full_matrix.py DIR   writes its report
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import stored
from frames import CALLBACK_GRADIENTS, Bench, run_of
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.model.label import Label
from pyopbench.report import write
from pyopbench.stats.costs import MODE

OPS = (
    *("cube", "determinant", "double", "identity", "log", "log_huber"),
    *("log_huber_elementwise", "relu", "sin_double", "sinh", "sparse_conv_q", "square"),
)
SIZES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


def full(ops: tuple[str, ...] = OPS, launches: int = 3) -> Judgement:
    """Return the judgement of a run in which every variant was measured in every way."""
    modes, dtypes = ("call", "eager", MODE), ("float32", "float64")
    benches = [_bench(op, mode, dtype, launches) for op in ops for mode in modes for dtype in dtypes]
    run = run_of(*benches)
    limits = stored.limits_of(launches)
    return judge_run(SimpleNamespace(**{**vars(run), "limits": limits}))


def _bench(op: str, mode: str, dtype: str, launches: int) -> Bench:
    place = OPS.index(op)
    callbacks = ("py_func", "numpy_function", "py_function", "py_function_numpy")
    ports = ("native", "autograph", "xla", "tnp", "custom_op")
    today: dict[str, Any] = {name: _curve(9e-5 - 5e-6 * i, 4e-9 + 2e-10 * place) for i, name in enumerate(callbacks)}
    others = {str(Label(name, CALLBACK_GRADIENTS[1])): today[name] for name in callbacks}
    after = {name: _curve(8e-6 + 4e-6 * i, 6e-9 / (i + 1) + 4e-10 * place) for i, name in enumerate(ports)}
    return Bench(
        {**today, **others, **after},
        op=op,
        sizes=SIZES,
        directions=("forward", "backward", "forward_backward"),
        mode=mode,
        dtype=dtype,
        launches=launches,
        rounds=1,
        between=0.05,
        seed=place,
    )


def _curve(start: float, slope: float) -> Any:
    return lambda n: start + slope * n


if __name__ == "__main__":
    write.write(full(), Path(sys.argv[1]))
