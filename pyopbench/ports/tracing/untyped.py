"""NumPy without its types, which know of no arrays but its own."""

from __future__ import annotations

from typing import Any

import numpy  # noqa: ICN001

np: Any = numpy
