"""log_huber_elementwise: `log_huber` is a ufunc already."""

from pyopbench.ops.numba_bodies.log_huber import body, gradient

__all__ = ["body", "gradient"]
