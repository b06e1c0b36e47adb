"""From the verdicts on pairs whose difference is known to the figures of a certificate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from scipy import special

from pyopbench.judge.decide import Judgement
from pyopbench.judge.decision import Verdict
from pyopbench.judge.repetition import repetition_of
from pyopbench.store.certificate import Decisions, GivenAnswer, Loss, Pairs, Renamed

LEVEL = 0.95
LEAST_LAUNCHES = 2
"""A pair that was measured in fewer has no interval, and so could not be judged at all."""
LEAST_RUNS = 2
"""With fewer there is nothing to value an answer by."""


def upper_bound(hits: int, n: int) -> float:
    """Return the upper 95% bound of a share of which `hits` in `n` were seen; 1 for none of none.

    Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26 (1934) 404-413. It takes the `n` for independent; pairs of one launch share a process.
    """
    return 1.0 if hits >= n else float(special.betaincinv(hits + 1, n - hits, LEVEL))


def lower_bound(hits: int, n: int) -> float:
    """Return the lower 95% bound of a share of which `hits` in `n` were seen; see `upper_bound`."""
    return 0.0 if hits == 0 else float(special.betaincinv(hits, n - hits + 1, 1 - LEVEL))


def count(verdicts: Iterable[Verdict], percent: int) -> Pairs:
    """Return how the verdicts on pairs that truly differ by `percent` came out; each counts once."""
    judged = [verdict for verdict in verdicts if verdict.launches >= LEAST_LAUNCHES]
    outcomes = [verdict.outcome for verdict in judged]
    slower, n = outcomes.count("slower"), len(judged)
    faster = outcomes.count("faster")
    return Pairs(
        percent=percent,
        pairs=n,
        faster=faster,
        slower=slower,
        equivalent=outcomes.count("equivalent"),
        unresolved=outcomes.count("unresolved"),
        ratio=statistics.median(verdict.ratio for verdict in judged) if judged else None,
        bound=lower_bound(slower, n) if percent else upper_bound(faster + slower, n),
        equivalent_bound=lower_bound(outcomes.count("equivalent"), n),
    )


def smallest_effects(judgement: Judgement) -> list[float]:
    """Return for each pair the effect that it could just have resolved, as a share of the baseline's time.

    That is half the width of its interval at the level that is corrected for all verdicts of the run: a true effect
    that is further than this from the border of the minimum effect is more likely than not to be resolved.
    """
    known = (one for one in judgement.estimates if one.n >= LEAST_LAUNCHES)
    return [(high - low) / 2 for low, high in (one.interval(judgement.level) for one in known)]


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value that `share` of the values do not exceed; None without any."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1] if values else None


def decisions_of(judgements: Sequence[Judgement]) -> Decisions | None:
    """Return what became of the decisions of several runs of the same; None if they were not made twice."""
    if len(judgements) < LEAST_RUNS:
        return None
    found = repetition_of(judgements)
    worst = found.worst
    return Decisions(
        runs=found.runs,
        decisions=found.decisions,
        renamed=tuple(
            Renamed(key[0], key[1], tuple(GivenAnswer(one.action, one.choice) for one in answers))
            for key, answers in found.renamed.items()
        ),
        mean_loss=found.mean_loss,
        worst=None if worst is None else Loss(worst.key[0], worst.key[1], worst.loss),
        unbounded=len(found.unbounded),
        covered=found.coverage,
    )
