"""When to stop measuring: the cases that more launches could still settle, within the launches that a run may make."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pyopbench.judge.candidates import rows_of
from pyopbench.judge.choice import Choice
from pyopbench.judge.decide import Judgement


@dataclass(frozen=True)
class Look:
    """What a look at the data shows.

    Attributes:
        open: ids of the cases that are worth measuring on, with the baselines that they are compared to.
        launches: launches that were made.
        verdicts: all of them.
        resolved: those that are faster, slower or equivalent.
        reachable: unresolved ones that the launches still to come could resolve.
        most: launches at the most.
    """

    open: frozenset[str]
    launches: int
    verdicts: int
    resolved: int
    reachable: int
    most: int


def look(judgement: Judgement, launches: int, most: int) -> Look:
    """Look at what is judged after so many launches.

    Args:
        judgement: of the run so far.
        launches: launches that were made.
        most: launches at the most, at least `launches`.
    """
    more = most - launches
    failed = {failure.case for failure in judgement.run.failures}
    unresolved = [verdict for verdict in judgement.verdicts if verdict.outcome == "unresolved"]
    reachable = [
        verdict
        for verdict in unresolved
        if _is_reachable(verdict.fewest, verdict.launches, more) and not failed & {verdict.case, verdict.baseline}
    ]
    compared = {case for verdict in reachable for case in (verdict.case, verdict.baseline)}
    return Look(
        open=frozenset(compared | set(_open_candidates(judgement, failed, more))),
        launches=launches,
        verdicts=len(judgement.verdicts),
        resolved=len(judgement.verdicts) - len(unresolved),
        reachable=len(reachable),
        most=most,
    )


def _is_reachable(fewest: int | None, made: int, more: int) -> bool:
    """Could `more` launches bring the `made` ones to the fewest that do? What is open needs at least one more."""
    return fewest is not None and max(fewest - made, 1) <= more


def _open_candidates(judgement: Judgement, failed: Collection[str], more: int) -> Iterator[str]:
    """Yield the cases of the candidates that could still change a decision, of the picked one, and of the baseline.

    A decision takes only launches that have every size of its mix, so all of these are measured on together. What has
    failed is not measured again, at whatever size it was.
    """
    for comparison, made in judgement.choices:
        if made is None:
            continue
        choice, mix = made
        rows = rows_of(judgement.latencies, comparison.setting)
        rows = rows[rows["size"].isin(mix.needed)]
        gone = set(rows["label"][rows["case"].isin(list(failed))])
        labels = _open_labels(choice, more) - gone
        if labels and comparison.baseline not in gone:
            picked = [choice.label] if choice.label and choice.label not in gone else []
            yield from rows["case"][rows["label"].isin([*labels, *picked, comparison.baseline])].tolist()


def _open_labels(choice: Choice, more: int) -> set[str]:
    """Return the labels of the gains that more launches could show to change a choice, or not to."""
    border = math.log(choice.threshold)
    contests = [(gain, gain.log) for gain in choice.open]
    if choice.gain is not None:
        contests += [(gain, gain.against(choice.gain)) for gain in choice.rivals]
    return {gain.label for gain, log in contests if _is_reachable(log.fewest_launches(border, gain.level), log.n, more)}
