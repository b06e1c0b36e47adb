"""native, slowed down by 10%."""

from pyopbench.controls.variants._made import slowed

VARIANT = slowed("native", 10)
