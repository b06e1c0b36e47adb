"""numpy_function, slowed down by 3%."""

from pyopbench.controls.variants._made import slowed

VARIANT = slowed("numpy_function", 3)
