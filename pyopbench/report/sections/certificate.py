"""How far the numbers can be trusted: what pyopbench found when it measured itself on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.report.certificate_text import effect_text, made_text, renaming_text
from pyopbench.report.sections import Block, Bullets, Paragraph, Section, Table
from pyopbench.store.certificate import Certificate, Decisions, Pairs
from pyopbench.store.promises import (
    LEAST_EQUIVALENT,
    LEAST_FOUND,
    MOST_FALSE,
    MOST_FALSE_BOUND,
    MOST_LOSS,
    MOST_MEAN_LOSS,
    MOST_OVERHEAD,
    MOST_RENAMED,
    loss_text,
    misses_of,
)

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

COLUMNS = ("what", "found", "promised")
Row = tuple[str, str, str]
RUN_EFFECT = "run effect"
FACTS = {"pyopbench": "version", "commit": "commit", "dirty": "uncommitted changes"}
"""What tells one pyopbench from another, by its name in the environment."""
COMMIT_CHARACTERS = 12
"""So much of a commit names it, in any repository."""


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the figures of the certificate, or that there is none."""
    if judgement.run.cannot:  # what pyopbench's own clock is worth says nothing of another tool's
        return ()
    certificate = judgement.run.certificate
    if certificate is None:
        return _without()
    return (
        Paragraph(made_text(certificate)),
        *_differences(certificate, judgement.run.environment),
        Table(COLUMNS, rows_of(certificate), "pyopbench measured on this machine"),
        *_misses(certificate),
        Paragraph(
            "Bounds are one-sided at 95% (Clopper and Pearson) and treat pairs as independent, although pairs of one "
            "launch share its process. The interval of the run effect counts each run as one observation."
        ),
    )


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the figures of the certificate as items of a list, or that there is none."""
    certificate = judgement.run.certificate
    if judgement.run.cannot or certificate is None:
        return build(judgement)
    told = tuple(
        f"{what}: {found}"
        for what, found, promised in rows_of(certificate)
        if promised != formatting.MISSING or what == RUN_EFFECT
    )
    return (Paragraph(made_text(certificate)), Bullets(told), *_misses(certificate))


def _without() -> Sequence[Block]:
    return (
        Paragraph(
            "This machine was never certified, so the rates of false verdicts and missed slowdowns are unknown. Run "
            "`pyopbench certify`.",
            "warn",
        ),
    )


def rows_of(certificate: Certificate) -> tuple[Row, ...]:
    """Return the figures as rows of `COLUMNS`."""
    identical = certificate.identical
    bound = "" if certificate.quick else f" (upper bound: at most {formatting.percent(MOST_FALSE_BOUND)})"
    shown = formatting.percent(identical.equivalent_share)
    equivalent = f"{_of(identical.equivalent, identical)} ({shown}, at least "
    return (
        (
            "identical, found equivalent",
            f"{equivalent}{formatting.percent(identical.equivalent_bound)})",
            f"at least {formatting.percent(LEAST_EQUIVALENT)}",
        ),
        (
            "identical, found different",
            _share(identical, "at most"),
            f"at most {formatting.percent(MOST_FALSE)}{bound}",
        ),
        *(row for pairs in certificate.injected if pairs.pairs for row in _slowdown(pairs)),
        ("smallest effect resolved", _effect(certificate), formatting.MISSING),
        *(
            (
                f"overhead on {formatting.seconds(one.known_seconds)}",
                formatting.percent(one.share),
                f"at most {formatting.percent(MOST_OVERHEAD)}",
            )
            for one in certificate.overheads
        ),
        ("clock, read twice", _clock(certificate), formatting.MISSING),
        (RUN_EFFECT, effect_text(certificate.run_effect), formatting.MISSING),
        *(_repeated(certificate.decisions, is_held=not certificate.quick) if certificate.decisions else ()),
    )


def _repeated(decisions: Decisions, *, is_held: bool) -> tuple[Row, ...]:
    made = f"{len(decisions.renamed)} of {decisions.decisions}, made {formatting.count(decisions.runs, 'time')}"
    covered = formatting.MISSING if decisions.covered is None else formatting.percent(decisions.covered)
    most = f"at most {formatting.percent(MOST_MEAN_LOSS)} and {formatting.percent(MOST_LOSS)}"
    rows = (
        ("decisions that changed", made, f"at most {formatting.percent(MOST_RENAMED)}"),
        ("cost of wrong answers", loss_text(decisions), most),
        ("answers beyond their bound", f"{decisions.unbounded} of {decisions.decisions * decisions.runs}", "none"),
    )
    return (
        *((what, found, promised if is_held else formatting.MISSING) for what, found, promised in rows),
        ("intervals including other runs", covered, formatting.MISSING),
    )


def _slowdown(pairs: Pairs) -> tuple[Row, ...]:
    least = LEAST_FOUND.get(pairs.percent)
    promised = formatting.MISSING if least is None else f"at least {formatting.percent(least)}"
    wrong = f"{formatting.ratio(pairs.ratio)}; {pairs.faster + pairs.equivalent} faster or equivalent"
    return (
        (f"slowed by {pairs.percent}%, found", _share(pairs, "at least"), promised),
        (f"slowed by {pairs.percent}%, measured", wrong, formatting.MISSING),
    )


def _share(pairs: Pairs, side: str) -> str:
    return f"{_of(pairs.hits, pairs)} ({formatting.percent(pairs.share)}, {side} {formatting.percent(pairs.bound)})"


def _of(n: int, pairs: Pairs) -> str:
    return f"{n:,} of {pairs.pairs:,}"


def _effect(certificate: Certificate) -> str:
    usual, most = map(formatting.smallest_difference, (certificate.effect, certificate.effect_90))
    return f"{usual}; {most} for 9 pairs in 10"


def _clock(certificate: Certificate) -> str:
    return (
        f"{formatting.seconds(certificate.timer_seconds)} ± {formatting.seconds(certificate.timer_error_seconds)}, "
        "taken off"
    )


def _differences(certificate: Certificate, environment: Mapping[str, Any]) -> Sequence[Block]:
    """Say where the certificate is of another pyopbench than the run."""
    theirs = certificate.environment
    differing = [name for name in FACTS if theirs.get(name) != environment.get(name)]
    if not differing and not environment.get("dirty"):
        return ()
    told = formatting.listing(
        [f"{FACTS[name]} {_fact(theirs.get(name))} there, {_fact(environment.get(name))} here" for name in differing]
    )
    what = (
        f"The certificate is of another pyopbench ({told})" if differing else "Both were made with uncommitted changes"
    )
    return (Paragraph(f"{what}; run `pyopbench certify` again for figures of this one.", "warn"),)


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)[:COMMIT_CHARACTERS]


def _misses(certificate: Certificate) -> Sequence[Block]:
    renamed = tuple(map(renaming_text, certificate.decisions.renamed)) if certificate.decisions else ()
    misses = tuple(miss.text() for miss in misses_of(certificate))
    return (
        *((Paragraph("Not as good as promised:", "bad"), Bullets(misses)) if misses else ()),
        *((Paragraph("Decisions that changed from run to run:"), Bullets(renamed)) if renamed else ()),
    )


SECTION = Section("certificate", "How far you can trust these numbers", 47, build, brief)
