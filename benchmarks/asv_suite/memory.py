"""Peak memory of a call."""

from __future__ import annotations

from typing import Any

from asv_suite.preparation import OfOneCase


class PeakMemory(OfOneCase):
    """Peak resident memory of the whole process: TensorFlow, preparing and checking, and forward and backward once."""

    direction = "forward_backward"

    def peakmem_call(self, *_: Any) -> None:
        """Call the segments once, in order."""
        self.prepared()
