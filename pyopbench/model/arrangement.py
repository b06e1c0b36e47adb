"""An arrangement: one way to call the body of an op in an input pipeline, as plain data for both halves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

AUTOTUNE = -1
"""Stands in `Arrangement.parallel` for `tf.data.AUTOTUNE`, which has the same value."""

STEP_ELEMENTS = 32
"""Elements that a training step takes if nothing is said of it: the batch that Keras makes by default."""

Action: TypeAlias = Literal["keep", "parallel", "batch", "processes", "port"]

EFFORTS: dict[str, float] = {"keep": -1.0, "parallel": 0.0, "batch": 2.0, "processes": 10.0, "port": 20.0}
"""Rank of the work to get there, least first: an argument of `map`; one line before the map, and a body that takes a
batch; a pool that has to be started, fed and ended; a port, which has to be kept equal for ever. The
effort of a variant is added to it, so that of two ports the one that takes less work comes first."""

CURRENT = "map"
"""Key of the current callback in a plain `map`."""

KEY = re.compile(
    r"(\w+)(?: (?!batch=|parallel=)(\w+))?(?: batch=([1-9][0-9]{0,6}))?(?: parallel=([1-9][0-9]{0,4}|AUTOTUNE))?"
)
WRITTEN_FORMS = ("map", "port", "port_batch", "batch_body", "batch_loop", "processes")
"""Forms whose arrangements are written as files, of the bodies for which that is possible."""


@dataclass(frozen=True)
class ArrangementKey:
    """What the key of an arrangement says: the form, the variant, elements of a batch, and calls at the same time."""

    form: str
    variant: str = ""
    batch: int = 0
    parallel: int = 1


def read_key(key: str) -> ArrangementKey | None:
    """Return what a key such as `processes batch=32` says; None if it is not that of an arrangement with a file."""
    match = KEY.fullmatch(key)
    if match is None or match[1] not in WRITTEN_FORMS:
        return None
    form, variant, batch = match[1], match[2] or "", int(match[3] or 0)
    if (form in ("port", "port_batch")) != bool(variant):
        return None
    if form in ("port_batch", "batch_body", "batch_loop") and not batch:
        return None
    return ArrangementKey(form, variant, batch, AUTOTUNE if match[4] == "AUTOTUNE" else int(match[4] or 1))


@dataclass(frozen=True)
class Arrangement:
    """One way to call a body in a pipeline."""

    form: str
    action: Action
    code: str  # the change in one line
    parallel: int = 1  # `num_parallel_calls`; `AUTOTUNE` for TensorFlow's choice
    batch: int = 0  # elements that one call of the body gets; 0 for an element as it is, without a batch axis
    variant: str = ""  # of the op; empty where it is none, but the body in a callback that the form makes
    extra_effort: float = 0.0

    @property
    def key(self) -> str:
        """What names it everywhere, such as `map parallel=AUTOTUNE` or `port_batch traced batch=32`."""
        parts = [self.form, self.variant]
        parts += [f"batch={self.batch}"] if self.batch else []
        is_own = bool(self.variant) or self.form == "processes"  # as many calls as it needs, on any machine
        parts += [f"parallel={parallel_text(self.parallel)}"] if self.parallel != 1 and not is_own else []
        return " ".join(filter(None, parts))

    @property
    def effort(self) -> float:
        """Rank of the work to get there, least first."""
        return EFFORTS[self.action] + self.extra_effort


def parallel_text(parallel: int) -> str:
    """Return `num_parallel_calls` as it is written."""
    return "AUTOTUNE" if parallel == AUTOTUNE else str(parallel)
