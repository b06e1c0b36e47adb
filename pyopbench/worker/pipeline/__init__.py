"""The op inside a `tf.data` pipeline: what its forms are built with, checked with and measured with."""
