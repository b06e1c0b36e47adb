"""Variants of an op in a pipeline: the function that `map` gets, element by element or a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.model.errors import Unsupported
from pyopbench.ops.load import load_variant, load_variants
from pyopbench.ops.own.explain import explain
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.pipeline.form import PipelineContext, mapped
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare.segments import wrap


def function_of(elements: Elements, name: str) -> Callable[..., tuple[Any, ...]]:
    """Return a variant as a function of the tensors of one element, compiled as the variant says.

    Raises:
        Unsupported: the variant does not exist for the op; with the reason.
    """
    variant = load_variant(name)
    case = replace(elements.case, variant=name)
    reason = why_not(elements.op, variant, case)
    if reason:
        raise Unsupported(reason)
    function = wrap(variant.build(elements.op, case), variant, "call")

    def called(*inputs: Any) -> tuple[Any, ...]:
        try:
            return as_tuple(function(*inputs))
        except Exception as error:
            if not variant.is_attempt_for(elements.op):
                raise
            raise Unsupported(explain(error, elements.op)) from error

    return called


def in_map(context: PipelineContext, name: str, arrangement: Arrangement) -> tf.data.Dataset:
    """Return the elements with a variant in `map`, each for itself."""
    elements = context.elements
    function = function_of(elements, name)

    def work(*inputs: Any) -> tuple[Any, ...]:
        return elements.shaped(function(*inputs))

    return mapped(elements.source(), work, arrangement, context.settings)


def is_attempt(elements: Elements, name: str) -> bool:
    """Did nobody write this variant for the op?"""
    return load_variant(name).is_attempt_for(elements.op)


def variants_for(elements: Elements, kind: str) -> Sequence[tuple[str, float, str | None]]:
    """Return the variants of a kind that a run would measure for the op: name, effort, and why not, if not.

    Args:
        elements: for their op, size and dtype.
        kind: `callback` or `port`.
    """
    op, current = elements.op, elements.case.variant
    found = []
    for name, variant in load_variants().items():
        wanted = variant.is_port if kind == "port" else variant.is_callback
        if wanted and variant.is_usual_for(op) and name != current:
            reason = why_not(op, variant, replace(elements.case, variant=name))
            found.append((name, float(variant.effort), reason))
    return found
