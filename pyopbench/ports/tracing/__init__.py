"""Arrays that stand for tensors: NumPy code that is called with them adds TensorFlow ops to a graph."""
