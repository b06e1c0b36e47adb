"""Is the body given NumPy arrays?"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Fails, Inapplicable, Probe, Seen, Subject


def run(subject: Subject) -> Seen:
    """Look at the type of what the body is given."""
    if subject.variant.body in ("kernel", "numba"):
        raise Inapplicable("its body is machine code")
    given: list[type] = []

    def body(x: Any) -> Any:
        given.append(type(x))
        return x * x * x

    subject.function(body, NO_GRADIENT)(subject.x)
    if not issubclass(given[-1], np.ndarray):
        raise Fails(f"the body is given {given[-1].__name__}")
    return Seen("" if subject.variant.body == "numpy" else "by .numpy()")


PROBE = Probe("numpy_arrays", "the body is given NumPy arrays", run)
