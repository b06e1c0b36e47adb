"""A NumPy body with `np` bound to `tf.experimental.numpy`, as source."""

from __future__ import annotations

import ast

import numpy as np

from pyopbench.ports.conversions import on_arrays
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.render import Code


class TnpCode(Code):
    """Writes functions with TensorFlow's NumPy in place of NumPy."""

    def rewrite(self, node: ast.AST) -> str | None:
        """Return `tnp` for NumPy, `tnp.name` for what was imported from it by name, and no tensors made of arrays."""
        if isinstance(node, ast.Name) and self.is_global(node):
            value = self.value_of(node)
            if value is np:
                return "tnp"
            name = name_of(value)
            if name.startswith("np.") and not isinstance(self.units.resolve(self.source, node.id), type(None)):
                return f"tnp.{name.removeprefix('np.')}"
        made = on_arrays(node, self.value_of, "tnp")
        return self.filled(made) if made else super().rewrite(node)
