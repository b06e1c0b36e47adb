"""An arrangement: one way in which the body of an op stands in an input pipeline, as plain data for both halves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

AUTOTUNE = -1
"""Stands in `Arrangement.parallel` for `tf.data.AUTOTUNE`, which has the same value."""

STEP_ELEMENTS = 32
"""Elements that a training step takes if nothing is said of it: the batch that Keras makes by default."""

Action: TypeAlias = Literal["keep", "parallel", "batch", "processes", "port"]

EFFORTS: dict[str, float] = {
    "keep": -1.0,
    "parallel": 0.0,
    "batch": 2.0,
    "processes": 10.0,
    "port": 20.0,
}
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
    found = KEY.fullmatch(key)
    if found is None or found[1] not in WRITTEN_FORMS:
        return None
    needs_variant = found[1] in ("port", "port_batch")
    needs_batch = found[1] in ("port_batch", "batch_body", "batch_loop")
    if needs_variant != bool(found[2]) or (needs_batch and not found[3]):
        return None
    parallel = AUTOTUNE if found[4] == "AUTOTUNE" else int(found[4] or 1)
    return ArrangementKey(found[1], found[2] or "", int(found[3] or 0), parallel)


@dataclass(frozen=True)
class Arrangement:
    """One way in which a body stands in a pipeline.

    Attributes:
        code: the change in one line.
        parallel: `num_parallel_calls`; 1 for calls one after another, `AUTOTUNE` for TensorFlow's choice.
        batch: elements that one call of the body gets; 0 for an element as it is, without a batch axis.
        variant: of the op; empty where it is none, but the body in a callback that the form makes.
        extra_effort: beside that of the action.
    """

    form: str
    action: Action
    code: str
    parallel: int = 1
    batch: int = 0
    variant: str = ""
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

    @property
    def is_port(self) -> bool:
        """Is there no Python left in the pipeline?"""
        return self.action == "port"


def parallel_text(parallel: int) -> str:
    """Return `num_parallel_calls` as it is written."""
    return "AUTOTUNE" if parallel == AUTOTUNE else str(parallel)
