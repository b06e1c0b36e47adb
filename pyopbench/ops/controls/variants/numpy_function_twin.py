"""numpy_function under a second name: what is measured between the two is noise."""

from pyopbench.ops.control import twin

VARIANT = twin("numpy_function")
