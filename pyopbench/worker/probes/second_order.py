"""Has its gradient a gradient?"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from pyopbench.worker.op_subject import OpSubject, require_second_derivative
from pyopbench.worker.subject import VALUES, Probe, Seen, Subject, gradient_of, require_equal


def run(subject: Subject) -> Seen:
    """Differentiate twice: a cube plus x**2, which gives 6 x + 2, or an op, held against finite differences."""
    if isinstance(subject, OpSubject):
        against = require_second_derivative(subject)
        return Seen(f"by {subject.gradient}, against {against}")
    function, x = subject.function(), subject.x
    with tf.GradientTape() as tape:
        tape.watch(x)
        first = gradient_of(function, x)
    require_equal("the second derivative of f(x) + x**2", tape.gradient(first, x), 6 * np.array(VALUES) + 2)
    return Seen(f"by {subject.gradient}")


PROBE = Probe("second_order", "second-order gradient", run)
