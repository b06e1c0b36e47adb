"""The measuring process, one launch of one TensorFlow. Imports TensorFlow."""
