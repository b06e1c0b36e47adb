"""What tests of devices need, or are skipped without."""

from __future__ import annotations

import shutil

import pytest
import tensorflow as tf

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "c++", "clang++"))), reason="the simulated device needs a C++ compiler"
)

needs_gpu = pytest.mark.skipif(not tf.config.list_physical_devices("GPU"), reason="TensorFlow sees no GPU here")


needs_none = pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="TensorFlow sees a GPU here")
