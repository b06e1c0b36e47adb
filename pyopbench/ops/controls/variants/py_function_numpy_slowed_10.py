"""py_function_numpy, slowed down by 10%."""

from pyopbench.ops.control import slowed

VARIANT = slowed("py_function_numpy", 10)
