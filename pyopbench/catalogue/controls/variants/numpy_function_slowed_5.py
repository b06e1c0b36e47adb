"""numpy_function, slowed down by 5%."""

from pyopbench.catalogue.control import slowed

VARIANT = slowed("numpy_function", 5)
