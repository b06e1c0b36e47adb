"""py_function_numpy, slowed down by 3%."""

from pyopbench.catalogue.control import slowed

VARIANT = slowed("py_function_numpy", 3)
