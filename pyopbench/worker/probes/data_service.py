"""Does a pipeline with it work where a `tf.data` service in another process runs the pipeline?"""

from __future__ import annotations

from functools import cache
from typing import Any

import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Probe, Seen, Subject

MODE = tf.data.experimental.service.ShardingPolicy.OFF
ELEMENTS = 3


@cache
def start_service() -> tuple[Any, Any]:
    """Start a dispatcher and a worker in this process, once; they live as long as it does."""
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    address = dispatcher.target.partition("://")[2]
    return dispatcher, service.WorkerServer(service.WorkerConfig(dispatcher_address=address))


def target() -> str:
    """Start the service in this process and return where to reach it."""
    return str(start_service()[0].target)


def run(subject: Subject) -> Seen:
    """Read a map of a service in another process; `Dataset.from_generator` is a map with a callback too."""
    distributed = tf.data.experimental.service.distribute(MODE, subject.elsewhere(target))
    data = tf.data.Dataset.from_tensors(subject.x).repeat(ELEMENTS).map(subject.build(gradient=NO_GRADIENT))
    for found in data.apply(distributed):
        subject.require_values("what the service computes", found)
    return Seen("with the library of the op loaded there" if subject.libraries else "")


PROBE = Probe("data_service", "a map in a tf.data service of another process", run)
