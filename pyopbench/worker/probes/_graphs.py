"""What probes of graphs and sessions share."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.worker.subject import Subject

INPUT, OUTPUT = "x:0", "y:0"
SESSION_MILLISECONDS = 20_000


def graph_of(subject: Subject) -> tf.Graph:
    """Return a graph with the op from a placeholder `INPUT` to `OUTPUT`; a tf.function inside where it is compiled."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, subject.given.shape, name="x")
        compute = subject.build() if subject.variant.is_callback else subject.function()
        tf.identity(compute(x), name="y")
    return graph


def run_graph(graph: tf.Graph, target: str, numbers: Any) -> Any:
    """Run a graph of `graph_of` on a server, or without one if `target` is empty; `numbers` is `(n,) float32`."""
    options = tf.compat.v1.RunOptions(timeout_in_ms=SESSION_MILLISECONDS)
    with tf.compat.v1.Session(target, graph=graph) as session:
        return session.run(OUTPUT, {INPUT: numbers}, options=options)
