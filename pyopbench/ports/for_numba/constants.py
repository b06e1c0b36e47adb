"""Numbers that a body reads from a dict or an object of settings, which Numba has no type for."""

from __future__ import annotations

import ast
import dataclasses
import types
from enum import Enum
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import Instead, Names


def item_of_dict(node: ast.Subscript, names: Names) -> Instead | None:
    """Return the value of an item of a global dict, of which the key is written as a constant."""
    if not isinstance(node.ctx, ast.Load) or not isinstance(node.slice, ast.Constant):
        return None
    given = names.value_of(node.value)
    is_there = type(given) is dict and node.slice.value in given
    return _literal(given[node.slice.value]) if is_there else None


def attribute_of_settings(node: ast.Attribute, names: Names) -> Instead | None:
    """Return the value of an attribute of a global object that holds settings."""
    if not isinstance(node.ctx, ast.Load):
        return None
    home = names.value_of(node.value)
    if home is None or not _holds_settings(home):
        return None
    return _literal(getattr(home, node.attr, None))


def _holds_settings(home: Any) -> bool:
    """Is it a namespace, as `argparse` makes them, an instance of a data class, or a class of the user's?"""
    if isinstance(home, type):
        return (
            "__init__" not in vars(home) and home.__module__ not in ("builtins", "numpy") and not issubclass(home, Enum)
        )
    is_namespace = isinstance(home, types.SimpleNamespace) or type(home).__name__ == "Namespace"
    return is_namespace or dataclasses.is_dataclass(home)


def _literal(value: Any) -> Instead | None:
    """Return numbers and text as they are written; None for what is neither."""
    if type(value) is str:
        return Instead(repr(value)) if "{" not in value else None
    if type(value) in (int, float, bool):
        text = repr(value)
        return Instead(f"({text})" if text.startswith("-") else text) if np.isfinite(value) else None
    if type(value) in (tuple, list) and value:
        items = [_literal(one) for one in value]
        texts = [one.text for one in items if one is not None]
        return Instead(f"({', '.join(texts)},)") if len(texts) == len(items) else None
    return None
