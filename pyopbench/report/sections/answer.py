"""The answers in plain words: what to do with each op, what it saves, and where it should run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pyopbench.judge.decision import TWO_SCOPES, standing_text, summary_text
from pyopbench.judge.devices import DeviceComparison, DeviceSummary, summaries_of
from pyopbench.judge.evidence import notes_of
from pyopbench.judge.latencies import WhyNone, holes_of, without_number_text
from pyopbench.judge.ports import port_commands
from pyopbench.model import formatting
from pyopbench.report.charts.gains import gain_chart
from pyopbench.report.sections import Block, Bullets, Cell, Chart, Heading, Paragraph, Table, Tone
from pyopbench.report.sections.places import Places, is_per_call, places_of, saves, unit_of

if TYPE_CHECKING:
    from pyopbench.judge.decision import Decision
    from pyopbench.judge.judge import Judgement

Rows: TypeAlias = tuple[tuple[Cell | str, ...], ...]
TONES: dict[str, Tone] = {"port": "good", "switch": "good", "keep": "", "undecided": "warn"}
DEVICE_TONES: dict[str | None, Tone] = {"cpu": "", "gpu": "good", None: "warn"}
INFERENCE = "inference"
USES = (INFERENCE, "training")
MOST_FEW = 8
"""Decisions up to so many, those on four ops, have a row each; more have a row for each op."""
ON_DEVICES = (
    "The fastest variant on the CPU is compared with the fastest on the GPU. The two devices are measured by "
    "different processes that take turns. Inputs and results are on the device that the op runs on: copies are not "
    "included, except those of callbacks, whose Python runs on the host. On the GPU each call "
    "includes the wait until it is done."
)


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the answers, what they gain, and the evidence for each op."""
    if not judgement.decisions:
        return _head(judgement)
    places = places_of(judgement)
    ops = dict.fromkeys(one.op for one in judgement.decisions)
    summaries = summaries_of(judgement.devices)
    pages = (block for op in ops for block in _page(judgement, op, summaries, places))
    devices = (Paragraph(ON_DEVICES), _device_answers(summaries)) if summaries else ()
    notes = _bullets(_notes(judgement))
    return (*_head(judgement), answers(judgement), *_gains(judgement, places), *notes, *devices, *pages)


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the answers, and what to know about them."""
    if not judgement.decisions:
        return _head(judgement)
    summaries = summaries_of(judgement.devices)
    devices = (_device_answers(summaries),) if summaries else ()
    notes = _bullets([*_notes(judgement), _holes(judgement)])
    return (*_head(judgement), answers(judgement), *devices, *notes)


def _head(judgement: Judgement) -> tuple[Block, ...]:
    """Return the answer in a sentence; of results of another tool their limitations come first."""
    run = judgement.run
    limits = tuple(one.text() for one in run.cannot)
    head: list[Block] = []
    if limits:
        head += [Paragraph(f"These are results of {run.tool}. Their limitations:", "warn"), Bullets(limits)]
    if judgement.decisions:
        actions = [one.action for one in judgement.decisions]
        ops = len({one.op for one in judgement.decisions})
        head.append(Paragraph(summary_text(actions, ops, judgement.baseline)))
    elif run.pipeline is None:  # which has an answer of its own
        head.append(Paragraph("There is no decision: no variant was measured together with the callback.", "warn"))
    return (*head, *(Paragraph(f"Warning: {one.text()}", "warn") for one in run.warnings))


def answers(judgement: Judgement) -> Table:
    """Return the answers for 80 columns: a row for each of few, a row for each op of many."""
    places = places_of(judgement)
    if len(judgement.decisions) <= MOST_FEW:
        few = tuple(
            (Cell(one.op, op=one.op), one.use, *places.of(one), answer_of(one), saves(one), _one_op(one, ends=1))
            for one in judgement.decisions
        )
        columns = ("op", "use", *places.varying, "answer", "saves", "one op")
        return Table(columns, few, "Answers", headings=2 + len(places.varying))
    uses = [use for use in USES if any(one.use == use for one in judgement.decisions)]
    by_row: dict[tuple[str, ...], dict[str, Decision]] = {}
    for one in judgement.decisions:
        by_row.setdefault((one.op, *places.of(one)), {})[one.use] = one
    rows = tuple(
        (Cell(op, op=op), *where, *(cell for use in uses for cell in _cells(mine.get(use))))
        for (op, *where), mine in by_row.items()
    )
    columns = ("op", *places.varying, *(name for use in uses for name in (use, "saves")))
    caption = "Answers, and how much of the callback's time they save at least"
    return Table(columns, rows, caption, headings=1 + len(places.varying))


def answer_of(decision: Decision) -> Cell:
    """Return what to do."""
    return Cell(decision.answer.text(), TONES[decision.action])


def _cells(decision: Decision | None) -> tuple[Cell | str, str]:
    if decision is None:
        return formatting.MISSING, formatting.MISSING
    low = formatting.points_saved(None if decision.choice is None else decision.saved_low)
    return answer_of(decision), low if low == formatting.MISSING else f"≥ {low}"


def _one_op(decision: Decision, ends: int) -> str:
    """Return what one op costs before and after at the smallest size, and with two `ends` at the largest too."""
    if decision.choice is None or not decision.seconds or not is_per_call(decision.mode):
        return formatting.MISSING
    shown = dict.fromkeys((decision.seconds[0], decision.seconds[-1])) if ends > 1 else decision.seconds[:1]
    texts = []
    for one in shown:
        after = formatting.TOO_NOISY if one.after_too_noisy else formatting.seconds(one.after and max(one.after, 0.0))
        change = f"{formatting.seconds(one.today)} → {after}"
        texts.append(f"{change} at {formatting.size(one.size)}" if ends > 1 else change)
    return ", ".join(texts)


def _bullets(notes: Sequence[str]) -> Sequence[Block]:
    return (Bullets(tuple(filter(None, notes))),) if any(notes) else ()


def _holes(judgement: Judgement) -> str:
    measured = set(judgement.latencies["case"])
    cases: dict[WhyNone, set[str]] = {}
    for hole in holes_of(judgement.run, measured):
        cases.setdefault(hole.status, set()).update(set(hole.cases) - measured)
    counts = {status: len(ids) for status, ids in cases.items() if ids}
    return without_number_text(counts) if counts else ""


def _notes(judgement: Judgement) -> list[str]:
    """Return what else to know about the answers: which ones of few, how many of many; controls and noise."""
    many = len(judgement.decisions) > MOST_FEW
    notes = [standing_text(judgement.decisions)] if many else _notes_of_few(judgement)
    notes += port_commands(judgement)
    notes += [
        judgement.controls.text() if judgement.controls.differing else "",
        judgement.machine.warning_text(),
    ]
    return notes


def _notes_of_few(judgement: Judgement) -> list[str]:
    places = places_of(judgement)
    holds_for: dict[str, list[str]] = {}
    for decision in judgement.decisions:
        name = " ".join((decision.op, decision.use, *places.of(decision)))
        bound = decision.loss_text() if decision.is_provisional else decision.as_good_text()
        for note in filter(None, (*notes_of(decision, judgement.run), bound)):
            holds_for.setdefault(note, []).append(name)
    for share in judgement.body_shares:
        holds_for.setdefault(share.text(), []).append(" ".join((share.op, *places.of(share))))
    scopes = any(one.choice is not None and len(one.seconds) > 1 for one in judgement.decisions)
    return [TWO_SCOPES if scopes else "", *(f"{note}: {', '.join(names)}" for note, names in holds_for.items())]


def _gains(judgement: Judgement, places: Places) -> Sequence[Block]:
    """Return the chart of the gains, one panel for each place."""
    known = [one for one in judgement.decisions if one.saved is not None]
    if not known:
        return ()
    rows: list[dict[str, Any]] = [
        {
            **{name: getattr(one, name) for name in ("op", "use", "action", "saved")},
            "panel": " · ".join(places.of(one)),
            "low": math.nan if one.saved_low is None else one.saved_low,
            "high": math.nan if one.saved_high is None else one.saved_high,
        }
        for one in known
    ]
    sure = [one for one in known if one.choice is not None and (one.saved_low or 0.0) > 0]
    best = max(sure, key=lambda one: one.saved_low or 0.0, default=None)
    text = "None is certain to save time."
    if best is not None:
        text = f"The largest certain saving is {saves(best)}: {best.op} for {best.use}, {best.answer.text()}."
    alt = f"Share of the callback's time that each answer or the best variant saves, with its 95% interval. {text}"
    return (Chart(gain_chart(rows, judgement.minimum_effect), alt),)


def _page(judgement: Judgement, op: str, summaries: Sequence[DeviceSummary], places: Places) -> Sequence[Block]:
    decisions = [one for one in judgement.decisions if one.op == op]
    texts = (
        f"{' '.join((one.use, *places.of(one)))}: {one.answer.text()}"
        + (f", saves {saves(one)}" if one.choice is not None else "")
        + (", provisional" if one.is_provisional else "")
        for one in decisions
    )
    mine = [one for one in summaries if one.op == op]
    return (
        Heading(op, " · ".join(texts)),
        _evidence(op, decisions, places),
        *_by_size(decisions, places, unit_of(judgement, op)),
        *((_device_times(op, mine, unit_of(judgement, op)),) if mine else ()),
    )


def _evidence(op: str, decisions: Sequence[Decision], places: Places) -> Table:
    rows: Rows = tuple(
        (one.use, *places.of(one), answer_of(one), saves(one), _one_op(one, ends=2), one.why()) for one in decisions
    )
    columns = ("use", *places.varying, "answer", "saves", "one op", "why")
    return Table(columns, rows, f"{op}: the evidence", headings=1 + len(places.varying))


def _by_size(decisions: Sequence[Decision], places: Places, unit: str) -> Sequence[Block]:
    """Return the answers by size where they differ."""
    rows: Rows = tuple(
        (
            one.use,
            *places.of(one),
            formatting.sized(sizes.low, unit, sizes.high),
            sizes.answer.text(),
            formatting.saved_at_least(sizes.saved, sizes.saved_low),
        )
        for one in decisions
        if len(one.ranges) > 1
        for sizes in one.ranges
    )
    columns = ("use", *places.varying, "sizes", "answer", "saves")
    caption = f"{decisions[0].op}: where the answer depends on the size"
    return (Table(columns, rows, caption, headings=1 + len(places.varying)),) if rows else ()


def _device_answers(summaries: Sequence[DeviceSummary]) -> Table:
    """Return a row for each op and setting that was measured on the CPU and on a GPU."""
    varying = [name for name in ("mode", "dtype") if len({getattr(one, name) for one in summaries}) > 1]
    rows = tuple(
        (
            Cell(one.op, op=one.op),
            formatting.direction(one.direction),
            *(getattr(one, name) for name in varying),
            one.devices_text(),
            one.ratios_text(),
        )
        for one in summaries
    )
    columns = ("op", "direction", *varying, "run it on", "GPU / CPU")
    return Table(columns, rows, "Where each op should run", headings=2 + len(varying))


def _device_times(op: str, summaries: Sequence[DeviceSummary], unit: str) -> Table:
    columns = ("direction", "mode", "dtype", unit, "fastest on CPU", "fastest on GPU", "GPU / CPU", "run on")
    rows = tuple(_device_row(one) for summary in summaries for one in summary.sizes)
    return Table(columns, rows, f"{op}: time per call on each device, and where to run it", folded=True, headings=4)


def _device_row(one: DeviceComparison) -> tuple[Cell | str, ...]:
    return (
        formatting.direction(one.direction),
        one.mode,
        one.dtype,
        formatting.size(one.size),
        *(f"{there.label} {formatting.seconds(there.seconds)}" for there in (one.cpu, one.gpu)),
        formatting.ratio_interval(one.ratio, one.low, one.high),
        Cell(one.device or "unclear", DEVICE_TONES[one.device]),
    )
