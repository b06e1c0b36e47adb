"""py_function_numpy, slowed down by 3%."""

from pyopbench.controls.variants._made import slowed

VARIANT = slowed("py_function_numpy", 3)
