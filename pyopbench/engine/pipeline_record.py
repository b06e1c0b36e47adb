"""What was measured of an op in a pipeline so far: arrangements, blocks, failures; and the document of it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyopbench
from pyopbench.engine.pipeline_request import PipelineRequest
from pyopbench.model.arrangement import Arrangement
from pyopbench.model.errors import NothingMeasured
from pyopbench.store.pipeline_file import SCHEMA

FEWEST_ROUNDS = 3
"""In a launch that counts."""
NEAR_BEST, NEAR_SHARE = 2.0, 0.1
"""What takes more than so many times as long as the best, or as the training step if that is longer, and by more than
this share of the current callback's time longer, is measured no more: it is not as good, whatever noise there was."""


class PipelineRecord:
    """What workers have answered.

    Attributes:
        request: what is measured.
        described: what the first worker said of the op and of where it runs.
        arrangements: by their keys.
        holes: arrangements that are not measured, with reasons.
        failures: what failed, with the launch in which it did.
        prepared: what came of preparing each arrangement in each launch.
        blocks: what was timed.
        rates: of calls from several threads and processes.
    """

    def __init__(self, request: PipelineRequest) -> None:
        self.request = request
        self.described: dict[str, Any] = {}
        self.arrangements: dict[str, Arrangement] = {}
        self.holes: list[dict[str, Any]] = []
        self.failures: list[dict[str, Any]] = []
        self.prepared: list[dict[str, Any]] = []
        self.blocks: list[dict[str, Any]] = []
        self.rates: list[dict[str, Any]] = []

    def describe(self, answer: Mapping[str, Any]) -> None:
        """Take what the first worker says of the op and its arrangements."""
        self.described = dict(answer)
        found = (Arrangement(**one) for one in answer["arrangements"])
        self.arrangements = {one.key: one for one in found}
        for hole in answer["holes"]:
            self.add_hole(Arrangement(**hole["arrangement"]).key, hole["reason"])

    def add_hole(self, key: str, reason: str) -> None:
        """Say why an arrangement is not measured."""
        self.holes.append({"key": key, "reason": reason})

    def fail(self, key: str, status: str, reason: str, launch: int) -> None:
        """Say how an arrangement failed."""
        self.failures.append({"key": key, "status": status, "reason": reason, "launch": launch})

    @property
    def baseline(self) -> str:
        """The key of the current callback in `map`; empty while nothing is described."""
        return next((key for key, one in self.arrangements.items() if one.action == "keep"), "")

    @property
    def failed(self) -> set[str]:
        """Keys of what has failed."""
        return {one["key"] for one in self.failures}

    @property
    def has_lost_baseline(self) -> bool:
        """Has the current callback failed, so that there is nothing to pair further blocks with?"""
        return self.baseline in self.failed

    @property
    def pools(self) -> list[str]:
        """Keys of the arrangements with processes that have not failed."""
        return [key for key, one in self.arrangements.items() if one.action == "processes" and key not in self.failed]

    def has(self, launch: int) -> bool:
        """Has a launch rounds enough, so that it need not be made again?"""
        return len({one["round"] for one in self.blocks if one["launch"] == launch}) >= FEWEST_ROUNDS

    def forget(self, launch: int) -> None:
        """Drop what a launch has measured, which is made again."""
        self.prepared = [one for one in self.prepared if one["launch"] != launch]
        self.blocks = [one for one in self.blocks if one["launch"] != launch]
        self.rates = [one for one in self.rates if one["launch"] != launch]

    @property
    def still_of_interest(self) -> list[str]:
        """Keys of what is to be measured from now on: without what has failed or is far from the best."""
        left_out = self.failed | {one["key"] for one in self.holes}
        seconds = {key: self.typical_seconds(key) for key in self.arrangements if key not in left_out}
        best = min((one for one in seconds.values() if one is not None), default=0.0)
        enough = max(best, self.request.step_seconds)
        most = max(NEAR_BEST * enough, enough + NEAR_SHARE * (seconds.get(self.baseline) or 0.0))
        return [key for key, typical in seconds.items() if key == self.baseline or (typical or 0.0) <= most]

    def why_not_try(self, key: str) -> str:
        """Return why a port that nobody wrote is not tried, which takes seconds; empty where it may be chosen.

        What leaves no more of the current time than the smallest effect worth acting on is as good as anything that
        there can be, so that nothing of more work is chosen. As warm-ups take longer than what follows, more than that
        is spared.
        """
        tried, baseline = self.arrangements[key], self._warm_seconds.get(self.baseline, 0.0)
        most = self.request.step_seconds + self.request.minimum_effect * baseline
        enough = [
            other
            for other, seconds in self._warm_seconds.items()
            if seconds <= most and self.arrangements[other].effort < tried.effort
        ]
        if not tried.is_attempt or not enough:
            return ""
        return f"not tried, because {enough[0]} takes less work and leaves next to nothing to gain"

    @property
    def _warm_seconds(self) -> dict[str, float]:
        """What an element took when its arrangement had become warm, by key."""
        return {one["key"]: one["warm_up"]["seconds_per_element"] for one in self.prepared}

    def warm_up_elements(self, key: str) -> int | None:
        """Return after how many elements an arrangement was steady, at the most; None where it is not known."""
        seen = [one["warm_up"] for one in self.prepared if one["key"] == key]
        return max((one["elements"] for one in seen), default=None) if all(one["is_steady"] for one in seen) else None

    def typical_seconds(self, key: str) -> float | None:
        """Return the median of the seconds that an element took; None where there is no block."""
        found = [one["seconds"] / one["elements"] for one in self.blocks if one["key"] == key]
        return statistics.median(found) if found else None

    def require_baseline(self) -> None:
        """Check that the current callback was measured.

        Raises:
            NothingMeasured: it was not.
        """
        if self.typical_seconds(self.baseline) is not None:
            return
        reasons = [one["reason"] for one in self.failures if one["key"] == self.baseline]
        raise NothingMeasured(
            "the current callback could not be measured in a pipeline",
            received=reasons[0] if reasons else "no block of it",
            legal=f"an op whose {self.request.baseline} runs in Dataset.map",
            hint="fix that, or choose another callback with --baseline",
        )

    def document(self, seconds: float) -> dict[str, Any]:
        """Return what was measured, as `results.pipeline_file` describes it.

        Args:
            seconds: that all of it took.
        """
        request, found = self.request, self.described
        facts = ("size", "dtype", "elements", "delivered", "told_apart", "body_seconds", "output_shapes", "environment")
        # What the current callback did before it failed is what all others are compared with.
        failed = self.failed - {self.baseline}
        return {
            "schema": SCHEMA,
            "pyopbench": pyopbench.__version__,
            "op": {"name": request.op, **found["op"]},
            **{name: found[name] for name in facts},
            "baseline": self.baseline,
            "settings": {**asdict(request), "parallel": list(request.parallel), "batch": list(request.batch)},
            "seconds": seconds,
            "arrangements": [
                {"key": key, "effort": one.effort, **asdict(one)} for key, one in self.arrangements.items()
            ],
            "prepared": [one for one in self.prepared if one["key"] not in failed],
            "blocks": [one for one in self.blocks if one["key"] not in failed],
            "rates": self.rates,
            "holes": self.holes,
            "failures": self.failures,
        }
