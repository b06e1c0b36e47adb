"""Is a SavedModel right in a process that has callbacks of its own? They are found by number, and numbers repeat."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.worker.probes._graphs import graph_of
from pyopbench.worker.probes.savedmodel import load, save
from pyopbench.worker.subject import Probe, Seen, Subject

OWN_CALLBACKS = 1500
"""More than a probing process has made before it saves, so that the number of every saved one is taken."""

MAKERS = {"PyFunc": tf.numpy_function, "EagerPyFunc": tf.py_function}

_kept: list[tf.Graph] = []


def load_beside(kind: str, folder: str, *arrays: Any) -> list[Any]:
    """Make callbacks of a kind that return what they are given, under every number, then load and call the model."""
    if not _kept:
        graph = tf.Graph()
        with graph.as_default():
            x = tf.zeros(1)
            for _ in range(OWN_CALLBACKS):
                MAKERS[kind](lambda x: x, [x], tf.float32)
        _kept.append(graph)  # TensorFlow forgets a callback with the graph that it was made in
    return load(folder, *arrays)


def run(subject: Subject) -> Seen:
    """Save here, load and call in a process whose own callbacks return their input."""
    kind = "EagerPyFunc" if "EagerPyFunc" in str(graph_of(subject).as_graph_def()) else "PyFunc"
    found = subject.elsewhere(load_beside, kind, save(subject), *subject.arrays, peer=f"with callbacks: {kind}")
    subject.require_values("what the loaded model computes", found)
    return Seen()


PROBE = Probe("savedmodel_beside_callbacks", "SavedModel, loaded in a process that has callbacks of its own", run)
