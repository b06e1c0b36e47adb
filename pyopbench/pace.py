"""How fast a run goes: what the next launch will take, and how long the whole may still last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes:
        launch: the launch that is being made, from 0.
        launches: launches at the most; a run may end earlier.
        group: the group that is about to be measured.
        done, total: groups of this launch that are finished, and all of them.
        planned: groups of the plan; later launches may have fewer.
        seconds_left: how long the run may still last; None until there is something to estimate it from.
    """

    launch: int
    launches: int
    group: str
    done: int
    total: int
    planned: int
    seconds_left: float | None


@dataclass
class Pace:
    """What starting a worker and measuring a group took, in seconds; of the newest launch that tells."""

    start_seconds: float = 0.0
    _earlier: Sequence[float] = ()
    _current: list[float] = field(default_factory=list)

    def add_start(self, seconds: float) -> None:
        """Note what it took until a worker was ready."""
        self.start_seconds = seconds

    def add_group(self, seconds: float) -> None:
        """Note what it took to measure a group of the launch that is being made."""
        self._current.append(seconds)

    def end_launch(self) -> None:
        """Let the launch that was just made stand for the next ones: the first is slower, with its finite differences.

        A launch that measured nothing, because it was finished before the run was resumed, tells nothing.
        """
        if self._current:
            self._earlier, self._current = self._current, []

    @property
    def group_seconds(self) -> float | None:
        """Seconds of a group: in the latest launch that is complete, or else so far; None before the first group."""
        known = self._earlier or self._current
        return sum(known) / len(known) if known else None

    def predict_launch(self, groups: int) -> float | None:
        """Return about how many seconds a launch of so many groups takes; None before the first group."""
        return None if self.group_seconds is None else self.start_seconds + groups * self.group_seconds

    def predict_rest(self, groups_left: int, launches_left: int, groups: int) -> float | None:
        """Return about how many seconds some groups of this launch and whole launches after it take.

        Args:
            groups_left: groups of this launch that are still to be measured.
            launches_left: launches after it.
            groups: groups of each of these.
        """
        launch = self.predict_launch(groups)
        if launch is None or self.group_seconds is None:
            return None
        return groups_left * self.group_seconds + launches_left * launch
