"""What `pyopbench pipeline` is asked to measure, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyopbench.model.arrangement import AUTOTUNE
from pyopbench.model.case import BASELINE, DTYPES, MINIMUM_EFFECT
from pyopbench.model.cores import usable_cores
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput
from pyopbench.store.catalogue_facts import declared

LAUNCHES, MOST_LAUNCHES = 5, 8
"""Where no number is asked for, launches beyond `LAUNCHES` are made while there is time for a whole one. The first has
most to prepare. Further ones tell more than longer ones: what launches differ by is known to none alone."""
BUDGET_SECONDS = 75.0
"""What starting the first worker and writing the report take comes on top: an answer is there within 90 s."""
BATCH = (1, 32, 256)


def usual_parallel() -> tuple[int, ...]:
    """Return the usual values of `num_parallel_calls`: 1, as many as there are cores, and `AUTOTUNE`."""
    return tuple(dict.fromkeys((1, max(len(usable_cores()), 2), AUTOTUNE)))


def thread_counts(cores: int) -> tuple[int, ...]:
    """Return how many threads are held against one, the most first: as many as there are cores, and powers of two."""
    powers = (2**power for power in range(1, cores.bit_length()))
    return tuple(sorted({cores, *powers}, reverse=True))


@dataclass(frozen=True)
class PipelineRequest:
    """What is to be measured, and for how long.

    Attributes:
        op: its name.
        size: of an element, in the op's unit; None for the middle one of a quick run.
        dtype: None for the op's first, of which float32 is the first if it has it.
        parallel: values of `num_parallel_calls`; 1 is always among them.
        batch: elements that one callback gets.
        deterministic: do elements keep their order?
        baseline: variant that is the current callback.
        launches: worker processes at the most; None for `LAUNCHES`, and up to `MOST_LAUNCHES` where time is left.
        budget_seconds: that all of them may take together.
        timeout_seconds: longest silence of one arrangement.
        seed: makes the order of everything repeatable.
        private_threads: of a thread pool that is the pipeline's own; 0 for TensorFlow's.
        step_seconds: that a training step takes for each of its elements; 0 where that is not known. An arrangement
            that keeps up with it is of interest, however much quicker others are.
        minimum_effect: the smallest share of the current time that is worth acting on.
    """

    op: str
    size: int | None = None
    dtype: str | None = None
    parallel: tuple[int, ...] = field(default_factory=usual_parallel)
    batch: tuple[int, ...] = BATCH
    deterministic: bool = True
    baseline: str = BASELINE
    launches: int | None = None
    budget_seconds: float = BUDGET_SECONDS
    timeout_seconds: float = 30.0
    seed: int = 0
    private_threads: int = 0
    step_seconds: float = 0.0
    minimum_effect: float = MINIMUM_EFFECT

    @property
    def planned_launches(self) -> int:
        """How many launches share the budget."""
        return self.launches or LAUNCHES

    @property
    def most_launches(self) -> int:
        """How many launches are made where there is time."""
        return self.launches or MOST_LAUNCHES

    def check(self) -> None:
        """Check what can be checked without TensorFlow.

        Raises:
            BadInput: an unknown op, variant or dtype, or a number out of range.
        """
        require_known("op", [self.op], find("ops"))
        callbacks = [name for name, one in declared("variants").items() if one.get("kind") == "callback"]
        require_known("callback", [self.baseline], callbacks)
        require_known("dtype", [self.dtype] if self.dtype else [], DTYPES)
        wrong = [one for one in self.batch if one < 1] + [one for one in self.parallel if one < 1 and one != AUTOTUNE]
        if wrong or not self.batch or (self.size is not None and self.size < 1):
            raise BadInput(
                "not valid for a pipeline",
                received=f"parallel={self.parallel}, batch={self.batch}, size={self.size}",
                legal="whole numbers from 1, and AUTOTUNE for --parallel",
                hint="for example --parallel 1,4,AUTOTUNE --batch 32 --size 1000",
            )
