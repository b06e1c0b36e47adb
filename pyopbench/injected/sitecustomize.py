"""Has a program's callbacks counted: `pyopbench record` puts this folder in front of the program's PYTHONPATH.

Python imports `sitecustomize` when it starts (https://docs.python.org/3/library/site.html). Nothing of pyopbench but
one file is loaded, and that by its path, so that it need not be installed for the interpreter of the program.
"""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


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
    spec = importlib.util.spec_from_file_location("pyopbench_recorder", FOLDER.parent / "recorder.py")
    assert spec is not None
    assert spec.loader is not None  # a .py file has both
    recorder = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = recorder
    spec.loader.exec_module(recorder)
    recorder.wait_for_tensorflow()


if "PYOPBENCH_RECORD" in os.environ:
    begin()
