"""Does a session work with a server that runs in this very process?"""

from __future__ import annotations

from functools import cache

import tensorflow as tf

from pyopbench.worker.probes._graphs import graph_of, run_graph
from pyopbench.worker.subject import Probe, Seen, Subject


@cache
def start_server() -> tf.distribute.Server:
    """Start a server in this process, once."""
    return tf.distribute.Server.create_local_server()


def run(subject: Subject) -> Seen:
    """Run a v1 graph by a `tf.distribute.Server` of this process."""
    found = run_graph(graph_of(subject), start_server().target, subject.arrays)
    subject.require_values("what the server computes", found)
    return Seen()


PROBE = Probe("server_same_process", "tf.distribute.Server in the same process", run)
