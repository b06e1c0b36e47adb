"""Made-up runs with known latencies and known noise, for the tests of the judging half.

    run = Bench({"py_function_numpy": lambda n: 1e-5 + 1e-9 * n, "native": lambda n: 1e-6 + 2e-9 * n}).run()

In mode `node` a row is a call of a graph of `copies` beside what a call of the empty function, `floor`, took in the
same round; a curve is then what one op costs inside the graph.

A curve is a number (seconds per call at every size), a mapping `{size: seconds}`, or a function of a float array of
sizes. Where it is nan, or a mapping has no such size, the case was planned but timed out. The keys of `curves` are
labels: `variant`, or `variant+gradient` for a gradient that is not the usual one (left out of forward cases).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.model.case import NO_GRADIENT, Case, Failure
from pyopbench.store.measured_run import COLUMNS, NOISE_COLUMNS, WAIT_COLUMNS, Costs, no_rows
from pyopbench.store.types import Catalogue, OpFacts, Settings, VariantFacts

Floats: TypeAlias = npt.NDArray[np.float64]
Curve: TypeAlias = float | Mapping[int, float] | Callable[[Floats], Floats]
Noise: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Floats]

CALLBACK_GRADIENTS = ["custom_gradient", "override_map"]
NODE = "node"
FIELDS = ["op", "variant", "gradient", "direction", "mode", "dtype", "size", "placement"]
QUIET = (10.0, 0.02, 0.25)
COST = {"forward": 1.0, "backward": 2.0, "forward_backward": 3.0}
"""What a direction costs, as a multiple of the curve."""


def variant(
    kind: str, effort: int = 0, gradients: Sequence[str] = (), body: str = "numpy", role: str = "candidate"
) -> VariantFacts:
    """Return what a made-up catalogue says of a variant."""
    return VariantFacts(
        summary="made up",
        body=body,
        kind=kind,
        effort=effort,
        gradients=list(gradients),
        role=role,
    )


VARIANTS: dict[str, VariantFacts] = {
    "py_func": variant("callback", 1, CALLBACK_GRADIENTS),
    "numpy_function": variant("callback", 1, CALLBACK_GRADIENTS),
    "py_function": variant("callback", 1, ["tape", *CALLBACK_GRADIENTS], "tensor"),
    "py_function_numpy": variant("callback", 0, CALLBACK_GRADIENTS),
    "native": variant("port", 3, ["autodiff"], "tensor"),
    "autograph": variant("port", 3, ["autodiff"], "python"),
    "xla": variant("port", 4, ["autodiff"], "tensor"),
    "traced": variant("port", 2, ["autodiff"]),
    "custom_op": variant("port", 9, ["registered"], "kernel"),
}
ENVIRONMENT: dict[str, Any] = {
    "cpu": "made up",
    "cores": 2,
    "memory_bytes": 8 * 2**30,
    "governor": None,
    "load": [0.1, 0.1, 0.1],
    "os": "Linux",
    "python": "3.11.7",
    "numpy": "2.4.6",
    "tensorflow": "2.21.0",
    "tensorflow_build": {"cuda": False},
    "intra_op_threads": 0,
    "inter_op_threads": 0,
    "commit": None,
    "dirty": False,
    "pyopbench": "0.1.0",
}


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Log of a block's noise, in units of `within`: symmetric and light."""
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Log of a block's noise: Student's t with two degrees of freedom, whose variance is infinite."""
    return rng.standard_t(2, shape)


def spikes(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Log of a block's noise: one block in ten is thirty times `within` slower, never faster."""
    return np.where(rng.random(shape) < 0.1, 30.0, 0.0) + rng.standard_normal(shape)


