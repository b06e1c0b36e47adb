"""pyopbench: should this Python op inside a TensorFlow graph be ported, to what, and what is it worth?

Files of ops and variants import their classes from here: `from pyopbench import OwnOp`. The functions that measure and
judge from Python are here, too: `pyopbench.run(function, inputs)`. Modules are imported on first use, so that
`pyopbench --help` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyopbench.api.measure import run
    from pyopbench.api.results import compare, read
    from pyopbench.model.case import Case
    from pyopbench.model.errors import (
        BadInput,
        Interrupted,
        NothingMeasured,
        PyopbenchError,
        WorkerLost,
        WrongResult,
    )
    from pyopbench.model.op import Op, OwnOp
    from pyopbench.model.variant import Variant

__all__ = [
    "BadInput",
    "Case",
    "Interrupted",
    "NothingMeasured",
    "Op",
    "OwnOp",
    "PyopbenchError",
    "Variant",
    "WorkerLost",
    "WrongResult",
    "compare",
    "read",
    "run",
]
__version__ = "0.1.0"


_MODULES = {
    **dict.fromkeys(
        ("BadInput", "Interrupted", "NothingMeasured", "PyopbenchError", "WorkerLost", "WrongResult"),
        "pyopbench.model.errors",
    ),
    "Case": "pyopbench.model.case",
    "Op": "pyopbench.model.op",
    "OwnOp": "pyopbench.model.op",
    "Variant": "pyopbench.model.variant",
    "compare": "pyopbench.api.results",
    "read": "pyopbench.api.results",
    "run": "pyopbench.api.measure",
}
"""The module of each name; it is imported on first use (PEP 562)."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'pyopbench' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
