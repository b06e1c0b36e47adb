"""How results are judged, from what a command line or a caller in Python says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pyopbench.judge import requirements
from pyopbench.judge.judge import Judging
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput

if TYPE_CHECKING:
    from pyopbench.store.mix_file import Calls

Mix: TypeAlias = Mapping[int, float] | str | Path | None
"""size -> how often it is called, or the path of such a CSV file; None for an even mix."""


def judging_of(
    baseline: str,
    minimum_effect: float = MINIMUM_EFFECT,
    mix: Mix = None,
    requires: Sequence[str] = (),
) -> Judging:
    """Return how to judge.

    Raises:
        BadInput: a share out of range, an unknown requirement, or a mix that is none.
    """
    if not 0 < minimum_effect < 1:
        raise BadInput(
            "the minimum effect is out of range",
            received=f"minimum_effect={minimum_effect!r}",
            legal="above 0 and below 1; 0.03 is 3%",
            hint="for example minimum_effect=0.03",
        )
    required = requirements.check(tuple(requires))
    return Judging(baseline, minimum_effect, _calls(mix), requires=required)


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
