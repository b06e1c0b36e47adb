"""native under a second name: what is measured between the two is noise."""

from pyopbench.ops.control import twin

VARIANT = twin("native")
