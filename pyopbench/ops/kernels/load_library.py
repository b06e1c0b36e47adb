"""Loads compiled libraries into TensorFlow, each file as it was checked (`model/open_library`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf

from pyopbench.model.errors import BadInput
from pyopbench.model.failures import describe_error
from pyopbench.model.open_library import opened_library
from pyopbench.ops.kernels.compiler import CannotCompile


@cache
def load_custom_ops(path: Path) -> Any:
    """Load the custom ops of a library, once in a process, and return the module of their Python functions.

    Raises:
        CannotCompile: TensorFlow cannot load it, or others can change it.
    """
    return load(path, tf.load_op_library, f"TensorFlow cannot load {path.name}")


def load(path: Path, loader: Callable[[str], Any], failed: str) -> Any:
    """Load a library, and return what its loader returns.

    Args:
        path: of the library, in the cache.
        loader: is given a path to the very file that was checked.
        failed: what is said where it cannot be loaded, before the loader's words.

    Raises:
        CannotCompile: it cannot be loaded, or others can change it.
    """
    try:
        with opened_library(path) as opened:
            try:
                return loader(opened)
            except (tf.errors.OpError, OSError, RuntimeError) as error:
                words = describe_error(error).replace(opened, str(path))
                raise CannotCompile(f"{failed}: {words}") from error
    except BadInput as error:
        raise CannotCompile(error.message, received=error.received, hint=error.hint) from error
    except OSError as error:
        raise CannotCompile(f"{failed}: {describe_error(error)}") from error
