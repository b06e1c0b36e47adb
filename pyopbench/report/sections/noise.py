"""How quiet the machine was, launch by launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.noise import FAR_DEVIATIONS, LARGE_FAR, LARGE_STEAL
from pyopbench.model import formatting
from pyopbench.report.sections import Block, Cell, Paragraph, Section, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement
    from pyopbench.judge.noise import Disturbance, LaunchNoise

MOST_ROWS = 12
"""A longer table is folded."""


def build(judgement: Judgement) -> Sequence[Block]:
    """Return what launches differ by, whether that is little enough, and what went on during each of them."""
    disturbance = judgement.disturbance
    if judgement.run.cannot:  # other tools do not record what else went on
        return ()
    spread = Paragraph(_spread(disturbance), "warn" if disturbance.too_noisy else "")
    said = judgement.twins.text()
    told = (spread, *((Paragraph(said, "warn" if judgement.twins.told_apart else ""),) if said else ()))
    if not disturbance.launches:
        return told
    cores = judgement.run.environment.get("cores") or 1
    return (*told, Paragraph(_seen(disturbance.launches, cores)), _table(disturbance.launches, cores))


def _spread(disturbance: Disturbance) -> str:
    if disturbance.too_noisy:
        return disturbance.warning_text()
    if disturbance.smallest_effect is None:
        return "How much launches differ is unknown, because no comparison has two of them."
    told = f"{disturbance.spread_text()} The minimum effect is {formatting.percent(disturbance.minimum_effect)}."
    if disturbance.smallest_effect <= disturbance.minimum_effect:
        return told
    return f"{told} Every verdict is resolved all the same."


def _seen(launches: Sequence[LaunchNoise], cores: int) -> str:
    """Say how many launches were disturbed, and what is done about it."""
    far = [launch.far_share for launch in launches if launch.far_share is not None]
    stolen = [launch.steal_share for launch in launches if launch.steal_share is not None]
    blocks = (
        f"On average {formatting.percent(sum(far) / len(far))} of the timed blocks are outliers, more than "
        f"{FAR_DEVIATIONS:g} robust standard deviations above the median of their launch."
        if far
        else "No case has enough blocks in one launch to find outliers."
    )
    many = (
        f"In {sum(share > LARGE_STEAL for share in stolen):,} of "
        f"{formatting.count(len(stolen), 'launch', 'launches')} other virtual machines took more than "
        f"{formatting.percent(LARGE_STEAL)} of the processors."
        if stolen
        else "This system does not report what other virtual machines take."
    )
    busy = sum((launch.load or 0.0) > cores for launch in launches)
    other = f" In {busy:,} the load was above the {cores:,} cores, so other work was running." if busy else ""
    return (
        f"{blocks} {many}{other} Nothing is dropped: medians over rounds give outliers little weight, and intervals "
        "include the differences between launches."
    )


def _table(launches: Sequence[LaunchNoise], cores: int) -> Table:
    columns = ("launch", "stolen", "load (1 min)", "MHz", "switches per s", "collections", "blocks", "far blocks")
    rows = tuple(_row(launch, cores) for launch in launches)
    return Table(columns, rows, "What went on during each launch", folded=len(rows) > MOST_ROWS)


def _row(launch: LaunchNoise, cores: int) -> tuple[Cell | str, ...]:
    return (
        f"{launch.launch:,}",
        _share(launch.steal_share, LARGE_STEAL),
        Cell(formatting.number(launch.load), "warn" if (launch.load or 0.0) > cores else ""),
        _span(launch.mhz_low, launch.mhz_high),
        formatting.number(launch.switches_per_second),
        formatting.MISSING if launch.collections is None else f"{launch.collections:,}",
        f"{launch.blocks:,}",
        _share(launch.far_share, LARGE_FAR),
    )


def _share(share: float | None, large: float) -> Cell:
    return Cell(formatting.percent(share), "warn" if share is not None and share > large else "")


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return formatting.MISSING
    return f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f} to {high:,.0f}"


SECTION = Section("noise", "How quiet the machine was", 45, build)
