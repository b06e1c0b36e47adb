"""Waits for TensorFlow in a program that is recorded, and has its callback functions wrapped when it is imported."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pyopbench.find.injected import input_waits
from pyopbench.find.injected.recorder import Recorder

VARIABLE = "PYOPBENCH_RECORD"
"""The environment variable that names the folder which each process writes its counts to."""

MODULE = "tensorflow.python.ops.script_ops"
"""Where TensorFlow 2 defines its callback functions; `tensorflow` imports them from there by name."""


class _Finder:
    """Finds some modules as others do, and has each wrapped once it has been run."""

    def __init__(self, wrap: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self.wrap = wrap

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of one of the modules with a loader that also wraps; None for every other module."""
        if name not in self.wrap:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((found for one in others if (found := one.find_spec(name, path, target))), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_wrap(module: ModuleType) -> None:
                run(module)
                self.wrap[name](module)

            spec.loader.exec_module = run_and_wrap  # type: ignore[method-assign]
        return spec


def wait_for_tensorflow() -> Recorder:
    """Have callbacks counted from when TensorFlow is imported, and written to the folder that `VARIABLE` names."""
    recorder = Recorder(Path(os.environ[VARIABLE]))

    def count_callbacks(module: ModuleType) -> None:
        try:
            recorder.install(module)
        except Exception as error:  # noqa: BLE001 - TensorFlow 1, or one that is made otherwise
            recorder.refuse(f"{MODULE} is not as expected: {error!r}")

    def measure_waits(module: ModuleType) -> None:
        try:
            recorder.waits.install(module)
        except Exception as error:  # noqa: BLE001 - as above
            recorder.waits.trouble = f"{input_waits.MODULE} is not as expected: {error!r}"

    sys.meta_path.insert(0, _Finder({MODULE: count_callbacks, input_waits.MODULE: measure_waits}))
    return recorder
