"""NumPy as Numba takes it: what stands for idioms that it refuses, in the body that is tried and in a written port."""
