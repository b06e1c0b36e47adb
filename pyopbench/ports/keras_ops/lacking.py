"""What a body does that has no counterpart in `keras.ops`."""

from __future__ import annotations

from pyopbench.model.errors import PyopbenchError

ASSIGNMENT = "x[...] = value"


class Lacking(PyopbenchError):
    """A body does what no public function of `keras.ops` does.

    Attributes:
        missing: what it does, as it is spelled in code.
        why: the reason; empty where there is simply no counterpart.
    """

    def __init__(self, missing: str, why: str = "") -> None:
        self.missing = missing
        self.why = why
        super().__init__(f"`{missing}` {why or 'has no counterpart in keras.ops that is known to be equal'}")
