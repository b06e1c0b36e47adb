"""Has it a gradient, once one is attached in the usual way?"""

from __future__ import annotations

from pyopbench.worker.subject import Probe, Seen, Subject, first_derivative, gradient_of, require_equal


def run(subject: Subject) -> Seen:
    """Take the gradient of the op plus x**2, through the variant's gradient mechanism."""
    require_equal("the gradient of f(x) + x**2", gradient_of(subject.function(), subject.x), first_derivative())
    return Seen(f"by {subject.gradient}")


PROBE = Probe("gradient", "gradient, by the mechanism named", run)
