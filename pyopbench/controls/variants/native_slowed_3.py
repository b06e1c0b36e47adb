"""native, slowed down by 3%."""

from pyopbench.controls.variants._made import slowed

VARIANT = slowed("native", 3)
