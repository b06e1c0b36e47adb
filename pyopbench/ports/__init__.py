"""From a NumPy body to ports: what it does, its source in TensorFlow, its rewriting for Numba."""
