"""What probes of graphs and sessions share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.subject import Subject

INPUT, OUTPUT = "x{}:0", "y{}:0"
"""Names of inputs and outputs, by their places."""

OUTPUT_NODE = re.compile(r"y\d+")
SESSION_MILLISECONDS = 20_000


def graph_of(subject: Subject) -> tf.Graph:
    """Return a graph with the op from placeholders to its outputs; a tf.function inside where it is compiled."""
    graph = tf.Graph()
    with graph.as_default():
        placeholders = [
            tf.compat.v1.placeholder(one.dtype, one.shape, name=f"x{place}") for place, one in enumerate(subject.given)
        ]
        compute = subject.build() if subject.variant.is_callback else subject.function()
        for place, output in enumerate(as_tuple(compute(*placeholders))):
            tf.identity(output, name=f"y{place}")
    return graph


def run_graph(graph: tf.Graph, target: str, arrays: Sequence[Any]) -> list[Any]:
    """Run a graph of `graph_of` of some arrays on a server, or without one if `target` is empty; return its outputs."""
    outputs = sum(OUTPUT_NODE.fullmatch(node.name) is not None for node in graph.get_operations())
    options = tf.compat.v1.RunOptions(timeout_in_ms=SESSION_MILLISECONDS)
    with tf.compat.v1.Session(target, graph=graph) as session:
        fed = {INPUT.format(place): array for place, array in enumerate(arrays)}
        found: list[Any] = session.run([OUTPUT.format(place) for place in range(outputs)], fed, options=options)
        return found
