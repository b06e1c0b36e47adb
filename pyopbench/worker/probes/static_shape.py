"""Is the shape of the result known before it is computed?"""

from __future__ import annotations

from pyopbench.worker.subject import Fails, Probe, Seen, Subject


def run(subject: Subject) -> Seen:
    """Trace it for an input of known shape and read the shape of the output."""
    (given,) = subject.given
    shape = subject.function().get_concrete_function(given).structured_outputs.shape
    if shape.rank is None or not shape.is_fully_defined():
        raise Fails(f"the shape of the result is {shape}, for an input of {given.shape}")
    return Seen()


PROBE = Probe("static_shape", "static shape of the result", run)
