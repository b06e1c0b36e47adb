"""Can XLA compile it?"""

from __future__ import annotations

from pyopbench.worker.subject import Probe, Seen, Subject, require_equal


def run(subject: Subject) -> Seen:
    """Call it under `tf.function(jit_compile=True)`."""
    require_equal("what XLA computes", subject.function(jit_compile=True)(subject.x), subject.expected)
    return Seen()


PROBE = Probe("xla", "tf.function(jit_compile=True)", run)
