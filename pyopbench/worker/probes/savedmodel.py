"""Is what is saved as a SavedModel there in a process that has not made it?"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.worker.subject import Probe, Seen, Subject, require_equal


def load(folder: str, numbers: Any) -> Any:
    """Load a model and return what its function computes of `numbers` `(n,) float32`."""
    return tf.saved_model.load(folder).compute(tf.constant(numbers)).numpy()


def save(subject: Subject) -> str:
    """Save the subject and return the folder."""
    module = tf.Module()
    module.compute = subject.function()
    module.compute.get_concrete_function(subject.given)
    folder = str(subject.folder / "model")
    tf.saved_model.save(module, folder)
    return folder


def run(subject: Subject) -> Seen:
    """Save here, load and call in a new process."""
    require_equal(
        "what the loaded model computes", subject.elsewhere(load, save(subject), subject.numbers), subject.expected
    )
    return Seen("with the library of the op loaded before" if subject.libraries else "")


PROBE = Probe("savedmodel", "SavedModel, loaded and called in a new process", run)
