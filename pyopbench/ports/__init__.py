"""From a NumPy body to ports: its observation, its sources, its rewriting for Numba."""
