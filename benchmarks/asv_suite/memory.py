"""Peak memory of a call."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

from asv_suite.preparation import OfOneCase

CLEAR_REFERENCES = Path("/proc/self/clear_refs")
RESET_PEAK = "5"
"""Sets the peak resident size to the present one: proc(5), clear_refs, Linux 4.0 and later."""


class PeakMemory(OfOneCase):
    """Peak resident memory of the whole process, TensorFlow included, while forward and backward run once."""

    direction = "forward_backward"

    def setup(self, op: str, variant: str, size: int) -> None:
        """Prepare the case, and forget what preparing and checking it took at its peak."""
        super().setup(op, variant, size)
        gc.collect()
        if sys.platform == "linux":
            CLEAR_REFERENCES.write_text(RESET_PEAK)

    def peakmem_call(self, *_: Any) -> None:
        """Call the segments once, in order."""
        self.prepared()
