"""native, slowed down by 10%."""

from pyopbench.catalogue.control import slowed

VARIANT = slowed("native", 10)
