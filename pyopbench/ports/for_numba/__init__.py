"""NumPy as Numba takes it: replacements of idioms that it refuses, in the body that is tried and in a written port."""
