"""The op inside a `tf.data` pipeline: how its arrangements are built, checked and measured."""
