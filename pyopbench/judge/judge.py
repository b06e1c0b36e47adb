"""From stored results to a judgement, of a run that goes on too. What is heavy is imported when it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyopbench.stats.corrections import ALL_LOOKS

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement
    from pyopbench.judge.step_savings import Step
    from pyopbench.judge.stopping import Look
    from pyopbench.store.mix_file import Calls


@dataclass(frozen=True)
class Judging:
    """How to judge: baseline, smallest difference that counts, calls of each size, a user's step, requirements."""

    baseline: str
    minimum_effect: float
    mix: Calls | None = None
    step: Step | None = None
    requires: tuple[str, ...] = ()


def look(folder: Path, judging: Judging, launches: int, most: int) -> Look:
    """Judge what a run has measured in so many launches, of at most so many, to see what is left open.

    What is closed is not measured again, so it has to stay settled however many looks follow: all are charged.
    """
    from pyopbench.judge import compared, stopping
    from pyopbench.store.read import read_one

    how = (judging.baseline, judging.minimum_effect, judging.mix, judging.requires)
    return stopping.look(compared.compared(read_one([folder]), *how, looks=ALL_LOOKS), launches, most)


def judge(folders: Sequence[Path], judging: Judging) -> Judgement:
    """Judge stored results, of several runs as one; of asv and pytest-benchmark a single one.

    Raises:
        BadInput: the results are not what they should be, or the baseline or the mix does not fit them.
    """
    # pandas, SciPy and Altair cost a second and 150 MB, which a parent does not need before it judges.
    from pyopbench.judge import decide
    from pyopbench.store.read import read_one

    return decide.judge(read_one(folders), **vars(judging))
