"""Functions that NumPy itself writes in Python: they are traced as bodies are, so that they do just what NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopbench.ports.tracing.registry import in_numpy

NAMES = ("poly1d",)


def _enter(name: str) -> None:
    function = getattr(np, name, None)
    if not hasattr(function, "__wrapped__"):
        return

    @in_numpy(name)
    def traced(*arguments: Any, **options: Any) -> Any:
        from pyopbench.ports.tracing.names import rebound

        return rebound(function.__wrapped__)(*arguments, **options)  # type: ignore[union-attr]


for _name in NAMES:
    _enter(_name)
