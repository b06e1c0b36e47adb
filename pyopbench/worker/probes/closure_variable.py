"""Does a variable that the body captures get its gradient?"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.worker.subject import VALUES, Inapplicable, Probe, Seen, Subject, require_equal


def run(subject: Subject) -> Seen:
    """Take the gradient of v x**3 + 2 v x by v, where v x**3 is the body's and v is captured by it."""
    if subject.variant.body in ("kernel", "numba"):
        raise Inapplicable("its body is machine code and captures nothing")
    variable = tf.Variable(1.5)
    as_array = subject.is_python and not subject.given_tensors

    def body(x: Any) -> Any:
        return x * x * x * (variable.numpy() if as_array else variable)

    function, x = subject.function(body), subject.x
    with tf.GradientTape() as tape:
        y = function(x) + 2 * variable * x
    require_equal("what it computes", y, 1.5 * np.array(VALUES) ** 3 + 3 * np.array(VALUES))
    expected = np.sum(np.array(VALUES) ** 3 + 2 * np.array(VALUES))
    require_equal("the gradient by the variable", tape.gradient(y, variable), expected)
    return Seen()


PROBE = Probe("closure_variable", "gradient of a variable that the body captures", run)
