"""numpy_function, slowed down by 3%."""

from pyopbench.catalogue.control import slowed

VARIANT = slowed("numpy_function", 3)
