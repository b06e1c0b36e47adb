"""Modules of `tests/helpers`, for scripts that need what tests have: made repositories, a browser."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "helpers"


def helper(name: str) -> Any:
    """Return a module of that folder."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return import_module(name)
