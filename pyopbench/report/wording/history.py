"""What a history found, in words."""

from __future__ import annotations

import shlex

from pyopbench.compare.changes import STATUSES, FoundChange
from pyopbench.compare.history import History
from pyopbench.compare.moments import Axis
from pyopbench.compare.remarks import (
    AnchorChanged,
    OnlyLatency,
    Remark,
    RunsNotInterleaved,
    SmallChanges,
    TooShort,
    ValuesChanged,
)
from pyopbench.compare.reruns import Rerun
from pyopbench.compare.series import Series
from pyopbench.core import formatting
from pyopbench.report.wording.limitations import limitation_text
from pyopbench.stats.estimate import LEVEL

MOMENTS: dict[Axis, tuple[str, str]] = {
    "commit": ("commit", "commits"),
    "tf": ("TensorFlow version", "TensorFlow versions"),
    "date": ("run", "runs"),
}
"""What a moment is called, and several."""
CHANGES_CAPTION = "Changes of level, those that were confirmed first"
RERUN = "These commands measure both sides of the suspicions again, interleaved; so does pyopbench history --confirm:"
STATUS_TEXTS = {
    "confirmed": "confirmed",
    "suspected": "suspected",
    "open": "not settled",
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
        "A suspicion is where the level of a series changes by more than noise explains. Of series without any change, "
        f"{formatting.percent(history.options.alarm_rate)} show one: of {history.searched:,} series "
        f"that is about {expected:.2g} by chance. A change is confirmed when both sides of it were "
        "measured again, interleaved, and the new samples show it too."
    )


def change_text(change: FoundChange) -> str:
    """Return how much slower or faster a case became, with the interval."""
    return f"{change.direction}, {formatting.ratio_interval(change.ratio, change.low, change.high)}"


def place_text(change: FoundChange) -> str:
    """Return at which moment a change is, and between which it lies if that is not certain."""
    if change.first == change.last:
        return f"{change.before} to {change.after}"
    return f"{change.before} to {change.after}; between {change.first} and {change.last}"


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
        case ValuesChanged(after, ops):
            return (
                f"From {after} on, {formatting.listing(ops)} "
                f"{'computes' if len(ops) == 1 else 'compute'} other values than before. Times of another function are "
                "no faster or slower version of it."
            )
        case AnchorChanged(anchor, after, many, of):
            return (
                f"At {after}, {many} of the {of} series that are relative to {anchor} changed in the same direction. "
                f"It may be {anchor} itself that changed, the other way round."
            )
        case OnlyLatency(many, of):
            return (
                f"{_of(many, of)} latencies with nothing measured in the same rounds to compare with. A machine that "
                "became slower, warmer or busier looks the same as slower code; only a re-run of both sides tells them "
                "apart."
            )
        case RunsNotInterleaved(many, of):
            return (
                f"{_of(many, of)} made of runs that were not interleaved. Runs of the same code differ by more than "
                "their launches show, so the errors of points are widened by what runs differ by, and the threshold is "
                "the one for noise that lasts from one run to the next."
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


def level_text() -> str:
    """Return what level intervals have."""
    return f"{formatting.percent(LEVEL)} interval"
