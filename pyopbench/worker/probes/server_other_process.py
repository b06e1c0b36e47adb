"""Does a session work with a server in another process?"""

from __future__ import annotations

from pyopbench.worker.probes._graphs import graph_of, run_graph
from pyopbench.worker.probes.server_same_process import start_server
from pyopbench.worker.subject import Probe, Seen, Subject


def target() -> str:
    """Start a server in this process, once, and return where to reach it."""
    return str(start_server().target)


def run(subject: Subject) -> Seen:
    """Run a v1 graph by a `tf.distribute.Server` of another process."""
    found = run_graph(graph_of(subject), subject.elsewhere(target), subject.arrays)
    subject.require_values("what the server computes", found)
    return Seen("with the library of the op loaded there" if subject.libraries else "")


PROBE = Probe("server_other_process", "tf.distribute.Server in another process", run)
