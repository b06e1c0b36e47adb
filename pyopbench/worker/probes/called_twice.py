"""Can one traced function be called twice under one tape?"""

from __future__ import annotations

import numpy as np

from pyopbench.worker.subject import VALUES, Probe, Seen, Subject, gradient_of, require_equal


def run(subject: Subject) -> Seen:
    """Take the gradient of f(x) + f(2 x) + x**2, where f is one `tf.function` with one trace."""
    function = subject.function()
    found = gradient_of(lambda x: function(x) + function(2 * x), subject.x)
    x = np.array(VALUES)
    require_equal("the gradient of f(x) + f(2 x) + x**2", found, 3 * x**2 + 24 * x**2 + 2 * x)
    return Seen()


PROBE = Probe("called_twice", "one tf.function called twice under one tape", run)
