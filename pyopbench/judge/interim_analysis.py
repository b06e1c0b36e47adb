"""When to stop measuring: the cases that more launches could still settle, within the launches that a run may make."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from pyopbench.judge.candidates import KEYS
from pyopbench.judge.choice import Choice
from pyopbench.judge.decision import Verdict
from pyopbench.judge.devices import open_device_cases
from pyopbench.model import formatting
from pyopbench.store.measured_run import Run

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


CERTAIN = 1 / 3
"""An answer that may cost this part of the minimum effect and no more is measured no further: a point of the current
time where the minimum effect is 3."""


@dataclass(frozen=True)
class InterimAnalysis:
    """The cases that are worth measuring on, with the baselines that they are compared to; and a line on that."""

    open: frozenset[str]
    text: str


def progress_text(verdicts: Sequence[Verdict], launches: int) -> str:
    """Return how many verdicts are resolved after so many launches."""
    made = f"after {formatting.count(launches, 'launch', 'launches')}"
    if not verdicts:
        return f"{made}: no verdict, because only the baseline was measured"
    resolved = sum(verdict.outcome != "unresolved" for verdict in verdicts)
    return f"{made}: {resolved:,} of {formatting.count(len(verdicts), 'verdict')} resolved"


def interim_analysis_of(compared: Judgement, launches: int, most: int) -> InterimAnalysis:
    """Return which cases are worth measuring on after so many launches."""
    more = most - launches
    failed = {failure.case for failure in compared.run.failures}
    unresolved = [verdict for verdict in compared.verdicts if verdict.outcome == "unresolved"]
    growth = _growth(compared.run)
    reachable = [
        verdict
        for verdict in unresolved
        if _is_reachable(verdict, more, growth.get(verdict.case, 1.0)) and not failed & {verdict.case, verdict.baseline}
    ]
    needed = frozenset(_open_candidates(compared, failed)) | open_device_cases(compared, failed)
    # Where there is nothing to decide, the comparisons are what was asked for.
    is_for_answers = compared.run.settings.until == "decided" and any(made for _, made in compared.choices)
    with_baselines = frozenset(case for verdict in reachable for case in (verdict.case, verdict.baseline))
    open_ = needed if is_for_answers else needed | with_baselines
    if reachable and len(reachable) == len(unresolved) and not open_:
        made = formatting.count(launches, "launch", "launches")
        return InterimAnalysis(open_, f"done after {made}: the answers are clear")
    further = f"still measuring {formatting.count(len(open_), 'case')}" if open_ else "done"
    return InterimAnalysis(open_, f"{progress_text(compared.verdicts, launches)}; {further}")


def _growth(run: Run) -> Mapping[str, float]:
    """Return by how much the rounds of each case in a launch can still grow: 1 where it has had all of them."""
    most = run.settings.rounds
    if run.frame.empty:
        return {}
    made = run.frame.groupby(["case", "launch", "copies"], observed=True).size().groupby("case", observed=True).max()
    return {str(case): max(most / rounds, 1.0) for case, rounds in made.items()}


def _is_reachable(verdict: Verdict, more: int, growth: float) -> bool:
    """Could `more` launches, and `growth` times the rounds in each, do what the fewest launches would do as they are?

    After few rounds, most of what launches differ by is noise of rounds, which falls with their number in all launches
    together. How much of it is not is unknown yet, and what is closed is seldom opened again; so all of it is taken
    for noise of rounds. What is open needs another launch or another round.
    """
    if verdict.fewest is None:
        return False
    return (more > 0 or growth > 1) and verdict.fewest <= (verdict.launches + more) * growth


def _open_candidates(compared: Judgement, failed: Collection[str]) -> Iterator[str]:
    """Yield the cases of the candidates that could still be the answer where one is open, and those of the baseline.

    A decision takes only launches that have every size of its mix, so all of these are measured on together. What has
    failed is not measured again, at whatever size it was.
    """
    places = compared.latencies.groupby(KEYS, observed=True).indices
    for comparison, made in compared.choices:
        rows = compared.latencies.iloc[places.get(astuple(comparison.setting), [])]
        # Where the current callback is too noisy to compare with, more launches may show what it costs.
        noisy = [size for label, size in comparison.too_noisy if (label, size) not in comparison.failures]
        yield from rows["case"][rows["size"].isin(noisy) & ~rows["case"].isin(list(failed))].tolist()
        if made is None:
            continue
        choice, mix = made
        rows = rows[rows["size"].isin(mix.needed)]
        gone = set(rows["label"][rows["case"].isin(list(failed))])
        labels = open_labels(choice) - gone
        if labels - {comparison.baseline} and comparison.baseline not in gone:
            yield from rows["case"][rows["label"].isin([*labels, comparison.baseline])].tolist()


def open_labels(choice: Choice) -> set[str]:
    """Return the labels that could still be the answer; none where the answer is certain.

    A label is out if even at the near end of its interval it costs more than could be named, which is twice the
    minimum effect above the best. An answer is certain if it may cost no more than a third of the minimum effect
    against the best, or if nothing else is left; a gain has to be clear as well.
    """
    least = choice.minimum_effect
    left = {one.label for one in choice.standings if not one.lag - one.reach > 2 * least}
    is_certain = choice.loss is not None and choice.loss <= CERTAIN * least
    is_clear = not any(gain.label in left for gain in choice.open)
    return set() if not left or (is_certain and is_clear) else left
