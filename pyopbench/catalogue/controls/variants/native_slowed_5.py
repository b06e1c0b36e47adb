"""native, slowed down by 5%."""

from pyopbench.catalogue.control import slowed

VARIANT = slowed("native", 5)
