"""What a decision says, as kinds with their numbers: why it is so, what it leaves out, and what would change it.

There is no sentence here: `wording` turns each kind into words, and programs read kind and numbers in `decisions.json`.
A number that does not exist is None. `label` and `baseline` are `variant` or `variant+gradient` throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.judge.answer import DiffersByMachine
from pyopbench.judge.settling import MoreLaunches, MoreMachines, SecondLaunch, Settling


@dataclass(frozen=True)
class MeasuredGain:
    """The share of the current time that one label saves: the estimate, its interval, and launches behind it."""

    label: str
    saved: float
    low: float | None
    high: float | None
    launches: int


# Why a decision is what it is


@dataclass(frozen=True)
class ClearGain:
    """A candidate is clearly worth it.

    Attributes:
        baseline: the current callback.
        chosen: the candidate that was chosen.
        faster: the one that saves most, if it saves more by what is worth acting on, which is not clear; else None.
        faster_takes_more_work: True if that one takes more work as well.
    """

    baseline: str
    chosen: MeasuredGain
    faster: MeasuredGain | None = None
    faster_takes_more_work: bool = False
    kind: Literal["clear_gain"] = "clear_gain"


@dataclass(frozen=True)
class NoneWorthIt:
    """No candidate saves more than the share `threshold`, as far as can be told; `best` is the best of them."""

    baseline: str
    threshold: float
    best: MeasuredGain
    kind: Literal["none_worth_it"] = "none_worth_it"


@dataclass(frozen=True)
class StillOpen:
    """Some candidates may save more or less than the share `threshold`: `candidates`, what saves most first."""

    baseline: str
    threshold: float
    candidates: tuple[MeasuredGain, ...]
    settled_by: Settling
    kind: Literal["still_open"] = "still_open"


@dataclass(frozen=True)
class NoCandidate:
    """Nothing was measured beside the baseline at all sizes; `required`: nothing that can do what is required."""

    baseline: str
    required: bool
    kind: Literal["no_candidate"] = "no_candidate"


@dataclass(frozen=True)
class BaselineFailed:
    """The baseline has no number at all: its first failure, and the worker's own message about it."""

    label: str
    size: int
    status: str
    message: str
    kind: Literal["baseline_failed"] = "baseline_failed"


@dataclass(frozen=True)
class BaselineNotMeasured:
    """The baseline was not measured here, nor did it fail."""

    baseline: str
    kind: Literal["baseline_not_measured"] = "baseline_not_measured"


@dataclass(frozen=True)
class BaselineTooNoisy:
    """The baseline was measured, and its cost is too noisy to compare anything with.

    Attributes:
        label: of the baseline.
        size: the smallest at which that is so.
        seconds: the estimate, which is not above zero.
        low, high: its interval; None for one launch.
        launches: it is made from.
    """

    label: str
    size: int
    seconds: float
    low: float | None
    high: float | None
    launches: int
    kind: Literal["baseline_too_noisy"] = "baseline_too_noisy"


@dataclass(frozen=True)
class DtypeNotCalled:
    """The mix that was given has no calls in this dtype."""

    dtype: str
    kind: Literal["dtype_not_called"] = "dtype_not_called"


@dataclass(frozen=True)
class BeyondMeasured:
    """The mix asks for sizes at which the baseline has no number; `statuses` say how it failed there, if it did."""

    baseline: str
    sizes: tuple[int, ...]
    statuses: tuple[str, ...]
    kind: Literal["beyond_measured"] = "beyond_measured"


Reason: TypeAlias = (
    ClearGain
    | NoneWorthIt
    | StillOpen
    | NoCandidate
    | BaselineFailed
    | BaselineNotMeasured
    | BaselineTooNoisy
    | DtypeNotCalled
    | BeyondMeasured
)

# What the reason leaves out


