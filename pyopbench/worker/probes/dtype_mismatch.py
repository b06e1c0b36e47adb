"""Is it told that the body returns another dtype than was declared?"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.model.failures import describe_error
from pyopbench.model.op import Body
from pyopbench.worker.subject import Differs, Probe, Seen, Subject

LARGE = 1e300
"""What float64 holds and float32 does not."""


def run(subject: Subject) -> Seen:
    """Return float64 where float32 is declared, in a `tf.function` and eagerly."""
    subject.require_python()

    def body(x: Any) -> Any:
        return (tf.cast(x, tf.float64) if subject.given_tensors else x.astype(np.float64)) * LARGE

    ways = {"in a tf.function": subject.function(body, NO_GRADIENT), "eager": subject.build(body, NO_GRADIENT)}
    found = {name: _outcome(way, subject) for name, way in ways.items()}
    wrong = [f"{name}: {told}" for name, (is_told, told) in found.items() if not is_told]
    if wrong:
        raise Differs("; ".join(wrong))
    return Seen("; ".join(f"{name}: {told}" for name, (_, told) in found.items()))


def _outcome(function: Body, subject: Subject) -> tuple[bool, str]:
    """Return whether the mismatch was told, and in which words, or what came instead."""
    try:
        result = function(subject.x)
    except Exception as error:  # noqa: BLE001 - that it is reported at all is the question
        return True, describe_error(error)
    return False, f"{LARGE:g} comes back as {result.dtype.name} {np.max(np.asarray(result)):g}, without an error"


PROBE = Probe("dtype_mismatch", "a body that returns another dtype raises an error", run)
