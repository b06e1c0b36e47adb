"""Probes of callbacks in `tf.data`: order, memory, parallel calls, services and replicas."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.model.failures import describe_error
from pyopbench.worker.probes.bodies import growth, seen_growth
from pyopbench.worker.probes.gradients import REPLICAS, two_replicas
from pyopbench.worker.subject import VALUES, Differs, Fails, Seen, Subject, load_subject, require_equal

TIMED_ELEMENTS = 8
TIMED_TURNS = 5
CALL_SECONDS = 0.02
"""Of one body: long beside what the pipeline itself takes."""

LEAST_GAIN = 1.4
"""How many times the throughput of one call at a time two at once have to give; bodies that exclude each other give
1 at the most, and bodies that do not give 2, less what the machine has no core for."""


def scaling(subject: Subject, work: Callable[[], object]) -> Seen:
    """Return how much faster a parallel map with two calls at once is than with one, for a body that does `work`.

    Raises:
        Fails: it is not clearly faster.
    """
    subject.require_python()

    def body(x: Any) -> Any:
        work()
        return x

    function = subject.build(body, NO_GRADIENT)
    pairs = [
        (_map_seconds(function, subject, calls=1), _map_seconds(function, subject, calls=2)) for _ in range(TIMED_TURNS)
    ]
    # What else the machine does only adds to a time, so that the least of each are what the two can do.
    gain = min(one for one, _ in pairs) / min(two for _, two in pairs)
    told = f"two calls at once give {gain:.1f} times the throughput of one"
    if gain < LEAST_GAIN:
        raise Fails(told)
    return Seen(told, {"gain": gain})


def few_threads(many: int) -> tf.data.Options:
    """Return options by which a pipeline has so many threads of its own, whatever the machine has."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = many
    return options


def _map_seconds(function: Any, subject: Subject, calls: int) -> float:
    data = tf.data.Dataset.from_tensors(subject.x).repeat(TIMED_ELEMENTS).map(function, num_parallel_calls=calls)
    start = time.perf_counter()
    for _ in data.with_options(few_threads(4)):
        pass
    return time.perf_counter() - start


SERVICE_MODE = tf.data.experimental.service.ShardingPolicy.OFF
SERVICE_ELEMENTS = 3


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


def data_service(subject: Subject) -> Seen:
    """Read a map of a service in another process; `Dataset.from_generator` is a map with a callback too."""
    distributed = tf.data.experimental.service.distribute(SERVICE_MODE, subject.elsewhere(target))
    data = tf.data.Dataset.from_tensors(subject.x).repeat(SERVICE_ELEMENTS).map(subject.build(gradient=NO_GRADIENT))
    for found in data.apply(distributed):
        subject.require_values("the result of the service", found)
    return Seen("with the library of the op loaded there" if subject.libraries else "")


FUNCTION_ELEMENTS = 16


def map_function(subject: Subject) -> Seen:
    """Call a `tf.function` in the body, in maps with one call at a time and with four, on one thread and on more.

    In a process of its own: one that hangs is ended, and is said to have been silent.
    """
    subject.require_python()
    subject.elsewhere(read_maps, subject.variant.name, peer="map_function")
    return Seen()


def read_maps(variant: str) -> None:
    """Read the pipelines to their ends."""
    subject = load_subject(variant, NO_GRADIENT, Path())

    @tf.function  # type: ignore[untyped-decorator,unused-ignore]
    def inner(x: Any) -> Any:
        return x * x * x if tf.reduce_max(x) < 1e6 else x**3

    def body(x: Any) -> Any:
        found = inner(tf.convert_to_tensor(x))
        return found if subject.given_tensors else found.numpy()

    function = subject.build(body, NO_GRADIENT)
    for threads, calls in ((1, None), (1, 4), (4, 4)):
        data = tf.data.Dataset.from_tensors(subject.x).repeat(FUNCTION_ELEMENTS).map(function, num_parallel_calls=calls)
        for found in data.with_options(few_threads(threads)):
            subject.require_values("the result of the body", found)


WARM_ELEMENTS = 1_000
READ_CALLS, READ_TURNS = 2_500, 4
PIPELINE_CALLS = 250
"""Elements after which a new pipeline is made, where many are: as with a data set for each epoch."""


def map_memory(subject: Subject) -> Seen:
    """Compare the memory of a process before and after 10,000 calls: of one pipeline, and of many."""
    return seen_growth(lambda: subject.elsewhere(grow_by_reading, subject.variant.name, peer="map_memory"))


