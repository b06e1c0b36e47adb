"""numpy_function, slowed down by 10%."""

from pyopbench.catalogue.control import slowed

VARIANT = slowed("numpy_function", 10)
