"""Has a program's callbacks counted: `pyopbench record` puts this folder in front of the program's PYTHONPATH.

Python imports `sitecustomize` when it starts (https://docs.python.org/3/library/site.html). Nothing of pyopbench but
five files is loaded, and these by their paths, so that it need not be installed for the interpreter of the program.
"""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PARTS = ("tallies", "keeper", "watch", "recorder")
"""What is loaded, each after what it imports."""


def begin() -> None:
    """Take this folder off the path, let the program have its own `sitecustomize`, and wait for TensorFlow."""
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry) != FOLDER]
    own = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")  # the next one on the path
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    if own is not None:
        sys.modules.setdefault("sitecustomize", own)
    for name in PARTS:
        load(f"pyopbench.find.injected.{name}", FOLDER / f"{name}.py")
    # A program that has a pyopbench of its own is to import that.
    *_, recorder = (sys.modules.pop(f"pyopbench.find.injected.{name}") for name in PARTS)
    recorder.wait_for_tensorflow()


def load(name: str, path: Path) -> None:
    """Load a file as the module of a name, without what Python would import to find it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None  # a .py file has both
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


if "PYOPBENCH_RECORD" in os.environ:
    begin()
