"""What a history found, in words."""

from __future__ import annotations

import shlex

from pyopbench.judge.comparison.changes import STATUSES, FoundChange
from pyopbench.judge.comparison.history import History
from pyopbench.judge.comparison.moments import Axis
from pyopbench.judge.comparison.remarks import (
    AnchorChanged,
    NotMeasured,
    OnlyLatency,
    Remark,
    RunsNotInterleaved,
    SmallChanges,
    TooShort,
    ValuesChanged,
)
from pyopbench.judge.comparison.reruns import Rerun
from pyopbench.judge.comparison.series import Series
from pyopbench.model import formatting
from pyopbench.report.wording.limitations import limitation_text

MOMENTS: dict[Axis, tuple[str, str]] = {
    "commit": ("commit", "commits"),
    "tf": ("TensorFlow version", "TensorFlow versions"),
    "date": ("run", "runs"),
}
"""What a moment is called, and several."""
CHANGES_CAPTION = "Changes, confirmed ones first"
RERUN = (
    "Commands that measure both sides of suspected changes again, interleaved (pyopbench history --confirm runs them):"
)
STATUS_TEXTS = {
    "confirmed": "confirmed",
    "suspected": "suspected",
    "open": "unresolved",
    "refuted": "refuted",
}


def title(history: History) -> str:
    """Return what the history is of, in one line."""
    many = formatting.count(len(history.moments), *MOMENTS[history.axis])
    return f"{formatting.count(len(history.traced), 'series', 'series')} over {many}"


def summary(history: History) -> str:
    """Return how many changes have which status."""
    counts = {status: len(history.with_status(status)) for status in STATUSES}
    told = [f"{many:,} {STATUS_TEXTS[status]}" for status, many in counts.items() if many]
    if not told:
        return "No change was found."
    return f"{formatting.count(len(history.changes), 'change')}: {formatting.listing(told)}."


def alarm_text(history: History) -> str:
    """Return how often a suspicion is false, in a sentence or two."""
    expected = history.options.alarm_rate * history.searched
    return (
        "A change is suspected where the level of a series shifts by more than noise explains. Expect about "
        f"{expected:.2g} false alarms: {formatting.percent(history.options.alarm_rate)} of {history.searched:,} "
        "series. It is confirmed if both sides, measured again interleaved, show it too."
    )


def change_text(change: FoundChange) -> str:
    """Return how much slower or faster a case became, with the interval."""
    return f"{change.direction}, {formatting.ratio_interval(change.ratio, change.low, change.high)}"


def place_text(change: FoundChange) -> str:
    """Return at which moment a change is, and how early and late it may be if that is not certain."""
    early = f"as early as {change.first}" if change.first != change.after else ""
    late = f"as late as {change.last}" if change.last != change.after else ""
    others = " or ".join(filter(None, (early, late)))
    return f"{change.before} to {change.after}{others and f', or {others}'}"


def again_text(change: FoundChange) -> str:
    """Return what measuring again came to; "" where nothing was measured again."""
    if change.again is None:
        return ""
    found = change.again
    return f"{formatting.ratio_interval(found.ratio, found.low, found.high)}, {found.outcome}"


def measure_text(series: Series) -> str:
    """Return what the values of a series are."""
    if series.measure == "latency":
        return "time per call"
    if series.anchored_to == "moment":
        return f"time relative to {series.anchor}"
    return f"time relative to {series.anchor}, timed in the same rounds"


def remark_text(remark: Remark) -> str:
    """Return what a reader has to know, in a sentence or two."""
    match remark:
        case ValuesChanged(after, ops, until):
            differ = f"{formatting.listing(ops)} {'computes' if len(ops) == 1 else 'compute'} different values"
            if until:
                return (
                    f"From {after} on, and until {until}, {differ}, so times in between cannot be compared with others."
                )
            return f"From {after} on, {differ}, so times before and after cannot be compared."
        case NotMeasured(label, reason):
            return f"{label} is not measured: {reason}"
        case AnchorChanged(anchor, after, many, of):
            return (
                f"At {after}, {many} of the {of} series that are relative to {anchor} changed in the same direction. "
                f"Perhaps {anchor} itself changed, in the opposite direction."
            )
        case OnlyLatency(many, of):
            return (
                f"{_of(many, of)} absolute times, with nothing measured in the same rounds to compare with. A slower "
                "machine looks the same as slower code there; only measuring both sides again distinguishes them."
            )
        case RunsNotInterleaved(many, of):
            return (
                f"{_of(many, of)} from runs that were not interleaved. Such runs of the same code differ by more than "
                "their launches show, so errors and thresholds are wider."
            )
        case TooShort(many, fewest):
            points = f"fewer than {fewest} points"
            return f"{formatting.count(many, 'series has', 'series have')} {points} and cannot show a change."
        case SmallChanges(many, minimum_effect):
            least = formatting.percent(minimum_effect)
            return f"{formatting.count(many, 'change')} of less than {least} are not listed (--min-effect)."
        case _:
            return limitation_text(remark)


def _of(many: int, of: int) -> str:
    return "All series are" if many == of else f"{many:,} of {formatting.count(of, 'series', 'series')} are"


def rerun_text(rerun: Rerun) -> str:
    """Return the command that measures both sides again."""
    return shlex.join(rerun.command)
