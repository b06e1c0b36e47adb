"""Copies between host and device: how many on each route, without a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from asv_suite import selection
from asv_suite.preparation import case_of, skipped_if_not_supported

if TYPE_CHECKING:
    from pyopbench.worker.suite_api import Case

SIMULATED = "simgpu"


class CopiesOnRoute:
    """Tensors that a forward call of a `tf.function` copies to a simulated device and from it, with new inputs.

    No clock is in it: a count that changes from one commit or TensorFlow to another has changed.
    """

    params = selection.routes()
    param_names = selection.ROUTE_NAMES
    unit = "copies"
    version = "1"
    counted: dict[str, int]

    def setup(self, op: str, variant: str, inputs: str, result: str) -> None:
        """Count one call; the device is there for as long as the process, in which nothing is timed therefore."""
        case = self._case(op, variant)
        with skipped_if_not_supported():
            from pyopbench.worker.suite_api import copies_on_route

            self.counted = copies_on_route(case, inputs, result)

    def _case(self, op_name: str, variant: str) -> Case:
        """Return the case at the smallest size: how often something is copied does not depend on that."""
        from pyopbench.worker.suite_api import load_op

        case = case_of(op_name, variant, min(load_op(op_name).sizes), "forward")
        return replace(case, placement=SIMULATED)

    def track_to_device(self, *_: Any) -> int:
        """Return copies from the host's memory to the device's."""
        return self.counted["to_device"]

    def track_to_host(self, *_: Any) -> int:
        """Return copies from the device's memory to the host's."""
        return self.counted["to_host"]
