"""numpy_function, slowed down by 5%."""

from pyopbench.controls.variants._made import slowed

VARIANT = slowed("numpy_function", 5)
