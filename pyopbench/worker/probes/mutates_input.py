"""Does a body that writes to its input change a tensor of its caller?"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Differs, Probe, Seen, Subject


def run(subject: Subject) -> Seen:
    """Write zeros into what the body is given, in a `tf.function` and eagerly, and look at the caller's tensor."""
    subject.require_python()

    def body(x: Any) -> Any:
        array = x.numpy() if subject.given_tensors else x
        array[...] = 0
        return array

    changed = []
    ways = {"in a tf.function": subject.function(body, NO_GRADIENT), "eager": subject.build(body, NO_GRADIENT)}
    for name, call in ways.items():
        x = subject.x
        call(x)
        if not np.array_equal(x.numpy(), subject.numbers):
            changed.append(name)
    if changed:
        raise Differs(f"{' and '.join(changed)}: the caller's tensor is changed, without an error")
    return Seen("the body writes to a copy")


PROBE = Probe("mutates_input", "a body that writes to its input leaves the caller's tensor alone", run)
