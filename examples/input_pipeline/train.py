"""Trains a small Keras model on images that go through one of the bodies here, and times its steps.

    python examples/input_pipeline/train.py augment ready     # a step whose input is at hand: what --step-ms takes
    python examples/input_pipeline/train.py augment map       # the callback in Dataset.map
    python examples/input_pipeline/train.py augment parallel  # with num_parallel_calls
    python examples/input_pipeline/train.py brighten batch    # batch first; --batch 256 for another size
    python examples/input_pipeline/train.py augment loop      # batch first, with a loop in the callback
    python examples/input_pipeline/train.py augment compiled      # the same, with body and loop compiled by Numba
    python examples/input_pipeline/train.py augment processes # the body in processes
    python examples/input_pipeline/train.py augment processes-of-batch  # batch first, then each batch to a process
    python examples/input_pipeline/train.py augment port      # the port that is written next to the body
    python examples/input_pipeline/train.py augment port-of-batch   # batch first, then the port; --batch too

`--wait-ms` makes each step last longer without work for the CPU, as one on an accelerator does. Printed are steps a
second and milliseconds a step, to be compared with what `pyopbench pipeline examples/input_pipeline/augment.py
--step-ms MILLISECONDS` expects.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf

IMAGES, BATCH, CLASSES = 512, 32, 4
CORES = os.cpu_count() or 2
BODIES = ("augment", "denoise", "brighten")
OF_BATCHES = ("batch", "loop", "compiled")
CHANGES = (
    *("ready", "map", "parallel", *OF_BATCHES, "processes", "processes-of-batch"),
    *("port", "port-of-batch"),
)


def made(given: argparse.Namespace, ds: tf.data.Dataset, module: Any) -> tf.data.Dataset:
    """Return batches of images that went through a body, as the command line says.

    Args:
        given: `change`, `body` and `batch`.
        ds: images and labels, one by one and without end.
        module: of the body.
    """
    import tensorflow as tf

    change, function = given.change, getattr(module, given.body)

    def called_back(image: Any, label: Any, call: Callable[..., Any] | None = None) -> tuple[Any, Any]:
        called = tf.py_function(lambda one: function(one.numpy()), [image], tf.float32) if call is None else call(image)
        return tf.ensure_shape(called, image.shape), label

    def call_pool(images: Any) -> Any:
        work = partial(over_batch, function) if change == "processes-of-batch" else function
        return pool.submit(work, images).result()

    def in_numpy_function(image: Any) -> Any:
        return tf.numpy_function(called, [image], tf.float32)

    called = called_with(change, function)
    if change == "parallel":
        ds = ds.map(called_back, num_parallel_calls=given.parallel)
    elif change in ("processes", "processes-of-batch"):
        # "spawn": a process that is forked from one with TensorFlow's threads may hang.
        pool = ProcessPoolExecutor(CORES, multiprocessing.get_context("spawn"))
        in_pool = lambda image: tf.numpy_function(call_pool, [image], tf.float32)  # noqa: E731
        whole = ds if change == "processes" else ds.batch(given.batch, drop_remainder=True)
        whole = whole.map(lambda image, label: called_back(image, label, in_pool), num_parallel_calls=CORES)
        if change == "processes-of-batch":
            return rebatched(whole, given.batch)
        ds = whole
    elif change in ("port", "port-of-batch"):
        ported = getattr(module, f"{given.body}_in_tensorflow")
        whole = ds if change == "port" else ds.batch(given.batch, drop_remainder=True)
        whole = whole.map(lambda image, label: (ported(image), label), num_parallel_calls=tf.data.AUTOTUNE)
        if change == "port-of-batch":
            return rebatched(whole, given.batch)
        ds = whole
    elif change in OF_BATCHES:
        whole = ds.batch(given.batch, drop_remainder=True)
        whole = whole.map(lambda image, label: called_back(image, label, in_numpy_function))
        return rebatched(whole, given.batch)
    else:
        ds = ds.map(called_back)
    batches = ds.batch(BATCH, drop_remainder=True)
    return batches.take(1).cache().repeat() if change == "ready" else batches


def over_batch(function: Callable[[Any], Any], images: Any) -> Any:
    """Return what a function makes of each image of a batch."""
    return np.stack([function(image) for image in images])


def called_with(change: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what a callback calls after a change: the body, a loop over it, or the loop compiled by Numba."""
    if change == "loop":
        return partial(over_batch, function)
    if change == "compiled":
        return compiled_loop(function)
    return function


def compiled_loop(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of a batch that calls another for each image, both compiled by Numba."""
    import numba

    compiled = numba.njit(function)

    @numba.njit
    def over_batch(images: Any) -> Any:
        out = np.empty_like(images)
        for place in range(len(images)):
            out[place] = compiled(images[place])
        return out

    return over_batch


def rebatched(batches: tf.data.Dataset, batch: int) -> tf.data.Dataset:
    """Return batches of the size that a step takes."""
    return batches if batch == BATCH else batches.rebatch(BATCH, drop_remainder=True)


def timed_training(ds: tf.data.Dataset, side: int, steps: int, wait_seconds: float) -> float:
    """Train on batches, and return the seconds of a step after the first quarter of them."""
    import tensorflow as tf

    class StepTimer(tf.keras.callbacks.Callback):  # type: ignore[misc]
        began = ended = 0.0

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            time.sleep(wait_seconds)
            self.ended = time.perf_counter()
            if batch < steps // 4:
                self.began = self.ended

    layers = [tf.keras.layers.Flatten(), tf.keras.layers.Dense(CLASSES)]
    model = tf.keras.Sequential([tf.keras.Input((side, side, 3)), *layers])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    timer = StepTimer()
    model.fit(ds.prefetch(tf.data.AUTOTUNE), steps_per_epoch=steps, verbose=0, callbacks=[timer])
    return (timer.ended - timer.began) / (steps - steps // 4)


def main() -> None:
    """Train, and print steps a second."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("body", choices=BODIES)
    parser.add_argument("change", choices=CHANGES)
    parser.add_argument("--wait-ms", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--parallel", type=int, default=-1, help="calls at once, for parallel; -1 is AUTOTUNE")
    parser.add_argument("--batch", type=int, default=BATCH, help="elements of a call, where there is a batch first")
    given = parser.parse_args()
    import tensorflow as tf

    sys.path.insert(0, str(Path(__file__).parent))
    module = import_module(given.body)
    rng = np.random.default_rng(0)
    images = rng.random((IMAGES, module.SIDE, module.SIDE, 3), np.float32)
    ds = tf.data.Dataset.from_tensor_slices((images, rng.integers(0, CLASSES, IMAGES))).repeat()
    batches = made(given, ds, module)
    seconds = timed_training(batches, module.SIDE, given.steps, given.wait_ms / 1000)
    print(f"{1 / seconds:.1f} steps a second, {seconds * 1e3:.2f} ms a step")  # noqa: T201 - a script


if __name__ == "__main__":
    main()
