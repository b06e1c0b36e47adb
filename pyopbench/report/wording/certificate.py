"""What a certificate found, and what of it is not as good as promised, in words."""

from __future__ import annotations

from pyopbench.judge.answer import Answer
from pyopbench.model import formatting
from pyopbench.report.wording.decisions import answer_text
from pyopbench.store.certificate import Certificate, Decisions, Pairs, Renamed, RunEffect
from pyopbench.store.promises import (
    BoundsTooTight,
    LosesTooMuch,
    MayBeToldApart,
    Miss,
    NotShownEquivalent,
    SlowdownMissed,
    ToldApart,
    TooCostly,
    TooManyRenamed,
    Undone,
)

AFTER_MISSES = "stop other work and certify again; until then, each report on this machine says what was missed"
"""What to do about promises that were not kept."""


def miss_text(miss: Miss) -> str:
    """Return what was found, and what is promised."""
    match miss:
        case ToldApart(pairs, most):
            return f"{_told_apart(pairs)}, {formatting.percent(pairs.share)}; {_at_most(most)}"
        case MayBeToldApart(pairs, most):
            return f"{_told_apart(pairs)}: up to {formatting.percent(pairs.bound)}; {_at_most(most)}"
        case NotShownEquivalent(pairs, least):
            found = f"{pairs.equivalent} of {formatting.count(pairs.pairs, 'identical pair')} were found equivalent"
            return f"{found}, {formatting.percent(pairs.equivalent_share)}; {_at_least(least)}"
        case SlowdownMissed(pairs, least):
            found = f"{pairs.hits} of {pairs.pairs} slowdowns by {pairs.percent}% were found"
            return f"{found}, {formatting.percent(pairs.share)}; {_at_least(least)}"
        case TooCostly(overhead, most):
            call = formatting.seconds(overhead.known_seconds)
            return f"timing adds {formatting.percent(overhead.share)} to a call of {call}; {_at_most(most)}"
        case TooManyRenamed(decisions, most):
            return f"{renamed_text(decisions)}; {_at_most(most)}"
        case LosesTooMuch(decisions, most_mean, most):
            promised = f"{formatting.percent(most_mean)} and {formatting.percent(most)}"
            return f"answers cost {loss_text(decisions)}; promised: at most {promised}"
        case BoundsTooTight(decisions):
            beyond = formatting.count(decisions.unbounded, "answer")
            return f"{beyond} cost more than the run's own bound, judged by the other runs; promised: none"
        case Undone(runs):
            return f"there was no time left for {formatting.listing(runs)}"


def renamed_text(decisions: Decisions) -> str:
    """Return how many decisions have answers that differ."""
    return f"{len(decisions.renamed)} of {formatting.count(decisions.decisions, 'decision')} changed from run to run"


def loss_text(decisions: Decisions) -> str:
    """Return what answers cost more than the best, on average and at the most."""
    mean, worst = formatting.percent(decisions.mean_loss), decisions.worst
    if worst is None:
        return f"{mean} of the callback's time on average"
    where = f"{worst.op}, {worst.use}"
    return f"{mean} of the callback's time on average, at most {formatting.percent(worst.share)} ({where})"


def renaming_text(renamed: Renamed) -> str:
    """Return a decision with the answer of each run."""
    answers = [answer_text(Answer(one.action, one.label)) for one in renamed.answers]  # type: ignore[arg-type]
    return f"{renamed.op}, {renamed.use}: {', then '.join(answers)}"


def effect_text(effect: RunEffect | None) -> str:
    """Return what ports shift by from run to run, with its interval, and what intervals allow for."""
    if effect is None:
        return "not known; intervals allow for the usual value"
    ends = f"{formatting.percent(effect.low)} to {formatting.percent(effect.high)}"
    return f"{formatting.percent(effect.deviation)} ({ends}); intervals allow for {formatting.percent(effect.allowed)}"


def made_text(certificate: Certificate) -> str:
    """Return when a certificate was made, and from what."""
    runs, jobs = certificate.controls, certificate.decisions
    cut = sum(one.ended == "budget" for one in runs)
    ended = f", {cut} of them cut short by their budget" if cut else ""
    launches = "no"
    if runs:
        made = [one.launches for one in runs]
        launches = f"{formatting.size_range(min(made), max(made))} of at most {max(one.most for one in runs)}"
    repeated = "The decisions were not repeated"
    if jobs is not None:
        what = "The decisions of a few ops" if certificate.quick else "All decisions"
        repeated = f"{what} were made {formatting.count(jobs.runs, 'time')}, and each run was judged by the others"
    return (
        f"Certified on {formatting.moment(certificate.created)} in {formatting.duration(certificate.seconds)}, "
        f"{'from few pairs' if certificate.quick else 'in full'}: {formatting.count(len(runs), 'run')} of controls "
        f"(code whose answer is known) in mode {certificate.mode}, {launches} launches each{ended}. Variants were "
        "compared with copies of themselves, and callbacks with copies slowed down by a known amount. A difference "
        f"counts from {formatting.percent(certificate.minimum_effect)} of the callback's time. {repeated}."
    )


def _told_apart(pairs: Pairs) -> str:
    return f"{pairs.hits} of {formatting.count(pairs.pairs, 'identical pair')} were found different"


def _at_most(most: float) -> str:
    return f"promised: at most {formatting.percent(most)}"


def _at_least(least: float) -> str:
    return f"promised: at least {formatting.percent(least)}"
