"""Loads ops and variants by name, each from the file that defines it."""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pyopbench.model.case import CONTROL_SUFFIX
from pyopbench.model.discover import CONTROLS, OBJECTS, PACKAGE, find
from pyopbench.model.errors import BadInput, describe_error
from pyopbench.model.files import load_file
from pyopbench.model.op import Op
from pyopbench.model.side import require_from_checkout
from pyopbench.model.variant import Variant
from pyopbench.ops.cost_components import COST_COMPONENTS, twin_of
from pyopbench.ops.own.load import OWN_OPS, load_own
from pyopbench.ports.arrays import as_array


def load_op(name: str) -> Op:
    """Return the built-in op of a name, or the own op of that name."""
    if name in OWN_OPS:
        return load_own(OWN_OPS[name])
    op: Op = _load_object("ops", name)
    return op


def load_variant(name: str) -> Variant:
    """Return the variant or the cost component of a name, or the A/A control of a variant."""
    if name.endswith(CONTROL_SUFFIX) and name not in find("variants"):
        return _twin_of(name.removesuffix(CONTROL_SUFFIX))
    variant: Variant = COST_COMPONENTS.get(name) or _load_object("variants", name)
    return variant


def load_ops() -> dict[str, Op]:
    """Return every op by name, in alphabetical order."""
    return {name: load_op(name) for name in sorted({*find("ops"), *OWN_OPS})}


def load_variants() -> dict[str, Variant]:
    """Return every variant by name, in alphabetical order."""
    return {name: load_variant(name) for name in find("variants")}


def why_unloadable() -> dict[str, str | None] | None:
    """Return what `BadInput` says of a file of an op or a variant that cannot be loaded, and the traceback, or None."""
    try:
        load_ops(), load_variants()
        require_from_checkout(os.environ)
    except Exception as error:  # noqa: BLE001 - a file that is somebody else's may raise anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        shown = (
            error
            if isinstance(error, BadInput)
            else BadInput(
                "cannot load an op or a variant",
                received=f"{describe_error(error)} ({place.filename}:{place.lineno})",
                legal="a Python file that ends with OP = Op(...) or VARIANT = Variant(...)",
                hint="fix the file",
            )
        )
        return {**shown.as_plain(), "traceback": "".join(traceback.format_exception(error))}
    return None


def load_parts() -> dict[str, Variant]:
    """Return every part by name: cost components in alphabetical order, then A/A controls of variants."""
    twins = [name + CONTROL_SUFFIX for name, variant in load_variants().items() if variant.is_callback]
    return {name: load_variant(name) for name in (*COST_COMPONENTS, *twins)}


@cache
def _twin_of(name: str) -> Variant:
    return twin_of(load_variant(name))


def _load_object(kind: str, name: str) -> Any:
    module, called = _load(kind, find(kind)[name]), OBJECTS[kind]
    return getattr(module, f"{called}S", {}).get(name) or getattr(module, called)


@cache
def _load(kind: str, path: Path) -> ModuleType:
    if PACKAGE in path.parents and CONTROLS not in path.parents:
        return importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    return load_file(path, f"pyopbench_{kind}_{path.stem}")


def make_inputs(op: Op, size: int, dtype: str, seed: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the op's inputs for a size and dtype: the same arrays for the same arguments, in every process."""
    # The name goes into the seed letter by letter, because hash() differs from process to process.
    rng = np.random.default_rng([seed, size, *op.name.encode()])
    return tuple(as_array(array) for array in op.make_inputs(size, dtype, rng))


def describe(ops: dict[str, Op], variants: dict[str, Variant]) -> dict[str, Any]:
    """Return what the judging half has to know about ops and variants, as plain data."""
    return {
        "ops": {name: _describe_op(op) for name, op in ops.items()},
        "variants": describe_variants(variants),
    }


def _describe_op(op: Op) -> dict[str, Any]:
    return {
        "summary": op.summary,
        "sizes": list(op.sizes),
        "quick_sizes": list(op.quick_sizes),
        "size_unit": op.size_unit,
        # The bodies that pyopbench generates ports from.
        **({"own": True, "tried": sorted(op.own.tried) if op.is_on_tensors else ["numpy"]} if op.own else {}),
    }


def describe_variants(variants: Mapping[str, Variant]) -> dict[str, Any]:
    """Return what the judging half has to know about variants or parts, as plain data."""
    return {
        name: {
            "summary": variant.summary,
            "body": variant.body,
            "kind": "part" if variant.is_part else variant.kind,
            "role": variant.role,
            "effort": variant.effort,
            "gradients": list(variant.gradients),
            "automatic": variant.is_attempt,
        }
        for name, variant in variants.items()
    }
