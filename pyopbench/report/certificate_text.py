"""What a certificate found, and what of it is not as good as promised, in words."""

from __future__ import annotations

from pyopbench.judge.findings import Answer
from pyopbench.model import formatting
from pyopbench.store.certificate import Certificate, Renamed, RunEffect

AFTER_MISSES = "stop other work and certify again; until then, each report on this machine says what was missed"
"""What to do about promises that were not kept."""


def renaming_text(renamed: Renamed) -> str:
    """Return a decision with the answer of each run."""
    answers = [Answer(one.action, one.label).text() for one in renamed.answers]  # type: ignore[arg-type]
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
