"""How results are judged, from what a caller in Python says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pyopbench.engine.sides import slowdown_of, usual_effect
from pyopbench.judge import requirements
from pyopbench.judge.judge import Judging
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput

if TYPE_CHECKING:
    from pyopbench.judge.program import Step
    from pyopbench.store.mix_file import Calls

Mix: TypeAlias = Mapping[int, float] | str | Path | None
"""size -> how often it is called, or the path of such a CSV file; None for an even mix."""


def judging_of(  # noqa: PLR0913 - each is an argument of `run` and `read`
    baseline: str,
    minimum_effect: float = MINIMUM_EFFECT,
    mix: Mix = None,
    requires: Sequence[str] = (),
    calls_per_step: float | None = None,
    step_seconds: float | None = None,
) -> Judging:
    """Return how to judge.

    Raises:
        BadInput: a share out of range, an unknown requirement, a mix that is none, or half of a step.
    """
    if not 0 < minimum_effect < 1:
        raise BadInput(
            "the minimum effect is out of range",
            received=f"minimum_effect={minimum_effect!r}",
            legal="above 0 and below 1; 0.03 is 3%",
            hint="for example minimum_effect=0.03",
        )
    required = requirements.check(tuple(requires))
    return Judging(baseline, minimum_effect, _calls(mix), _step(calls_per_step, step_seconds), required)


def effect_of(minimum_effect: float | None, fail_on: str | None) -> float:
    """Return the smallest difference that matters, where none is given the usual one.

    Raises:
        BadInput: `fail_on` is below that difference.
    """
    effect = usual_effect(fail_on) if minimum_effect is None else minimum_effect
    slowdown_of(fail_on, effect)
    return effect


def _calls(mix: Mix) -> Calls | None:
    if mix is None:
        return None
    if isinstance(mix, (str, Path)):
        from pyopbench.store.mix_file import read_mix

        return read_mix(Path(mix))
    if not mix or not all(size >= 1 and 0 < weight < math.inf for size, weight in mix.items()):
        raise BadInput(
            "not a mix of sizes",
            received=f"mix={dict(mix)!r}",
            legal="size -> how often it is called: whole sizes from 1, and weights above 0",
            hint="for example mix={1000: 5, 1_000_000: 1}",
        )
    return dict(mix)


def _step(calls: float | None, seconds: float | None) -> Step | None:
    if calls is None and seconds is None:
        return None
    if calls is None or seconds is None or not (0 < calls < math.inf and 0 < seconds < math.inf):
        raise BadInput(
            "not a step",
            received=f"calls_per_step={calls!r}, step_seconds={seconds!r}",
            legal="both of them, above 0",
            hint="for example calls_per_step=1, step_seconds=0.120",
        )
    from pyopbench.judge.program import Step

    return Step(calls, seconds)