def grow_by_reading(variant: str) -> dict[str, float]:
    """Return by how many bytes 1,000 calls let this process grow, for each way of reading pipelines."""
    subject = load_subject(variant, NO_GRADIENT, Path())
    function = subject.function()

    def pipeline() -> tf.data.Dataset:
        return tf.data.Dataset.from_tensors(subject.x).repeat().map(function, num_parallel_calls=2)

    one = iter(pipeline())

    def of_many(calls: int) -> None:
        for _ in range(-(-calls // PIPELINE_CALLS)):
            for _ in pipeline().take(PIPELINE_CALLS):
                pass

    def of_one(calls: int) -> None:
        for _ in range(calls):
            next(one)

    ways = {"in one pipeline": of_one, "in many pipelines": of_many}
    return {name: growth(read, WARM_ELEMENTS, READ_CALLS, READ_TURNS) for name, read in ways.items()}


ORDERED_ELEMENTS, ORDERED_CALLS = 8, 4
ORDER_WAIT_SECONDS = 2.0
"""How long the first call waits for another one to come in beside it: calls that go one by one never do."""


class Queue:
    """Numbers the calls of a body; the first element's only once another call has had its number."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.another = threading.Event()
        self.calls = 0

    def number(self, place: int) -> int:
        """Return the number of the call for the element at `place`."""
        if place == 0:
            self.another.wait(ORDER_WAIT_SECONDS)
        with self.lock:
            found, self.calls = self.calls, self.calls + 1
        self.another.set()
        return found


def map_order(subject: Subject) -> Seen:
    """Let the body tell element and number of its call, in `map(num_parallel_calls=4, deterministic=True)`."""
    subject.require_python()
    queue = Queue()

    def body(x: Any) -> Any:
        place = int(np.asarray(x)[0])
        found = np.array([place, queue.number(place)], np.float32)
        return tf.constant(found) if subject.given_tensors else found

    function = subject.build(body, NO_GRADIENT)
    elements = tf.data.Dataset.range(ORDERED_ELEMENTS).map(lambda place: tf.fill([2], tf.cast(place, tf.float32)))
    data = elements.map(function, num_parallel_calls=ORDERED_CALLS, deterministic=True).with_options(
        few_threads(ORDERED_CALLS)
    )
    places, numbers = zip(*(found.numpy().astype(int).tolist() for found in data), strict=True)
    if places != tuple(range(ORDERED_ELEMENTS)):
        raise Differs(f"elements come out in the order {places}")
    if numbers != tuple(range(ORDERED_ELEMENTS)):
        raise Fails(
            f"elements come out in order, and were computed in another: calls {', '.join(map(str, numbers))}. A body "
            "that draws random numbers, or counts, gives others in every run"
        )
    return Seen()


def rounds_of_a_call() -> int:
    """Return how many rounds of the loop last `CALL_SECONDS`."""
    rounds, start = 20_000, time.perf_counter()
    loop(rounds)
    return int(rounds * CALL_SECONDS / (time.perf_counter() - start)) + 1


def loop(rounds: int) -> int:
    """Add numbers one by one."""
    total = 0
    for i in range(rounds):
        total += i
    return total


def map_python_loop(subject: Subject) -> Seen:
    """Compare `map(num_parallel_calls=2)` with 1, for a body that computes in Python."""
    subject.require_python()
    rounds = rounds_of_a_call()
    return scaling(subject, lambda: loop(rounds))


def map_released(subject: Subject) -> Seen:
    """Compare `map(num_parallel_calls=2)` with 1, for a body that waits without the lock, as one that reads does."""
    return scaling(subject, lambda: time.sleep(CALL_SECONDS))


BATCHES = 3


def mirrored_input(subject: Subject) -> Seen:
    """Map elements that differ, distribute them over two logical CPUs, and see that each replica gets its own."""
    strategy = two_replicas()
    factors = np.arange(1, 1 + REPLICAS * BATCHES, dtype=np.float32)
    inputs = factors[:, None] * np.array(VALUES, np.float32)
    data = tf.data.Dataset.from_tensor_slices(inputs).map(subject.build(gradient=NO_GRADIENT), num_parallel_calls=2)
    # A batch has one element for each replica; shapes are lost behind a callback.
    batches = data.map(lambda y: tf.ensure_shape(y, [len(VALUES)])).batch(REPLICAS)
    found = []
    for batch in strategy.experimental_distribute_dataset(batches):
        found += [part.numpy() for part in strategy.experimental_local_results(batch)]
    require_equal("the input of the replicas", np.concatenate(found), inputs.astype(np.float64) ** 3)
    return Seen()


STOPPED_ELEMENTS, STOPPED_AT = 5, 2


def stop_iteration(subject: Subject) -> Seen:
    """Map a body over five elements that raises StopIteration at the third."""
    subject.require_python()

    def body(x: Any) -> Any:
        if float(x[0]) == STOPPED_AT:
            raise StopIteration("words of the body")
        return x

    rows = tf.reshape(tf.range(STOPPED_ELEMENTS, dtype=tf.float32), [STOPPED_ELEMENTS, 1])
    data = tf.data.Dataset.from_tensor_slices(rows).map(subject.build(body, NO_GRADIENT))
    count = 0
    try:
        for _ in data:
            count += 1
    except Exception as error:  # noqa: BLE001 - that it is reported at all is the question
        return Seen(f"reported after {count} elements: {describe_error(error)}")
    raise Differs(f"the data end after {count} of {STOPPED_ELEMENTS} elements, without an error")
