"""Whether TensorFlow sees a GPU."""

from __future__ import annotations

import pytest
import tensorflow as tf

needs_gpu = pytest.mark.skipif(not tf.config.list_physical_devices("GPU"), reason="TensorFlow sees no GPU here")


needs_none = pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="TensorFlow sees a GPU here")
