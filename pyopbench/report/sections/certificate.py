"""How far the numbers can be trusted: what pyopbench found when it measured itself on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.core import formatting
from pyopbench.report.sections import Block, Bullets, Paragraph, Section, Table
from pyopbench.report.wording.certificate import miss_text
from pyopbench.results.certificate import (
    LEAST_FOUND,
    MOST_FALSE,
    MOST_FALSE_BOUND,
    MOST_OVERHEAD,
    Certificate,
    Pairs,
    from_dict,
)

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement

COLUMNS = ("what", "found", "promised")
Row = tuple[str, str, str]
FACTS = {"pyopbench": "version", "commit": "commit", "dirty": "uncommitted changes"}
"""What tells one pyopbench from another, by its name in the environment."""
COMMIT_CHARACTERS = 12
"""So much of a commit names it, in any repository."""


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the figures of the certificate, or that there is none."""
    stored = judgement.run.certificate
    if judgement.run.cannot:  # what pyopbench's own clock is worth says nothing of another tool's
        return ()
    if stored is None:
        return (
            Paragraph(
                "This machine was never certified, so how often a verdict here is false or a slowdown missed is not "
                "known: run `pyopbench certify`.",
                "warn",
            ),
        )
    certificate = from_dict(stored)
    return (
        Paragraph(_made(certificate)),
        *_differences(certificate, judgement.run.environment),
        Table(COLUMNS, rows_of(certificate), "What pyopbench found when it measured itself on this machine"),
        *_misses(certificate),
        Paragraph(
            "Bounds are one-sided, at 95% (Clopper and Pearson), and count every pair as independent of the others, "
            "although the pairs of one launch share its process."
        ),
    )


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the figures of the certificate in a sentence each, or that there is none."""
    if judgement.run.cannot or judgement.run.certificate is None:
        return build(judgement)
    certificate = from_dict(judgement.run.certificate)
    told = "; ".join(
        f"{what}: {found}" for what, found, promised in rows_of(certificate) if promised != formatting.MISSING
    )
    return (Paragraph(f"{_made(certificate)} {told}."), *_misses(certificate))


def rows_of(certificate: Certificate) -> tuple[Row, ...]:
    """Return the figures as rows of `COLUMNS`."""
    identical = certificate.identical
    bound = "" if certificate.quick else f", bound {formatting.percent(MOST_FALSE_BOUND)}"
    open_pairs = f"{_of(identical.unresolved, identical)}; {_of(identical.equivalent, identical)} equivalent"
    return (
        ("identical, told apart", _share(identical, "at most"), f"at most {formatting.percent(MOST_FALSE)}{bound}"),
        ("identical, unresolved", open_pairs, formatting.MISSING),
        *(row for pairs in certificate.injected for row in _slowdown(pairs)),
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
        ("decisions that moved", _moved(certificate), formatting.MISSING),
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
    return f"{usual}; for 9 pairs in 10 {most}"


def _clock(certificate: Certificate) -> str:
    return (
        f"{formatting.seconds(certificate.timer_seconds)} ± {formatting.seconds(certificate.timer_error_seconds)}, "
        "taken off"
    )


def _moved(certificate: Certificate) -> str:
    return (
        f"{len(certificate.moved)} of {certificate.decisions}, made "
        f"{formatting.count(certificate.decision_runs, 'time')}"
    )


def _made(certificate: Certificate) -> str:
    how = "quick settings" if certificate.quick else "the settings of a full run"
    launches = (
        formatting.size_range(min(certificate.launches), max(certificate.launches)) if certificate.launches else "no"
    )
    effect = formatting.percent(certificate.minimum_effect)
    return (
        f"Certified on {formatting.moment(certificate.created)} in {formatting.duration(certificate.seconds)} with "
        f"{how}, in "
        f"{formatting.count(len(certificate.launches), 'run')} of {launches} launches each and held against a "
        "minimum effect "
        f"of {effect}. Variants were compared with copies of themselves, and with copies that were slowed down by a "
        "known share; each case of each run counts once."
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
    what = f"The certificate is of another pyopbench ({told})" if differing else "Both are of a checkout with changes"
    return (Paragraph(f"{what}: run `pyopbench certify` again for figures of this one.", "warn"),)


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)[:COMMIT_CHARACTERS]


def _misses(certificate: Certificate) -> Sequence[Block]:
    moved = tuple(f"{one.op}, {one.use}: {formatting.listing(one.answers, 'then')}" for one in certificate.moved)
    misses = tuple(map(miss_text, certificate.misses()))
    return (
        *((Paragraph("Not as good as promised:", "bad"), Bullets(misses)) if misses else ()),
        *((Paragraph("Decisions that did not come out alike:"), Bullets(moved)) if moved else ()),
    )


SECTION = Section("certificate", "How far these numbers can be trusted", 47, build, brief)
