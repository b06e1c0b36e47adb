"""pyopbench: should this Python op inside a TensorFlow graph be ported, to what, and what is it worth?

What files of ops and variants are written in comes from here: `from pyopbench import OwnOp`. None of it imports
TensorFlow.
"""

from pyopbench.core.model import Case
from pyopbench.core.op import Op
from pyopbench.core.own_op import OwnOp
from pyopbench.core.variant import Variant

__all__ = ["Case", "Op", "OwnOp", "Variant"]
__version__ = "0.1.0"
