"""log_huber_elementwise: `log_huber` is a ufunc already."""

from pyopbench.compiled.log_huber import body, gradient

__all__ = ["body", "gradient"]
