"""How near the calls come to what the machine can do at most, and so whether more work can pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.judge.latencies import may_have_bound
from pyopbench.judge.roofline import BRIEF, Bound, Limits, beyond_text, bounded_rows, nearest
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.report.charts.latency import Scene
from pyopbench.report.charts.roofline import LEAST_SHARE, share_chart
from pyopbench.report.charts.style import styles
from pyopbench.report.sections import Block, Cell, Chart, Heading, Paragraph, Section, Table, Tone, _cells
from pyopbench.report.sections._places import Places, by_size, panels_of, places_of, unit_of

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement
    from pyopbench.report.charts.style import Style
    from pyopbench.store.line_types import LimitsLine

ENOUGH_SHARE = 0.8
"""From here on a perfect variant could save a fifth of the time at most."""
OVERHEAD_SECONDS = 20e-6
"""A call of a `tf.function` that does nothing takes at least about that, and several times as much on slow machines."""
GIGA = 1e9

BELOW_CALL = "the call itself costs more than the bound there; --mode node measures the op without it"
NOTHING_TOLD = "No chart, because every measured size is too small"

MEANING = (
    "A forward call takes at least as long as its bytes take at this bandwidth, and as its operations take at this "
    "peak. The longer of the two is its bound (the roofline model); the bound divided by the measured time is its "
    "share. Bytes and operations are what the op declares for a perfect pass. A function such as sinh counts as one "
    "operation though it takes several, so such ops cannot reach 100%."
)


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the machine's limits, what comes nearest to them for each op, and the share of every case."""
    limits = judgement.limits
    if judgement.run.cannot:  # other tools do not measure them
        return ()
    if limits is None and not any(may_have_bound(Case.from_id(key)) for key in judgement.run.cases):
        return ()  # they were not measured, because they would tell nothing
    if limits is None:
        return (Paragraph(_why_none(judgement.run.limits), "warn"),)
    blocks = (Paragraph(_intro(limits)), *_failed(judgement), _bandwidths(limits), _peaks(limits), Paragraph(MEANING))
    if not judgement.bounds:
        return (*blocks, *_without(judgement), Paragraph("No case that was measured has a bound."))
    places = Places(tuple(field for field in places_of(judgement).varying if field == "dtype"))
    by_op: dict[str, list[Bound]] = {}
    for bound in judgement.bounds:
        by_op.setdefault(Case.from_id(bound.case).op, []).append(bound)
    named = [*judgement.latencies["label"], *(Case.from_id(bound.case).variant for bound in judgement.bounds)]
    pinned = styles(judgement.run.catalogue.variants, named)
    pages = (block for op, bounds in by_op.items() for block in _op(judgement, op, bounds, (places, pinned)))
    return (*blocks, *_without(judgement), _nearest(judgement, by_op, places), *pages)


def _why_none(lines: Sequence[LimitsLine]) -> str:
    reason = lines[0].reason if lines else "the run ended before that"
    return f"The limits of the machine could not be measured: {reason}"


def _intro(limits: Limits) -> str:
    return (
        "Limits of this machine, measured with NumPy: the best of several repetitions, the median over "
        f"{formatting.count(limits.launches, 'launch', 'launches')}. Copy is a = b and triad a = b + s c in float32 "
        "(as in STREAM), on all cores or on one, whichever is faster. Arithmetic is the matrix product of NumPy's BLAS."
    )


def _failed(judgement: Judgement) -> Sequence[Block]:
    reasons = [line.reason for line in judgement.run.limits if line.reason]
    if not reasons:
        return ()
    count = formatting.count(len(reasons), "launch", "launches")
    return (Paragraph(f"In {count} this could not be measured: {reasons[0]}", "warn"),)


def _bandwidths(limits: Limits) -> Table:
    rows = tuple(
        (
            _cells.byte_count(one.working_set_bytes),
            *(_cells.byte_count(speed, "/s") for speed in (one.copy, one.triad)),
        )
        for one in limits.bandwidths
    )
    return Table(("moved in one pass", "copy", "triad"), rows, "Bandwidth by working set")


def _peaks(limits: Limits) -> Table:
    rows = tuple(
        (dtype, Cell(f"{formatting.number(peak / GIGA)} Gflop/s", number=peak)) for dtype, peak in limits.peaks.items()
    )
    return Table(("dtype", "matrix product"), rows, "Peak of arithmetic")


def _without(judgement: Judgement) -> Sequence[Block]:
    """Say how many cases have no bound although they are forward calls on the CPU."""
    count = len(bounded_rows(judgement.latencies)) - len(judgement.bounds)
    if count <= 0:
        return ()
    cases = formatting.count(count, "case")
    return (Paragraph(f"For {cases} the bytes and operations of a perfect pass are unknown.", "warn"),)


def _nearest(judgement: Judgement, by_op: Mapping[str, Sequence[Bound]], places: Places) -> Table:
    """Return for each op and dtype, at the largest size measured, the variant that comes nearest its bound."""
    rows: list[tuple[Cell | str, ...]] = []
    for op, bounds in by_op.items():
        for dtype in sorted({Case.from_id(bound.case).dtype for bound in bounds}):
            there = [bound for bound in bounds if Case.from_id(bound.case).dtype == dtype]
            largest = max(Case.from_id(bound.case).size for bound in there)
            best = nearest([bound for bound in there if Case.from_id(bound.case).size == largest])
            rows.append((op, *places.cells(vars(Case.from_id(best.case))), *_told(judgement, best)))
    columns = ("op", *places.varying, "size", "variant", "measured", "bound", "by", "share", "meaning")
    caption = "Closest to the bound, at the largest measured size"
    return Table(columns, tuple(rows), caption, headings=2 + len(places.varying))


