"""What a run has measured, compared: latencies, verdicts, and the choice in each setting.

That is all that says what is worth measuring on (`stopping`), and the start of a judgement (`decide`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge import requirements
from pyopbench.judge.candidates import Comparison, compare, settings_of
from pyopbench.judge.choice import Choice, Rules
from pyopbench.judge.decision import Verdict
from pyopbench.judge.latencies import baseline_of, checked_frame, latency_table, usual_gradients
from pyopbench.judge.measured import Measured
from pyopbench.judge.mix import Mix
from pyopbench.judge.pairs import shares_of_pairs
from pyopbench.judge.rulebook import Rulebook, choose_over_mix, rulebook_of
from pyopbench.judge.verdicts import SHARES, estimates_of, shares_of, verdicts_from
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.stats import costs, estimate, launch_model
from pyopbench.stats.corrections import Looks
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.launch_model import RUN_EFFECT, LaunchModel
from pyopbench.stats.node_graphs import surcharges
from pyopbench.store.certificate import certified_run_effect
from pyopbench.store.mix_file import Calls

if TYPE_CHECKING:
    from pyopbench.store.run import Run

TEXTS_OF_UNIT = ("tool", "run")
"""Columns of `estimate.UNIT` that hold text. It is told apart once and for all: each look at a million texts takes as
long as what is then done with them."""


@dataclass(frozen=True, eq=False)
class Compared:
    """What was compared in a run.

    Attributes:
        run: what was judged.
        baseline: the current callback, a variant.
        minimum_effect: a share of the baseline's time that is worth acting on.
        mix: size -> how often it is called; None for shares that are even over the log of the size.
        latencies: one row per measured case, as `latencies.latency_table`; without cases that were found wrong.
        verdicts: in the order of `latencies`; none where only choices are asked for.
        estimates: what each verdict is made from.
        comparisons: of each setting that there is to decide in, ops in the order of the catalogue.
        rulebook: what all decisions have in common.
        model: what launches were seen to differ by.
    """

    run: Run
    baseline: str
    minimum_effect: float
    mix: Calls | None
    latencies: pd.DataFrame
    verdicts: tuple[Verdict, ...]
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    rulebook: Rulebook
    model: LaunchModel

    @cached_property
    def choices(self) -> tuple[tuple[Comparison, tuple[Choice, Mix] | None], ...]:
        """Each comparison with its choice over the mix, as `choose_over_mix` makes it."""
        return tuple((comparison, choose_over_mix(comparison, self.rulebook)) for comparison in self.comparisons)

    @property
    def level(self) -> float:
        """The level of an interval that is corrected for all verdicts and looks in a single step."""
        return 1 - self.rulebook.rules.looks.share(estimate.FAMILY_ERROR, max(len(self.estimates), 1))


def compared(  # noqa: PLR0913 - as `decide.judge`
    run: Run,
    baseline: str,
    minimum_effect: float,
    mix: Calls | None = None,
    requires: Sequence[str] = (),
    looks: Looks | None = None,
    *,
    with_verdicts: bool = True,
) -> Compared:
    """Return what was compared in a run; the arguments are those of `decide.judge`.

    Two are others: `looks`, those at the data that are charged, None for those that the run held; and `with_verdicts`,
    whether more than the choices is asked for.

    Raises:
        BadInput: the baseline is no variant of the run, the minimum effect is out of range, or the mix fits no
            op that was measured.
    """
    _check(run, baseline, minimum_effect)
    frame = checked_frame(run).astype(dict.fromkeys(("case", *TEXTS_OF_UNIT), "category"))
    found = costs.round_costs(frame, estimate.UNIT)
    latencies = latency_table(frame, run.catalogue, run.hosts, found, baseline)
    pairs = run.settings.pairs
    today = baseline_of(latencies, baseline, usual_gradients(run.catalogue, baseline))
    baselines = baseline_of(latencies, baseline, (), pairs) if pairs else today
    ratios = costs.ratios(found, baselines, estimate.UNIT)
    looks = looks or Looks.of(len(run.looks))
    ports = () if pairs else _ports(run, baselines)
    shares = (
        shares_of_pairs(found, baselines, today, run.hosts)
        if pairs
        else shares_of(costs.launch_medians(ratios, "ratio", estimate.UNIT), run.hosts)
    )
    model = launch_model.fit(list(shares.values()), run_effect_for(run))
    estimates = estimates_of(shares, baselines, ports, model, max(frame["run"].nunique(), 1))
    # Where variants are compared in pairs of their own, there is no current callback to decide about.
    settings = () if pairs else settings_of(run)
    measured = Measured(run, latencies, ratios, model, surcharges(frame, estimate.UNIT))
    wide = (compare(setting, measured, baseline) for setting in settings)
    comparisons = tuple(requirements.narrow(comparison, run, requires) for comparison in wide)
    return Compared(
        run=run,
        baseline=baseline,
        minimum_effect=minimum_effect,
        mix=mix,
        latencies=latencies,
        verdicts=verdicts_from(estimates, baselines, minimum_effect, looks, SHARES) if with_verdicts else (),
        estimates=tuple(estimates),
        comparisons=comparisons,
        rulebook=rulebook_of(comparisons, Rules(minimum_effect, looks=looks), mix),
        model=model,
    )


def run_effect_for(run: Run) -> float:
    """Return what ports shift by from run to run: by the certificate of the run's machine, else what is usual."""
    certified = certified_run_effect(run.certificate)
    return RUN_EFFECT if certified is None else certified


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