@dataclass(frozen=True)
class Bench:
    """One op measured in one mode and dtype, on one placement.

    Attributes:
        curves: label -> latency in seconds per call, by size.
        op, sizes, directions, mode, dtype: what is measured.
        launches, rounds: how often.
        within: spread of the log of one block inside a launch.
        between: spread of the log of one case between launches.
        drift: spread of the log of a whole round, common to all cases of a group.
        noise: shape of the noise of a block.
        copies: of the op in the graph, in mode node.
        floor: seconds of a call of the empty function, in mode node.
        first_launch: number of the first launch.
        run_name: name of the run.
        seed: of everything random.
        placement: where it is measured.
    """

    curves: Mapping[str, Curve]
    op: str = "sinh"
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    directions: tuple[str, ...] = ("forward",)
    mode: str = "call"
    dtype: str = "float32"
    launches: int = 6
    rounds: int = 5
    within: float = 0.01
    between: float = 0.005
    drift: float = 0.0
    noise: Noise = normal
    copies: int = 8
    floor: float = 2e-4
    first_launch: int = 0
    run_name: str = "made-up"
    seed: int = 0
    placement: str = "cpu"

    def cases(self) -> list[tuple[Case, float]]:
        """Return each planned case with its true seconds per call (nan if it timed out)."""
        return [
            (case, COST[direction] * seconds)
            for direction in self.directions
            for label, curve in self.curves.items()
            for case, seconds in zip(self._cases(label, direction), _at(curve, self.sizes), strict=False)
        ]

    def _cases(self, label: str, direction: str) -> list[Case]:
        variant, _, gradient = label.partition("+")
        if direction == "forward":
            gradient = "" if gradient else NO_GRADIENT
        else:
            gradient = gradient or VARIANTS[variant].gradients[0]
        fields = (self.op, variant, gradient, direction, self.mode, self.dtype)
        return [Case(*fields, size, self.placement) for size in self.sizes] if gradient else []

    def frame(self) -> pd.DataFrame:
        """Return one row per timed block, in the columns of `measured_run.Run.frame`."""
        rng = np.random.default_rng(self.seed)
        measured = [(case, seconds) for case, seconds in self.cases() if not math.isnan(seconds)]
        shape = (len(measured), self.launches, self.rounds)
        groups, group_of = np.unique([case.group for case, _ in measured], return_inverse=True)
        blocks = self.within * self.noise(rng, shape)
        launches = self.between * rng.standard_normal((*shape[:2], 1))
        drift = self.drift * rng.standard_normal((len(groups), *shape[1:]))
        of_op = np.array([seconds for _, seconds in measured])[:, None, None] * np.exp(launches)
        call = self.floor + self.copies * of_op if self.mode == NODE else of_op
        rows = self._rows([case for case, _ in measured], call * np.exp(blocks + drift[group_of]), rng)
        if self.mode != NODE:
            return rows
        empty = self.floor * np.exp(self.within * self.noise(rng, drift.shape) + drift)
        return rows.assign(copies=self.copies, floor_seconds=empty[group_of].ravel())

    def _rows(self, cases: Sequence[Case], seconds: Floats, rng: np.random.Generator) -> pd.DataFrame:
        index, launch, rounds = (grid.ravel() for grid in np.indices(seconds.shape))
        calls = rng.integers(1, 50, seconds.shape).ravel()
        one_each = pd.DataFrame(
            [(case.group, case.id, *case.parts) for case in cases],
            columns=["group", "case", *FIELDS],
        )
        rows = one_each.take(index).assign(
            tool="pyopbench",
            run=self.run_name,
            launch=launch + self.first_launch,
            sweep=0,
            round=rounds,
            calls=calls,
            seconds=seconds.ravel() * calls,
            copies=1,
            floor_seconds=math.nan,
        )
        return rows.reset_index(drop=True)[list(COLUMNS)]

    def noise_frame(self) -> pd.DataFrame:
        """Return what else went on, one row per launch, in the columns of `measured_run.Run.noise`: hardly anything."""
        launches = range(self.first_launch, self.first_launch + self.launches)
        rows = [(self.run_name, launch, *QUIET) for launch in launches]
        return pd.DataFrame(rows, columns=list(NOISE_COLUMNS))

    def run(self) -> SimpleNamespace:
        """Return a run that holds this op alone."""
        return run_of(self)


def run_of(*benches: Bench, failures: Sequence[Failure] = (), cases: Sequence[str] = ()) -> SimpleNamespace:
    """Return what `read.read_one` would for a run of all these, with more failures and planned cases if given."""
    planned = [pair for bench in benches for pair in bench.cases()]
    timeouts = [Failure(case.id, "timeout", "no answer in 60 s", 0) for case, seconds in planned if math.isnan(seconds)]
    ids = list(dict.fromkeys([*(case.id for case, _ in planned), *cases]))
    return SimpleNamespace(
        name=" + ".join(dict.fromkeys(bench.run_name for bench in benches)) or "made-up",
        command=("pyopbench", "run"),
        created="2030-01-01T00:00:00+00:00",
        settings=_settings(benches),
        environment=ENVIRONMENT,
        catalogue=Catalogue(ops=_ops(ids, failures), variants=VARIANTS),
        cases=tuple(ids),
        failures=(*timeouts, *failures),
        frame=pd.concat([bench.frame() for bench in benches], ignore_index=True) if benches else _no_rows(),
        warnings=(),
        costs=Costs(),
        noise=pd.concat([bench.noise_frame() for bench in benches], ignore_index=True) if benches else _no_noise(),
        tool="pyopbench",
        others=_no_rows(),
        cannot=(),
        requirements=(),
        pipeline=None,
        waits=no_rows(WAIT_COLUMNS),
        checked={},
        own={},
    )


def _no_noise() -> pd.DataFrame:
    return Bench({"native": 1.0}, launches=0).noise_frame()


@cache
def _no_rows() -> pd.DataFrame:
    return Bench({"native": 1.0}, launches=0).frame()


def _settings(benches: Sequence[Bench]) -> Settings:
    return Settings(
        launches=max((bench.launches for bench in benches), default=0),
        rounds=max((bench.rounds for bench in benches), default=0),
        budget_seconds=150.0,
        baseline="py_function_numpy",
    )


def _ops(ids: Sequence[str], failures: Sequence[Failure]) -> dict[str, OpFacts]:
    cases = [Case.from_id(key) for key in (*ids, *(failure.case for failure in failures))]
    ops: dict[str, OpFacts] = {}
    for name in dict.fromkeys(case.op for case in cases):
        sizes = sorted({case.size for case in cases if case.op == name})
        ops[name] = OpFacts(
            summary=f"{name}, made up",
            sizes=sizes,
            quick_sizes=sizes[:1],
            size_unit="elements",
        )
    return ops


def _at(curve: Curve, sizes: Sequence[int]) -> list[float]:
    if callable(curve):
        return [float(value) for value in np.broadcast_to(curve(np.asarray(sizes, dtype=float)), len(sizes))]
    if isinstance(curve, Mapping):
        return [float(curve.get(size, math.nan)) for size in sizes]
    return [float(curve)] * len(sizes)
