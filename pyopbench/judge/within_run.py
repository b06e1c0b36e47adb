"""The comparisons within a run: latencies, verdicts, and the choice in each setting.

An interim analysis needs no more of a run, and a judgement (`judge.judge`) begins with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from pyopbench.judge import requirements
from pyopbench.judge.candidates import SettingComparison, comparisons_of
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.decision import Verdict
from pyopbench.judge.latencies import baseline_of, checked_frame, latency_table, usual_gradients
from pyopbench.judge.program import Mix, calls_in, calls_mix, even_mix
from pyopbench.judge.verdicts import estimates_of, shares_of, shares_of_pairs, verdicts_from
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.stats import costs, estimate
from pyopbench.stats.estimate import FAMILY_ERROR, Spread
from pyopbench.store.mix_file import Calls

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run


TEXTS_OF_UNIT = ("tool", "run")
"""Columns of `estimate.UNIT` that hold text. Their values are numbered once, because comparing a million texts takes as
long as everything that follows."""


@dataclass(frozen=True, eq=False)
class Compared:
    """The comparisons within a run.

    Attributes:
        run: what was judged.
        baseline: the current callback, a variant.
        minimum_effect: a share of the baseline's time that is worth acting on.
        mix: size -> how often it is called; None for shares that are even over the log of the size.
        rules: how to choose.
        latencies: one row per measured case, as `latencies.latency_table`; without cases that were found wrong.
        verdicts: in the order of `latencies`.
        comparisons: of each setting that there is to decide in, ops in the order of the catalogue.
        choices: each comparison with its choice over the mix, as `choose_over_mix` makes it.
        spread: the spread between launches that was seen.
        rounds: what each case costs in each round, as `costs.round_costs`; without cases that were found wrong.
    """

    run: Run
    baseline: str
    minimum_effect: float
    mix: Calls | None
    rules: Rules
    latencies: pd.DataFrame
    verdicts: tuple[Verdict, ...]
    comparisons: tuple[SettingComparison, ...]
    choices: tuple[tuple[SettingComparison, tuple[Choice, Mix] | None], ...]
    spread: Spread
    rounds: pd.DataFrame

    @cached_property
    def rows_by_op(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of `latencies` of each op, ops in the same order, each row with its columns by name."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.latencies.to_dict("records"):
            found.setdefault(str(row["op"]), []).append({str(key): value for key, value in row.items()})
        return found


def compared(  # noqa: PLR0913 - as `judge.judge_run`
    run: Run,
    baseline: str,
    minimum_effect: float,
    mix: Calls | None = None,
    requires: Sequence[str] = (),
    error: float = FAMILY_ERROR,
) -> Compared:
    """Return what was compared in a run; the arguments are those of `judge.judge_run`.

    Another one is `error`: how often any verdict of one op and use, or any gain of one choice, may be wrong.

    Raises:
        BadInput: the baseline is no variant of the run, the minimum effect is out of range, or the mix fits no
            op that was measured.
    """
    _check(run, baseline, minimum_effect)
    frame = checked_frame(run).astype(dict.fromkeys(("case", *TEXTS_OF_UNIT), "category"))
    rounds = costs.round_costs(frame, estimate.UNIT)
    latencies = latency_table(frame, run.catalogue, rounds, baseline)
    pairs = run.settings.pairs
    today = baseline_of(latencies, baseline, usual_gradients(run.catalogue, baseline))
    baselines = baseline_of(latencies, baseline, (), pairs) if pairs else today
    ratios = costs.ratios(rounds, baselines, estimate.UNIT)
    medians = costs.launch_medians(ratios, "ratio", estimate.UNIT)
    shares = shares_of_pairs(rounds, baselines, today) if pairs else shares_of(medians)
    spread = estimate.usual_spread(shares.values())
    ports = frozenset[str]() if pairs else _ports(run, baselines)
    estimates = estimates_of(shares, baselines, ports, spread, max(frame["run"].nunique(), 1))
    # Where variants are compared in pairs of their own, there is no current callback to decide about.
    wide = () if pairs else comparisons_of(run, latencies, ratios, spread, baseline)
    comparisons = tuple(requirements.narrow(comparison, run, requires) for comparison in wide)
    check_mix(comparisons, mix)
    rules = Rules(minimum_effect, error=error)
    return Compared(
        run=run,
        baseline=baseline,
        minimum_effect=minimum_effect,
        mix=mix,
        rules=rules,
        latencies=latencies,
        verdicts=verdicts_from(estimates, baselines, minimum_effect, error),
        comparisons=comparisons,
        choices=tuple((comparison, choose_over_mix(comparison, rules, mix)) for comparison in comparisons),
        spread=spread,
        rounds=rounds,
    )


def check_mix(comparisons: Iterable[SettingComparison], calls: Calls | None) -> None:
    """Check that a mix fits some op.

    Raises:
        BadInput: it fits none.
    """
    measured = [one for one in comparisons if one.seconds]
    called = [one for one in measured if is_called(one, calls)]
    if calls is not None and measured and not called:
        raise BadInput(
            "no dtype of the mix was measured",
            received=", ".join(dict.fromkeys(key[0] for key in calls if isinstance(key, tuple))),
            legal=", ".join(dict.fromkeys(one.setting.dtype for one in measured)),
            hint="fix the dtypes of the mix, or measure them too",
        )
    if called and all(sizes_beyond(one, calls) and not _was_asked_for(one, calls) for one in called):
        _mix(called[0], calls)  # fits nothing, and says so


def is_called(comparison: SettingComparison, calls: Calls | None) -> bool:
    """Does the mix have calls in the dtype of the setting? Without a mix every dtype is called."""
    return calls is None or bool(calls_in(calls, comparison.setting.dtype))


def sizes_beyond(comparison: SettingComparison, calls: Calls | None) -> list[int]:
    """Return the sizes of a mix that lie beyond what the baseline was measured at; they leave the op undecided."""
    low, high = min(comparison.seconds), max(comparison.seconds)
    return [size for size in sorted(calls_in(calls or {}, comparison.setting.dtype)) if not low <= size <= high]


def choose_over_mix(comparison: SettingComparison, rules: Rules, calls: Calls | None) -> tuple[Choice, Mix] | None:
    """Return the choice over the mix, and the mix; None where the baseline has no number at some size of it."""
    if not comparison.seconds or not is_called(comparison, calls) or sizes_beyond(comparison, calls):
        return None
    mix = _mix(comparison, calls)
    rules = replace(rules, must_change=comparison.must_change)
    return choose(comparison.candidates, comparison.contrasts, mix, rules), mix


def _mix(comparison: SettingComparison, calls: Calls | None) -> Mix:
    if calls is None:
        return even_mix(tuple(comparison.seconds))
    called, setting = calls_in(calls, comparison.setting.dtype), comparison.setting
    return calls_mix(called, comparison.seconds, f"{comparison.baseline} for {setting.op}")


def _was_asked_for(comparison: SettingComparison, calls: Calls | None) -> bool:
    low, high = comparison.planned[0], comparison.planned[-1]
    return all(low <= size <= high for size in calls_in(calls or {}, comparison.setting.dtype))


def _ports(run: Run, baselines: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of the cases that are ports and compared with a callback: these shift from run to run."""

    def kind_of(case: str) -> str:
        return run.catalogue.variant(Case.from_id(case).variant).kind

    pairs = ((case, kind_of(case), kind_of(other)) for case, other in baselines.items())
    return frozenset(case for case, kind, of_baseline in pairs if kind == "port" and of_baseline == "callback")


def _check(run: Run, baseline: str, minimum_effect: float) -> None:
    known = sorted({*run.catalogue.variants, run.settings.baseline})
    if baseline not in known:
        raise BadInput(
            "the baseline is not a variant of this run",
            received=baseline,
            legal=", ".join(known),
            hint="name the variant that is your current callback",
        )
    if not 0 <= minimum_effect < 1:
        raise BadInput(
            "the minimum effect is out of range",
            received=minimum_effect,
            legal="0 to below 1; 0.03 is 3%",
            hint="for example --min-effect 0.03",
        )
