"""The example of how files go into pipelines does what it says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from places import ROOT
from pyopbench.model.files import load_file
from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import load_own
from pyopbench.ops.port_file import PORTS

FOLDER = ROOT / "examples" / "input_pipeline"
FILES = {"arranged": "processes", "arranged_batch": "batch_loop batch=32"}
IMAGES = np.random.default_rng(0).random((40, 16, 16, 3), np.float32)


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    op = load_own(read_target(str(FOLDER / "augment.py"), [], []))
    for name, key in FILES.items():
        call = PORTS.call_of(op, key, "float32", "numpy_function")
        sys.modules[name] = sys.modules[call.__module__]
    yield load_file(FOLDER / "apply_file.py", "apply_file_example")
    sys.modules["arranged"].usual_pool().close()
    for name in (*FILES, "apply_file_example"):
        sys.modules.pop(name)


def augmented(images: Any) -> Any:
    return np.clip((images[..., ::-1, :] - np.float32(0.5)) * np.float32(1.5) + np.float32(0.5), 0, 1)


@pytest.fixture
def dataset() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((IMAGES, np.arange(40), np.ones(40, np.float32)))


def test_elements_and_batches_keep_labels_and_weights(example: Any, dataset: tf.data.Dataset) -> None:
    images, labels, weights = zip(*example.elements(dataset).as_numpy_iterator(), strict=True)
    np.testing.assert_allclose(np.stack(images), augmented(IMAGES), atol=1e-6)
    assert labels == (*range(40),)
    assert set(weights) == {1}
    images, labels, _ = zip(*example.batches(dataset).as_numpy_iterator(), strict=True)
    np.testing.assert_allclose(np.concatenate(images), augmented(IMAGES), atol=1e-6)
    assert [len(one) for one in labels] == [32, 8]


def test_dicts_and_a_map_that_does_more(example: Any, dataset: tf.data.Dataset) -> None:
    dicts = dataset.map(lambda image, label, weight: {"image": image, "boxes": tf.ragged.range([label, 2])})
    (first, *_) = example.dicts(dicts)
    np.testing.assert_allclose(first["image"], augmented(IMAGES[0]), atol=1e-6)
    raw = tf.data.Dataset.from_tensor_slices(([one.tobytes() for one in IMAGES], np.arange(40)))
    images = [image.numpy() for image, _ in raw.map(example.in_a_map_that_does_more)]
    np.testing.assert_allclose(np.stack(images), augmented(IMAGES), atol=1e-6)


def test_a_pool_of_its_own_and_draws_that_repeat(example: Any, dataset: tf.data.Dataset) -> None:
    assert len(example.with_its_own_processes(dataset)) == 40
    images = tf.data.Dataset.from_tensor_slices(IMAGES)
    first, again, other = (np.stack(list(example.repeatable(images, seed))) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.allclose(first[0] / IMAGES[0], first[1] / IMAGES[1])
