"""Is what is saved as a SavedModel there in a process that has not made it?"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.subject import Probe, Seen, Subject


def load(folder: str, *arrays: Any) -> list[Any]:
    """Load a model and return what its function computes of some arrays: a list of arrays."""
    outputs = tf.saved_model.load(folder).compute(*map(tf.constant, arrays))
    return [output.numpy() for output in as_tuple(outputs)]


def save(subject: Subject) -> str:
    """Save the subject and return the folder."""
    module = tf.Module()
    module.compute = subject.function()
    module.compute.get_concrete_function(*subject.given)
    folder = str(subject.folder / "model")
    tf.saved_model.save(module, folder)
    return folder


def run(subject: Subject) -> Seen:
    """Save here, load and call in a new process."""
    found = subject.elsewhere(load, save(subject), *subject.arrays)
    subject.require_values("what the loaded model computes", found)
    return Seen("with the library of the op loaded before" if subject.libraries else "")


PROBE = Probe("savedmodel", "SavedModel, loaded and called in a new process", run)
