"""TensorFlow without Keras, until something uses it.

Keras is a package of its own, which TensorFlow imports only so that what Keras registers is there in any case. With
Keras come pandas and SciPy where they are installed, together a good part of what a worker takes to start. It is
imported all the same as soon as a body or a variant says `tf.keras` or `import keras`.

Source: the end of `tensorflow/__init__.py`, which goes on without Keras if importing it raises ImportError.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGES = ("keras", "tf_keras")


class KerasLater(MetaPathFinder, Loader):
    """Finds Keras where it is, which TensorFlow asks for too, and refuses to import it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a package of Keras is; None for all others, which are found as ever."""
        found = PathFinder.find_spec(fullname, path) if fullname in PACKAGES else None
        if found is not None:
            found.loader = self
        return found

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Refuse."""
        raise ImportError(f"{spec.name} is imported by what uses it", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is no module."""


@contextmanager
def keras_later() -> Iterator[None]:
    """Let what is imported within do without Keras, unless that is imported already."""
    finder = KerasLater()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def import_tensorflow() -> None:
    """Import TensorFlow without Keras."""
    with keras_later():
        import_module("tensorflow")
