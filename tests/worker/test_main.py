"""The worker begins without looking for garbage where there is none, and without Keras."""

from __future__ import annotations

import subprocess
import sys

BEGINNING = """
import gc, sys

class Found:
    def find_spec(self, name, path=None, target=None):
        if name == "pyopbench.worker.requests":
            print(gc.isenabled(), type(sys.meta_path[0]).__name__)
            raise ImportError

sys.meta_path.insert(0, Found())
from pyopbench.worker.__main__ import main
try:
    main()
except ImportError:
    print(gc.isenabled(), type(sys.meta_path[0]).__name__)
"""


def test_no_garbage_is_collected_while_tensorflow_is_imported() -> None:
    """And it is collected again afterwards, also if TensorFlow could not be imported."""
    done = subprocess.run([sys.executable, "-c", BEGINNING], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["False KerasLater", "True Found"]
