"""Can XLA compile it?"""

from __future__ import annotations

from pyopbench.worker.subject import Probe, Seen, Subject


def run(subject: Subject) -> Seen:
    """Call it under `tf.function(jit_compile=True)`."""
    subject.require_values("what XLA computes", subject.function(jit_compile=True)(*subject.tensors))
    return Seen()


PROBE = Probe("xla", "tf.function(jit_compile=True)", run)
