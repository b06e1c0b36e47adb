"""A verdict on the body that several cases run, in addition to those on its cases.

Cases of an op with different sizes, directions or variants run one body. If the body became slower, all of them did, so
together they can show a slowdown that none of them shows alone. The estimate is the mean of the log ratios of the
cases, weighted by how exactly each is known.

The cases of one launch share a process, and so part of their noise. Therefore each block of launches (a launch of each
side) gives one number, and the estimate is made from these numbers: noise that cases share within a block counts once,
in the spread between blocks. In simulations, cases that shared nine tenths of their noise gave no more false verdicts
than promised (`tests/judge/comparison/test_bodies.py`).

Half of the error rate of a comparison is for all bodies, and half for all cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.judge.comparison.sides import BLOCK_COLUMNS
from pyopbench.judge.decision import CaseVerdict
from pyopbench.judge.latencies import parse_case
from pyopbench.model import formatting
from pyopbench.stats.estimate import USUAL_SPREAD, Estimate, Launches, Spread, launches_by_case
from pyopbench.store.types import Catalogue

FEWEST_CASES = 2
"""A single case has its own verdict."""
FEWEST_FOR_WEIGHTS = 6
"""In simulations with 3 and 4 blocks, weights from these blocks gave 8 to 11% false verdicts, not the promised 5%;
from 6 blocks on, 4 to 6%."""
ERROR_SHARE = 0.5
"""Share of the error rate of a comparison that is for all bodies; the rest is for all cases."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BodyKey:
    """What identifies a body that several cases run."""

    op: str
    body: str  # which of its bodies, such as `numpy`
    kind: str  # `callback` or `port`; a port made of a body does not run it

    def __str__(self) -> str:
        return f"{self.op}, {self.body} body in {'callbacks' if self.kind == 'callback' else 'ports'}"


@dataclass(frozen=True)
class ComparedBody:
    """A body on the second side, compared with the first."""

    key: BodyKey
    cases: tuple[str, ...]  # that run it and are compared, their ids
    verdict: CaseVerdict  # on the mean ratio over these cases

    def text(self) -> str:
        """Return in words how much slower or faster it is, and over how many cases."""
        ratio = formatting.ratio_interval(self.verdict.ratio, self.verdict.low, self.verdict.high)
        return f"{self.key}: {ratio} over {formatting.count(len(self.cases), 'case')}, {self.verdict.outcome}"


def shared_bodies(catalogue: Catalogue, names: Sequence[str]) -> dict[BodyKey, tuple[str, ...]]:
    """Return the cases of each body that several of them run; benchmarks of other suites have no body."""
    cases: dict[BodyKey, list[str]] = {}
    for name in names:
        case = parse_case(name)
        if case is not None:
            facts = catalogue.variant(case.variant)
            if facts.kind in ("callback", "port"):
                cases.setdefault(BodyKey(case.op, facts.body, facts.kind), []).append(name)
    return {key: tuple(of_body) for key, of_body in cases.items() if len(of_body) >= FEWEST_CASES}


def body_estimates(pairs: pd.DataFrame, bodies: Mapping[BodyKey, tuple[str, ...]], spread: Spread) -> list[Estimate]:
    """Return the estimate of each body over blocks of launches, in order.

    Args:
        pairs: one log ratio for each case and block, as `sides.sweep_logs`.
        bodies: the cases of each.
        spread: the usual spread between launches of one case. Of a body they differ by `USUAL_SPREAD` at least: cases
            that share noise agree by chance all at once, which in simulations tripled a gate's false verdicts.
    """
    spread = Spread(max(spread.variance, USUAL_SPREAD**2), spread.degrees)
    frames = [
        _pooled(pairs[pairs["case"].isin(cases)]).assign(case=str(number))
        for number, cases in enumerate(bodies.values())
    ]
    if not frames:
        return []
    found = launches_by_case(pd.concat(frames, ignore_index=True))
    return [spread.estimate(found.get(str(number), Launches(np.array([])))) for number in range(len(bodies))]


def _pooled(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return one value for each block that has all cases: their mean, weighted by how exactly each is known."""
    wide = pairs.pivot(index=BLOCK_COLUMNS, columns="case", values="value").dropna()
    errors = pairs.pivot(index=BLOCK_COLUMNS, columns="case", values="error").reindex(wide.index)
    weights = weights_of(wide.to_numpy(dtype="float64"))
    numbers = {"value": wide @ weights, "error": np.sqrt(errors**2 @ weights**2)}
    return pd.DataFrame(numbers, index=wide.index).reset_index()


def weights_of(values: Floats) -> Floats:
    """Return the weight of each case, `(cases,)` float64 of sum 1: less for one that scatters more between blocks.

    A few blocks say little about scatter: weights from them favour cases whose values are close by chance, and so make
    the spread of the mean look smaller than it is. So below `FEWEST_FOR_WEIGHTS` blocks all cases have the same weight;
    with more blocks, the mean of all variances is added to each.

    Args:
        values: `(blocks, cases)` float64.
    """
    many = values.shape[1]  # none where the two sides of a body never met in a launch
    if len(values) < FEWEST_FOR_WEIGHTS:
        return np.full(many, 1 / max(many, 1))
    variances = values.var(axis=0, ddof=1)
    typical = float(variances.mean())
    if typical == 0:
        return np.full(many, 1 / max(many, 1))
    inverse = 1 / (variances + typical)
    found: Floats = inverse / inverse.sum()
    return found
