"""Has its gradient a gradient?"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from pyopbench.worker.subject import VALUES, Probe, Seen, Subject, gradient_of, require_equal


def run(subject: Subject) -> Seen:
    """Differentiate the op plus x**2 twice, which is 6 x + 2 for a cube."""
    function, x = subject.function(), subject.x
    with tf.GradientTape() as tape:
        tape.watch(x)
        first = gradient_of(function, x)
    require_equal("the second derivative of f(x) + x**2", tape.gradient(first, x), 6 * np.array(VALUES) + 2)
    return Seen(f"by {subject.gradient}")


PROBE = Probe("second_order", "second-order gradient", run)
