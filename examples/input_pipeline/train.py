"""Trains a small Keras model on images that are made on the spot, decoded, augmented and batched, and times its steps.

    python examples/input_pipeline/train.py map            # the callback in Dataset.map
    python examples/input_pipeline/train.py parallel       # with num_parallel_calls
    python examples/input_pipeline/train.py port           # the port that is written beside the body
    python examples/input_pipeline/train.py map --step-ms 30   # a step that takes at least so long

What is printed is steps a second, to be held against those that `pyopbench pipeline` expects.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from augment import SIDE, augment, augment_in_tensorflow

IMAGES, BATCH, CLASSES = 512, 32, 4


def encoded_images() -> tuple[list[bytes], Any]:
    """Return images as PNG, and labels `(images,)` int64."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (IMAGES, SIDE, SIDE, 3), np.uint8)
    return [tf.io.encode_png(one).numpy() for one in pixels], rng.integers(0, CLASSES, IMAGES)


def decoded(image: Any, label: Any) -> tuple[Any, Any]:
    """Return the image of a PNG as `(side, side, 3)` float32 in [0, 1], with its label."""
    pixels = tf.io.decode_png(image, channels=3)
    return tf.ensure_shape(tf.image.convert_image_dtype(pixels, tf.float32), (SIDE, SIDE, 3)), label


def called_back(image: Any, label: Any) -> tuple[Any, Any]:
    """Return the image augmented by the callback."""
    augmented = tf.py_function(lambda one: augment(one.numpy()), [image], tf.float32)
    return tf.ensure_shape(augmented, image.shape), label


def ported(image: Any, label: Any) -> tuple[Any, Any]:
    """Return the image augmented by the port."""
    return augment_in_tensorflow(image), label


CHANGES: dict[str, Callable[[Any], Any]] = {
    "map": lambda ds: ds.map(called_back),
    "parallel": lambda ds: ds.map(called_back, num_parallel_calls=tf.data.AUTOTUNE),
    "port": lambda ds: ds.map(ported, num_parallel_calls=tf.data.AUTOTUNE),
}
"""What the pipeline is with each answer of the report."""


class StepTimer(tf.keras.callbacks.Callback):
    """Times steps after the first ones, and makes a step last at least so many seconds."""

    def __init__(self, least_seconds: float, warm_up: int) -> None:
        """Count from the step of this number on."""
        super().__init__()
        self.least_seconds, self.warm_up, self.steps, self.began, self.ended = least_seconds, warm_up, 0, 0.0, 0.0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Wait, as for an accelerator, and count."""
        time.sleep(self.least_seconds)
        if batch == self.warm_up:
            self.began = time.perf_counter()
        self.steps += batch > self.warm_up
        self.ended = time.perf_counter()

    @property
    def steps_per_second(self) -> float:
        """Steps a second after the warm-up."""
        return self.steps / (self.ended - self.began)


def main() -> None:
    """Train, and print steps a second."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("change", choices=CHANGES)
    parser.add_argument("--step-ms", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    images, labels = encoded_images()
    ds = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().map(decoded)
    ds = CHANGES[given.change](ds).batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    layers = [tf.keras.layers.Flatten(), tf.keras.layers.Dense(CLASSES)]
    model = tf.keras.Sequential([tf.keras.Input((SIDE, SIDE, 3)), *layers])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    timer = StepTimer(given.step_ms / 1000, given.steps // 4)
    model.fit(ds, steps_per_epoch=given.steps, verbose=0, callbacks=[timer])
    print(f"{timer.steps_per_second:.1f} steps a second")  # noqa: T201 - a script


if __name__ == "__main__":
    main()
