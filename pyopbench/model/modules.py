"""Python files as modules, and the modules of own ops.

Nothing here may import TensorFlow: the command line reads targets without it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from pyopbench.model.own_target import Target


def load_file(path: Path, name: str) -> ModuleType:
    """Run a Python file as a module with a name, under which it can be imported from then on; return the module."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None  # a .py file has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def module_of(target: Target) -> ModuleType:
    """Return the module of an own op; a file is run, and can be imported by its name from then on."""
    if not target.is_file:
        return importlib.import_module(target.place)
    path = Path(target.place)
    root, dotted = path.parent, path.stem
    while (root / "__init__.py").is_file():
        root, dotted = root.parent, f"{root.name}.{dotted}"
    # Last, so that a user's file with the name of a module of TensorFlow does not replace that module.
    sys.path.append(str(root))
    if "." in dotted:  # a part of a package, which may import the others relatively
        return importlib.import_module(dotted)
    return load_file(path, f"pyopbench_own_{target.name}")
