"""native, slowed down by 5%."""

from pyopbench.controls.variants._made import slowed

VARIANT = slowed("native", 5)
