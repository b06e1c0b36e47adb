"""Does it work in `tf.while_loop`, with its gradient?"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.worker.subject import VALUES, Probe, Seen, Subject, gradient_of, require_equal

ROUNDS = 3


def run(subject: Subject) -> Seen:
    """Compute y -> f(y) / 2 three times in a loop, and its gradient."""
    function, (given,) = subject.function(), subject.given

    def step(i: Any, y: Any) -> tuple[Any, Any]:
        return i + 1, tf.ensure_shape(function(y) / 2, given.shape)

    def rounds(x: Any) -> Any:
        return tf.while_loop(lambda i, y: i < ROUNDS, step, (tf.constant(0), x))[1]

    loop = tf.function(rounds, autograph=False)
    y, slope = np.array(VALUES), np.ones(len(VALUES))
    for _ in range(ROUNDS):
        slope, y = slope * 3 * y**2 / 2, y**3 / 2
    require_equal("what the loop computes", loop(subject.x), y)
    require_equal("the gradient of loop(x) + x**2", gradient_of(loop, subject.x), slope + 2 * np.array(VALUES))
    return Seen()


PROBE = Probe("while_loop", "inside tf.while_loop, with its gradient", run)
