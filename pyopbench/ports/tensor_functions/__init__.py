"""NumPy's and SciPy's functions on tensors: tracing calls them, and their source comes along into written ports."""
