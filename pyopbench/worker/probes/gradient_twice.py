"""Can a persistent tape be asked for the gradient twice?"""

from __future__ import annotations

import tensorflow as tf

from pyopbench.worker.subject import Probe, Seen, Subject, first_derivative, require_equal


def run(subject: Subject) -> Seen:
    """Take the gradient twice from one persistent tape."""
    function, x = subject.function(), subject.x
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(x) + x * x
    for which in ("first", "second"):
        require_equal(f"the {which} gradient of f(x) + x**2", tape.gradient(y, x), first_derivative())
    return Seen()


PROBE = Probe("gradient_twice", "gradient taken twice from one persistent tape", run)
