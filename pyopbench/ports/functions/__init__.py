"""NumPy's and SciPy's functions on tensors, whose source comes along into written ports."""
