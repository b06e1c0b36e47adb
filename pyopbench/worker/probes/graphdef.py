"""Is a GraphDef enough to compute with, in a process that has not the Python function?"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.worker.probes._graphs import graph_of, run_graph
from pyopbench.worker.subject import Probe, Seen, Subject


def import_and_run(serialized: bytes, *arrays: Any) -> list[Any]:
    """Import a GraphDef and return what it computes of some arrays."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(tf.compat.v1.GraphDef.FromString(serialized), name="")
    return run_graph(graph, "", arrays)


def run(subject: Subject) -> Seen:
    """Take the GraphDef of a v1 graph here, and run it in a new process."""
    serialized = graph_of(subject).as_graph_def().SerializeToString()
    found = subject.elsewhere(import_and_run, serialized, *subject.arrays)
    subject.require_values("what the graph computes", found)
    return Seen("with the library of the op loaded before" if subject.libraries else "")


PROBE = Probe("graphdef", "GraphDef, run where its Python function is not", run)
