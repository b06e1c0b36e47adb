"""py_function_numpy, slowed down by 5%."""

from pyopbench.ops.control import slowed

VARIANT = slowed("py_function_numpy", 5)
