"""Copies between tensors and a callback's arrays."""

from __future__ import annotations

from asv_suite.crossings import count_copies, require_callback
from asv_suite.preparation import OfOneCase, case_of


class CopiesPerCall(OfOneCase):
    """Inputs and outputs that a callback's forward call copies between TensorFlow's memory and Python's."""

    unit = "copies"

    def setup(self, op: str, variant: str, size: int) -> None:
        """Skip what cannot be; what is counted is a call of a body that is watched, and not a prepared one."""
        require_callback(variant)
        self.case = case_of(op, variant, size, self.direction)

    def track_copies(self, op: str, variant: str, size: int) -> int:
        """Return copies per call."""
        return count_copies(self.case)
