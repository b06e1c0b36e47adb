"""How fast a run goes: what the next launch will take, and how long the whole may still last."""

from __future__ import annotations

from dataclasses import dataclass


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
    """What starting a worker and measuring a case took, in seconds; of the newest launch that tells.

    Time goes by cases and not by groups, because preparing each case takes longer than timing it.
    """

    start_seconds: float = 0.0
    _earlier: tuple[float, int] = (0.0, 0)
    _current: tuple[float, int] = (0.0, 0)

    def add_start(self, seconds: float) -> None:
        """Note what it took until a worker was ready for its first group."""
        self.start_seconds = seconds

    def add_group(self, seconds: float, cases: int) -> None:
        """Note what it took to measure a group of so many cases, in the launch that is being made."""
        self._current = self._current[0] + seconds, self._current[1] + cases

    def end_launch(self) -> None:
        """Let the launch that was just made stand for the next ones: the first is slower, with its finite differences.

        A launch that measured nothing, because it was finished before the run was resumed, tells nothing.
        """
        if self._current[1]:
            self._earlier, self._current = self._current, (0.0, 0)

    @property
    def case_seconds(self) -> float | None:
        """Seconds of a case: in the latest launch that is complete, or else so far; None before the first group."""
        seconds, cases = self._earlier if self._earlier[1] else self._current
        return seconds / cases if cases else None

    def predict(self, cases: int, launches: int = 0) -> float | None:
        """Return about how many seconds so many cases and starts of a worker take; None before the first group."""
        return None if self.case_seconds is None else launches * self.start_seconds + cases * self.case_seconds
