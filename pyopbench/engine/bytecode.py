"""Where a worker's Python keeps its bytecode, so that no worker compiles TensorFlow's thousands of modules again.

A run starts dozens of workers. uv does not compile what it installs unless it is asked to. Where the bytecode of
TensorFlow is missing, and PYTHONDONTWRITEBYTECODE is set (as in many containers) or the environment is not writable,
each worker would compile it for itself: starting took 13 s of processor time instead of 5 s (TensorFlow 2.21, Python
3.11). pyopbench's own modules take a few tenths of a second.

PYTHONPYCACHEPREFIX moves bytecode to a folder of its own, but then Python no longer looks beside the sources. It is
therefore set only where TensorFlow is not compiled there; otherwise the first worker would compile it a second time.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from pathlib import Path

from pyopbench.model import cache_folder
from pyopbench.model.errors import BadInput

FOLDER = "bytecode"
PREFIX, DO_NOT_WRITE = "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"


def variables(python: Path | None) -> dict[str, str]:
    """Return the environment variables by which a worker writes and reads bytecode; none where it is there already.

    Args:
        python: the interpreter of an environment for a version of TensorFlow; this one if None.
    """
    prefix = os.environ.get(PREFIX)  # with one that the user has set, nothing beside the sources is read either
    if not prefix:
        if _is_compiled(python):
            return {}
        try:
            prefix = str(cache_folder.private_tree(FOLDER, "Python's bytecode"))
        except BadInput:  # it only saves time: a run needs no cache folder
            return {}
    return {PREFIX: prefix, DO_NOT_WRITE: ""}  # Python takes an empty one for none


def _is_compiled(python: Path | None) -> bool:
    """Whether TensorFlow has its bytecode beside its sources: one file stands for all, which are installed at once."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"  # that of each environment, which is made with this Python
    path = None if python is None else [str(python.parent.parent / "lib" / f"python{version}" / "site-packages")]
    spec = importlib.machinery.PathFinder.find_spec("tensorflow", path)
    if spec is None or spec.origin is None:
        return False
    source = Path(spec.origin)
    return (source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc").exists()
