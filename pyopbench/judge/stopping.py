"""When to stop measuring: the cases that more launches could still settle, within the launches that a run may make."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pyopbench.judge.candidates import KEYS, Setting
from pyopbench.judge.choice import Choice
from pyopbench.judge.compared import Compared

CERTAIN = 1 / 3
"""An answer that may cost this part of the minimum effect and no more is measured no further: a point of the current
time where the minimum effect is 3."""


@dataclass(frozen=True)
class Look:
    """What a look at the data shows.

    Attributes:
        open: ids of the cases that are worth measuring on, with the baselines that they are compared to.
        launches: launches that were made.
        verdicts: all of them.
        resolved: those that are faster, slower or equivalent.
        reachable: unresolved ones that the launches still to come could resolve, and that are measured on.
        unneeded: unresolved ones that could be resolved, but that no open answer hangs on: a quick run leaves them.
        most: launches at the most.
    """

    open: frozenset[str]
    launches: int
    verdicts: int
    resolved: int
    reachable: int
    unneeded: int
    most: int


def look(compared: Compared, launches: int, most: int) -> Look:
    """Look at what is judged after so many launches.

    Args:
        compared: of the run so far.
        launches: launches that were made.
        most: launches at the most, at least `launches`.
    """
    more = most - launches
    failed = {failure.case for failure in compared.run.failures}
    unresolved = [verdict for verdict in compared.verdicts if verdict.outcome == "unresolved"]
    reachable = [
        verdict
        for verdict in unresolved
        if _is_reachable(verdict.fewest, verdict.launches, more) and not failed & {verdict.case, verdict.baseline}
    ]
    # Answers come first: only when no decision hangs on it is time spent on what is merely unresolved, and in a quick
    # run not even then.
    needed = frozenset(_open_candidates(compared, failed))
    unneeded = len(reachable) if compared.run.settings.get("quick") and not needed else 0
    with_baselines = {case for verdict in reachable for case in (verdict.case, verdict.baseline)}
    return Look(
        open=needed or (frozenset() if unneeded else frozenset(with_baselines)),
        launches=launches,
        verdicts=len(compared.verdicts),
        resolved=len(compared.verdicts) - len(unresolved),
        reachable=len(reachable) - unneeded,
        unneeded=unneeded,
        most=most,
    )


def _is_reachable(fewest: int | None, made: int, more: int) -> bool:
    """Could `more` launches bring the `made` ones to the fewest that do? What is open needs at least one more."""
    return fewest is not None and max(fewest - made, 1) <= more


def _open_candidates(compared: Compared, failed: Collection[str]) -> Iterator[str]:
    """Yield the cases of the candidates that could still be the answer where one is open, and those of the baseline.

    A decision takes only launches that have every size of its mix, so all of these are measured on together. What has
    failed is not measured again, at whatever size it was.
    """
    places = compared.latencies.groupby(KEYS, observed=True).indices
    for comparison, made in compared.choices:
        if made is None:
            continue
        choice, mix = made
        rows = compared.latencies.iloc[places.get(_key(comparison.setting), [])]
        rows = rows[rows["size"].isin(mix.needed)]
        gone = set(rows["label"][rows["case"].isin(list(failed))])
        labels = open_labels(choice) - gone
        if labels - {comparison.baseline} and comparison.baseline not in gone:
            yield from rows["case"][rows["label"].isin([*labels, comparison.baseline])].tolist()


def _key(setting: Setting) -> tuple[str, ...]:
    return tuple(getattr(setting, key) for key in KEYS)


def open_labels(choice: Choice) -> set[str]:
    """Return the labels that could still be the answer; none where the answer is certain.

    A label is out if even at the near end of its interval it costs more than could be named, which is twice the
    minimum effect above the best. An answer is certain if it may cost no more than a third of the minimum effect
    against the best, or if nothing else is left; a gain has to be clear as well.
    """
    least = choice.minimum_effect
    left = {one.label for one in choice.standings if not one.lag - one.reach > 2 * least}
    named = choice.named
    is_certain = named is not None and named.loss <= CERTAIN * least
    is_clear = not any(gain.label in left for gain in choice.open)
    return set() if not left or (is_certain and is_clear) else left
