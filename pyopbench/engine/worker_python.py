"""The Python that a worker runs on: this one, or another with its own TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pyopbench.engine.environments import folder_with_only
from pyopbench.model.discover import PACKAGE


def command(usual: Sequence[str], python: Path | None) -> Sequence[str]:
    """Return the command of a worker with an interpreter; with this one, None, it is the usual command."""
    return usual if python is None else (str(python), *usual[1:])


def variables(python: Path | None) -> dict[str, str]:
    """Return the environment variables that let another interpreter find pyopbench and nothing else.

    Where pyopbench is installed, the folder that it is in holds this Python's TensorFlow too, which would come first.
    """
    if python is None:
        return {}
    places = [str(folder_with_only(PACKAGE)), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(places)}


def remedy(python: Path | None) -> str:
    """Return what to try if a worker does not start."""
    if python is None:
        return "check that `python -c 'import tensorflow'` works in this environment: pip install -e '.[cpu]'"
    return f"check that `{python} -c 'import tensorflow'` works; delete {python.parent.parent} to have it created again"
