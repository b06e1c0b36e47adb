"""Where each op should run, and how much time that saves; only for a run on the CPU and on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.devices import DeviceComparison, DeviceSummary, OnDevice, summaries_of
from pyopbench.model import formatting
from pyopbench.report.sections import Block, Bullets, Cell, Heading, Paragraph, Section, Table, Tone
from pyopbench.report.sections._places import unit_of

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

INTRO = (
    "The fastest variant on the CPU is compared with the fastest on the GPU, in mode {modes}. Different processes "
    "measure the two devices, in turns, so each ratio compares two medians over launches that were measured "
    "separately. Its interval is corrected for {many} and for interim analyses. A difference is clear if it is above "
    "{effect} and the interval excludes 1."
)
WITHOUT_COPIES = (
    "Inputs and results are on the device that the op runs on. Copies between host and device are not included, except "
    "those of callbacks, whose Python always runs on the host. On the GPU each call includes the wait until it is done."
)
TONES: dict[str | None, Tone] = {"cpu": "", "gpu": "good", None: "warn"}


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op where to run it, and a row for each direction and size."""
    summaries = summaries_of(judgement.devices)
    if not summaries:
        return ()
    fields = varying(judgement)
    blocks: list[Block] = [*_intro(judgement)]
    for op in dict.fromkeys(one.op for one in summaries):
        mine = [one for one in summaries if one.op == op]
        texts = tuple(_text(one, fields, with_op=False) for one in mine)
        blocks += [Heading(op, of_op=True), Bullets(texts), _table(op, mine, fields, unit_of(judgement, op))]
    return blocks


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return where to run each op."""
    if not judgement.devices:
        return ()
    fields = varying(judgement)
    texts = tuple(_text(one, fields, with_op=True) for one in summaries_of(judgement.devices))
    return (*_intro(judgement), Bullets(texts))


def varying(judgement: Judgement) -> tuple[str, ...]:
    """Return which of mode and dtype differ between comparisons, so that they have to be shown."""
    return tuple(field for field in ("mode", "dtype") if len({getattr(one, field) for one in judgement.devices}) > 1)


def _intro(judgement: Judgement) -> Sequence[Block]:
    intro = INTRO.format(
        modes=formatting.listing(sorted({one.mode for one in judgement.devices})),
        many=formatting.count(len(judgement.devices), "comparison"),
        effect=formatting.percent(judgement.minimum_effect),
    )
    return (Paragraph(intro), Paragraph(WITHOUT_COPIES))


def _text(one: DeviceSummary, fields: Sequence[str], *, with_op: bool) -> str:
    op = [one.op] if with_op else []
    where = [*op, formatting.direction(one.direction), *(getattr(one, name) for name in fields)]
    return f"{', '.join(where)}: {one.devices_text()}. The GPU takes {one.ratios_text()} the time of the CPU."


def _table(op: str, summaries: Sequence[DeviceSummary], fields: Sequence[str], unit: str) -> Table:
    rows = tuple(_row(one, fields) for summary in summaries for one in summary.sizes)
    columns = (
        *("direction", *fields, unit, "callback on CPU", "callback on GPU"),
        *("fastest on CPU", "time", "fastest on GPU", "time", "GPU / CPU", "run on"),
    )
    caption = f"{op}: time per call on each device, and where to run it"
    return Table(columns, rows, caption, folded=True, headings=2 + len(fields))


def _row(one: DeviceComparison, fields: Sequence[str]) -> tuple[Cell | str, ...]:
    return (
        formatting.direction(one.direction),
        *(getattr(one, name) for name in fields),
        formatting.size(one.size),
        formatting.seconds(one.cpu.callback_seconds),
        formatting.seconds(one.gpu.callback_seconds),
        *_fastest(one.cpu),
        *_fastest(one.gpu),
        formatting.ratio_interval(one.ratio, one.low, one.high),
        Cell(one.device or "unclear", TONES[one.device]),
    )


def _fastest(there: OnDevice) -> tuple[str, str]:
    return there.label, formatting.seconds(there.seconds)


SECTION = Section("devices", "Where each op should run", 14, build, brief)
