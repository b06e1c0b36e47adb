"""What becomes of a StopIteration in the body inside tf.data, where OutOfRange means the end?"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.model.failures import describe_error
from pyopbench.worker.subject import Differs, Probe, Seen, Subject

ELEMENTS, FAILING = 5, 2


def run(subject: Subject) -> Seen:
    """Map a body over five elements that raises StopIteration at the third."""
    subject.require_python()

    def body(x: Any) -> Any:
        if float(x[0]) == FAILING:
            raise StopIteration("words of the body")
        return x

    rows = tf.reshape(tf.range(ELEMENTS, dtype=tf.float32), [ELEMENTS, 1])
    data = tf.data.Dataset.from_tensor_slices(rows).map(subject.build(body, NO_GRADIENT))
    count = 0
    try:
        for _ in data:
            count += 1
    except Exception as error:  # noqa: BLE001 - that it is reported at all is the question
        return Seen(f"reported after {count} elements: {describe_error(error)}")
    raise Differs(f"the data end after {count} of {ELEMENTS} elements, without an error")


PROBE = Probe("stop_iteration", "StopIteration in the body inside tf.data raises an error", run)