@dataclass(frozen=True)
class BaselineBarred:
    """The current callback cannot stay, because it does not meet a requirement."""

    baseline: str
    kind: Literal["baseline_barred"] = "baseline_barred"


@dataclass(frozen=True)
class BaselineLacksSizes:
    """The baseline has no number at planned sizes, of which the decision says nothing."""

    baseline: str
    sizes: tuple[int, ...]
    statuses: tuple[str, ...]
    kind: Literal["baseline_lacks_sizes"] = "baseline_lacks_sizes"


@dataclass(frozen=True)
class CandidateLacksSizes:
    """A candidate has no number at sizes of the mix and is none over it, only at the other sizes."""

    label: str
    sizes: tuple[int, ...]
    statuses: tuple[str, ...]
    kind: Literal["candidate_lacks_sizes"] = "candidate_lacks_sizes"


@dataclass(frozen=True)
class NoLaunchOverMix:
    """A candidate has every size of the mix, but no launch with all of them; it is a candidate only at single sizes."""

    label: str
    kind: Literal["no_launch_over_mix"] = "no_launch_over_mix"


Caveat: TypeAlias = BaselineBarred | BaselineLacksSizes | CandidateLacksSizes | NoLaunchOverMix | DiffersByMachine

# What would change a decision


@dataclass(frozen=True)
class FasterBaseline:
    """The baseline at `speed` times its measured speed, at every size, makes `label` not clearly worth it."""

    baseline: str
    speed: float
    label: str
    kind: Literal["faster_baseline"] = "faster_baseline"


@dataclass(frozen=True)
class SlowerBaseline:
    """The baseline taking more than `times` its measured time, at every size, makes `label` worth it."""

    baseline: str
    times: float
    label: str
    kind: Literal["slower_baseline"] = "slower_baseline"


@dataclass(frozen=True)
class FasterVariant:
    """Another variant that clearly saves more than the share `threshold` over the mix."""

    baseline: str
    threshold: float
    kind: Literal["faster_variant"] = "faster_variant"


@dataclass(frozen=True)
class MoreTimeAtSizes:
    """More than a share of the current time spent at some sizes.

    Attributes:
        label: the candidate that this is about.
        pays: True if it pays at these sizes and would then pay over the mix; False if it does not, and then would not.
        share: the share of the current time from which that is so.
        share_now: the share of the current time that the mix spends there.
        sizes: which sizes.
    """

    label: str
    pays: bool
    share: float
    share_now: float
    sizes: tuple[int, ...]
    kind: Literal["more_time_at_sizes"] = "more_time_at_sizes"


@dataclass(frozen=True)
class BaselineMeasured:
    """A measurement of the baseline where it has no number."""

    baseline: str
    kind: Literal["baseline_measured"] = "baseline_measured"


@dataclass(frozen=True)
class LessNoise:
    """A measurement of the baseline with less noise than in the launches so far."""

    baseline: str
    launches: int
    kind: Literal["less_noise"] = "less_noise"


@dataclass(frozen=True)
class VariantMeasured:
    """A measurement of another variant, wherever the baseline has a number."""

    baseline: str
    kind: Literal["variant_measured"] = "variant_measured"


WouldChange: TypeAlias = (
    FasterBaseline
    | SlowerBaseline
    | FasterVariant
    | MoreTimeAtSizes
    | BaselineMeasured
    | LessNoise
    | VariantMeasured
    | SecondLaunch
    | MoreLaunches
    | MoreMachines
)

# What a decision says nothing of, or not in one word


@dataclass(frozen=True)
class NoAnswerAt:
    """Planned sizes that have no answer, because the baseline has no number there."""

    sizes: tuple[int, ...]
    kind: Literal["no_answer_at"] = "no_answer_at"


@dataclass(frozen=True)
class DiffersBySize:
    """The answer is not the same at every size."""

    kind: Literal["differs_by_size"] = "differs_by_size"


Note: TypeAlias = NoAnswerAt | DiffersBySize
