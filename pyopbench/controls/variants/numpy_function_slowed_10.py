"""numpy_function, slowed down by 10%."""

from pyopbench.controls.variants._made import slowed

VARIANT = slowed("numpy_function", 10)