def _told(judgement: Judgement, bound: Bound) -> tuple[Cell | str, ...]:
    case = Case.from_id(bound.case)
    return (
        _cells.sized(case.size, unit_of(judgement, case.op)),
        _cells.variant(case.variant),
        _cells.seconds(bound.latency),
        _cells.seconds(bound.seconds),
        bound.limit,
        Cell(percent(bound.share), number=bound.share),
        Cell(*meaning_of(bound)),
    )


def percent(share: float) -> str:
    """Format a share of a bound: `45.3%`, or `< 0.1%`."""
    return f"< {formatting.percent(LEAST_SHARE)}" if share < LEAST_SHARE else formatting.percent(share)


def meaning_of(bound: Bound) -> tuple[str, Tone]:
    """Return in words what a share means for further work, and the tone of it."""
    if bound.seconds < OVERHEAD_SECONDS:
        # How much of the time is the call differs by machine and is not known here; a gain would be made up.
        return (
            "nothing: the call itself costs more than this bound; --mode node measures the op without it",
            "muted",
        )
    if bound.beyond is not None:
        return beyond_text(bound.beyond), "muted"
    if bound.share >= ENOUGH_SHARE:
        return "no variant can be much faster here", "good"
    return f"up to {formatting.ratio(1 / bound.share)} faster is possible", "warn"


def _op(
    judgement: Judgement, op: str, bounds: Sequence[Bound], shown: tuple[Places, Mapping[str, Style]]
) -> Sequence[Block]:
    """Return the chart and the table of an op; no chart where no share tells anything about the op."""
    places, pinned = shown
    labels = dict(zip(judgement.latencies["case"], judgement.latencies["label"], strict=True))
    rows = places.in_panels(_fields(bound, labels) for bound in bounds)
    unit = unit_of(judgement, op)
    table = by_size(rows, places, _share, f"{op}: share of the bound, by {unit}")
    if all(row["bound"].seconds < OVERHEAD_SECONDS for row in rows):
        return (Heading(op, of_op=True), Paragraph(f"{NOTHING_TOLD}: {BELOW_CALL}.", "muted"), table)
    scene = Scene(panels_of(rows, places), judgement.baseline, unit)
    spec = share_chart([_chart_row(row) for row in rows], pinned, scene, OVERHEAD_SECONDS)
    return (Heading(op, of_op=True), Chart(spec, _alt(op, rows, unit)), table)


def _chart_row(row: Mapping[str, Any]) -> dict[str, Any]:
    bound: Bound = row["bound"]
    told = {"share": bound.share, "seconds": bound.latency, "bound": bound.seconds, "limit": bound.limit}
    return {**{key: row[key] for key in ("panel", "label", "size")}, **told}


def _alt(op: str, rows: Sequence[Mapping[str, Any]], unit: str) -> str:
    """Say what the chart shows: both ends where sizes are largest, and where the share tells nothing."""
    panel, largest = rows[0]["panel"], max(row["size"] for row in rows if row["panel"] == rows[0]["panel"])
    there = [row for row in rows if row["panel"] == panel and row["size"] == largest]
    ends = [end(there, key=lambda row: row["bound"].share) for end in (max, min)]
    near, far = (f"{end['label']}" for end in ends)
    shares = [_share_told(end["bound"]) for end in ends]
    muted = [row["size"] for row in rows if row["bound"].seconds < OVERHEAD_SECONDS]
    below = f" Sizes up to {formatting.sized(max(muted), unit)} are shaded or left out: {BELOW_CALL}." if muted else ""
    return (
        f"Share of the bound that {op} reaches; 100% is as fast as the machine can be. "
        f"{panel.capitalize()} at {formatting.sized(largest, unit)}: {near} is closest with {shares[0]}, {far} "
        f"farthest with {shares[1]}.{below}"
    )


def _share_told(bound: Bound) -> str:
    """Return a share with a word on why it is above 100%, where it is."""
    shown = percent(bound.share)
    return shown if bound.beyond is None else f"{shown} ({BRIEF[bound.beyond]})"


def _share(row: Mapping[str, Any]) -> Cell:
    bound: Bound = row["bound"]
    tone: Tone = "muted" if bound.seconds < OVERHEAD_SECONDS else ""
    why = "" if bound.beyond is None else BRIEF[bound.beyond]
    return Cell(f"{percent(bound.share)} {bound.limit}", tone, why, number=bound.share)


def _fields(bound: Bound, labels: Mapping[str, str]) -> dict[str, Any]:
    case = Case.from_id(bound.case)
    fields = {name: getattr(case, name) for name in ("direction", "mode", "dtype", "placement", "size")}
    return {**fields, "label": labels.get(bound.case, case.variant), "bound": bound}


SECTION = Section("limits", "How close to the machine's limits", 38, build)
