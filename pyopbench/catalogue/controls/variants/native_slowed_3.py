"""native, slowed down by 3%."""

from pyopbench.catalogue.control import slowed

VARIANT = slowed("native", 3)
