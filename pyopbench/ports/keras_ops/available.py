"""Is Keras 3 there, with TensorFlow as its backend? Only from then on is there `keras.ops`."""

from __future__ import annotations

import json
import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FIRST = 3
"""Major version of the first Keras with `keras.ops`; TensorFlow has it from 2.16:
https://keras.io/getting_started/#tensorflow--keras-2-backwards-compatibility"""


def why_no_keras_ops() -> str | None:
    """Return why there is no `keras.ops` on TensorFlow here, None if there is. Keras is not imported for it."""
    try:
        found = version("keras")
    except PackageNotFoundError:
        return "Keras 3 is not installed: TensorFlow brings it from 2.16 on, or pip install keras"
    if int(found.split(".")[0]) < FIRST:
        return f"keras.ops came with Keras 3, and here is Keras {found}: TensorFlow brings Keras 3 from 2.16 on"
    backend = _backend()
    if backend != "tensorflow":
        return f"Keras runs on {backend} here, and graphs of TensorFlow need KERAS_BACKEND=tensorflow"
    return None


def _backend() -> str:
    """Return the backend that Keras will take when it is imported, as `keras/src/backend/config.py` looks for it."""
    named = os.environ.get("KERAS_BACKEND")
    if named:
        return named
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        settings: Any = json.loads((home / "keras.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "tensorflow"
    return str(settings.get("backend", "tensorflow")) if isinstance(settings, dict) else "tensorflow"
