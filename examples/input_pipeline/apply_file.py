"""How a written arrangement goes into a pipeline.

`arranged.py` and `arranged_batch.py` are written by

pyopbench port examples/input_pipeline/augment.py --to processes --out arranged.py
pyopbench port examples/input_pipeline/augment.py --to "batch_loop batch=32" --out arranged_batch.py
"""

from __future__ import annotations

from typing import Any

import arranged
import arranged_batch
import tensorflow as tf


def elements(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Augment elements `(image, label, weight)`; label and weight are passed on."""
    return arranged.arrange(dataset)


def batches(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Augment batches of such elements, in place of a map before `batch`."""
    return arranged_batch.arrange(dataset.batch(32))


def dicts(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Augment elements such as `{"image": ..., "boxes": ...}`, also with ragged tensors."""
    return arranged.arrange(
        dataset,
        take=lambda element: [element["image"]],
        put=lambda outputs, element: {**element, "image": outputs[0]},
    )


def in_a_map_that_does_more(raw: tf.Tensor, label: tf.Tensor) -> Any:
    """Decode and augment: `outputs_of` takes the place of `tf.numpy_function`."""
    image = tf.reshape(tf.io.decode_raw(raw, tf.float32), [16, 16, 3])
    (image,) = arranged.outputs_of([image])
    return image, label


def with_its_own_processes(dataset: tf.data.Dataset) -> list[Any]:
    """Choose the number of processes, their threads, and the seed."""
    with arranged.Pool(processes=2, threads=1, seed=7) as pool:
        return list(arranged.arrange(dataset, pool=pool))


def repeatable(dataset: tf.data.Dataset, seed: int) -> tf.data.Dataset:
    """Draw from the number of an element, whichever process gets it."""

    def drawn(number: tf.Tensor, image: tf.Tensor) -> Any:
        gain = tf.random.stateless_uniform([], [seed, number], 0.8, 1.2)
        return image * gain

    return dataset.enumerate().map(drawn)
