"""Has it a gradient by itself, with none attached?"""

from __future__ import annotations

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Probe, Seen, Subject, first_derivative, gradient_of, require_equal


def run(subject: Subject) -> Seen:
    """Take the gradient of the op, with nothing attached, plus x**2."""
    found = gradient_of(subject.function(gradient=NO_GRADIENT), subject.x)
    require_equal("the gradient of f(x) + x**2", found, first_derivative())
    return Seen()


PROBE = Probe("own_gradient", "gradient, with none attached to it", run)
