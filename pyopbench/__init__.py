"""pyopbench: should this Python op inside a TensorFlow graph be ported, to what, and what is it worth?

What files of ops and variants are written in comes from here: `from pyopbench import OwnOp`. So do the functions that
measure and judge from Python: `pyopbench.run(function, inputs)`. Nothing here imports TensorFlow or pandas before it is
called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pyopbench.core.errors import (
    BadInput,
    CannotStore,
    Interrupted,
    NothingMeasured,
    PyopbenchError,
    WorkerLost,
    WrongResult,
)
from pyopbench.core.model import Case
from pyopbench.core.op import Op
from pyopbench.core.own_op import OwnOp
from pyopbench.core.variant import Variant

if TYPE_CHECKING:
    from pyopbench.api.measure import resume, run
    from pyopbench.api.measure_pipeline import pipeline
    from pyopbench.api.stored import compare, read

__all__ = [
    "BadInput",
    "CannotStore",
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
    "pipeline",
    "read",
    "resume",
    "run",
]
__version__ = "0.1.0"


class _LoadedWhenCalledFor:
    """A function of this package, whose module is imported when somebody asks for it.

    `run` and `compare` are names of folders of this package, too. Importing a module of such a folder makes Python put
    the folder under its name here; the function keeps the name, and `from pyopbench.run import start` works as ever.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, package: object, owner: type | None = None) -> Any:
        return getattr(import_module(self._module), self._name)

    def __set__(self, package: object, value: object) -> None:
        if not isinstance(value, ModuleType):
            raise AttributeError(f"{self._name} cannot be replaced")


class _Package(ModuleType):
    compare = _LoadedWhenCalledFor("pyopbench.api.stored")
    pipeline = _LoadedWhenCalledFor("pyopbench.api.measure_pipeline")
    read = _LoadedWhenCalledFor("pyopbench.api.stored")
    resume = _LoadedWhenCalledFor("pyopbench.api.measure")
    run = _LoadedWhenCalledFor("pyopbench.api.measure")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
