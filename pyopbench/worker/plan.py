"""From ops, variants and axes to the cases that can be, and for each that cannot be the reason."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyopbench.model.case import (
    BASELINE,
    CONTROL_SUFFIX,
    DIRECTIONS,
    DTYPES,
    EMPTY,
    GPU,
    NO_GRADIENT,
    THREADS,
    Axes,
    Case,
    Failure,
)
from pyopbench.model.op import Op
from pyopbench.model.variant import Variant
from pyopbench.ops.gradients import GRADIENTS


@dataclass(frozen=True)
class Plan:
    """The cases to measure, and the ones that cannot be, with the reason of each."""

    cases: tuple[Case, ...] = ()
    skips: tuple[Failure, ...] = field(default=())


BODIES = ("numpy", "tensor", "python", "kernel")
"""The bodies that an op may bring, by the names of its fields."""

CASES_PER_TWIN = 20
"""One callback in this many also gets an A/A control. Callbacks take longest in their groups, and at this rate controls
take less than 5% of the time."""

WHOLE_DIRECTIONS = ("forward", "forward_backward")
"""Inside a graph, and in several threads at once, no clock parts backward from forward."""
WHOLE_MODES = {
    "node": "mode node has only forward and forward_backward, because backward cannot be timed alone inside a graph",
    THREADS: "mode threads:N has only forward and forward_backward, because a server never calls backward alone",
}


def plan_parts(
    cases: Sequence[Case], variants: Mapping[str, Variant], parts: Mapping[str, Variant]
) -> tuple[Case, ...]:
    """Return what is measured next to `cases`, each once: cost components and A/A controls of callbacks.

    In mode node that is the empty graph of each group, which is none of `parts`: without it there is no cost in a
    graph. Of a callback that runs forward in a graph it is the body alone, which can be measured wherever the callback
    can.
    """
    callbacks = [
        case
        for case in cases
        if case.mode in ("node", "call")
        and case.direction == "forward"
        and case.placement != GPU  # components are not measured on a GPU
        and variants[case.variant].is_callback
    ]
    empty = [replace(case, variant=EMPTY, gradient=NO_GRADIENT) for case in cases if case.mode == "node"]
    bodies = [
        replace(case, variant=part.name)
        for case in callbacks
        for part in parts.values()
        if part.role == "body_alone" and part.body == variants[case.variant].body
    ]
    on_cpu = [case for case in cases if variants[case.variant].is_callback and case.placement != GPU]
    controls = _twins(on_cpu, parts)
    return tuple(dict.fromkeys((*empty, *bodies, *controls)))


def _twins(callbacks: Sequence[Case], parts: Mapping[str, Variant]) -> Iterator[Case]:
    """Yield the controls of a few callbacks that are drawn from all, the same for the same plan."""
    there = [case for case in callbacks if case.variant + CONTROL_SUFFIX in parts and case.mode != "eager"]
    drawn = random.Random("/".join(case.id for case in there)).sample(there, len(there) // CASES_PER_TWIN)
    yield from (replace(case, variant=case.variant + CONTROL_SUFFIX) for case in drawn)


def make_plan(axes: Axes, ops: dict[str, Op], variants: dict[str, Variant]) -> Plan:
    """Cross ops, variants and axes.

    Returns:
        Every combination, either as a case or as a skip with its reason.
    """
    cases, skips = [], []
    for case in _combinations(axes, ops, variants):
        reason = why_not(ops[case.op], variants[case.variant], case)
        if reason is None:
            cases.append(case)
        else:
            skips.append(Failure(case.id, "unsupported", reason))
    return Plan(tuple(cases), tuple(skips))


def modes_of(axes: Axes, placement: str) -> tuple[str, ...]:
    """Return the modes to cover on a placement: by default `node`, and on a GPU `call`.

    If a GPU is measured too, the CPU has both, because devices can be compared only in the same mode. Calls from
    several threads are additional modes.
    """
    usual = ("call",) if placement == GPU else ("node", "call") if GPU in axes.placements else ("node",)
    return (*(axes.modes or usual), *(f"{THREADS}:{many}" for many in axes.threads))


def directions_of(axes: Axes, mode: str) -> tuple[str, ...]:
    """Return the directions to cover in a mode: by default all that it has."""
    return axes.directions or (WHOLE_DIRECTIONS if _kind(mode) in WHOLE_MODES else DIRECTIONS)


def _kind(mode: str) -> str:
    return mode.partition(":")[0]


def dtypes_of(op: Op, axes: Axes) -> tuple[str, ...]:
    """Return the dtypes to cover: an own op has that of its inputs, unless another one is asked for."""
    usual = op.is_own and axes.dtypes in (Axes.dtypes, DTYPES)
    return op.dtypes if usual else axes.dtypes


def sizes_of(op: Op, axes: Axes, mode: str = "") -> tuple[int, ...]:
    """Return the sizes at which `op` is to be measured in a mode: called from threads, one unless sizes are named."""
    if axes.sizes:
        return axes.sizes
    if _kind(mode) == THREADS:
        return (op.quick_sizes[len(op.quick_sizes) // 2],)
    return op.quick_sizes if axes.quick else op.sizes


def _combinations(axes: Axes, ops: dict[str, Op], variants: dict[str, Variant]) -> Iterator[Case]:
    chosen_ops = axes.ops or tuple(ops)
    placed = [(mode, placement) for placement in axes.placements for mode in modes_of(axes, placement)]
    for op_name, (mode, placement) in itertools.product(chosen_ops, placed):
        op = ops[op_name]
        directions, names = directions_of(axes, mode), _variants(op, axes, variants)
        for dtype, size, direction, name in itertools.product(
            dtypes_of(op, axes), sizes_of(op, axes, mode), directions, names
        ):
            case = Case(op_name, name, NO_GRADIENT, direction, mode, dtype, size, placement)
            for gradient in _gradients(axes, op, variants[name], case):
                yield replace(case, gradient=gradient)


def _variants(op: Op, axes: Axes, variants: Mapping[str, Variant]) -> tuple[str, ...]:
    if axes.variants:
        return axes.variants
    usual = tuple(name for name, one in variants.items() if one.is_usual_for(op))
    return _in_use(op, axes.in_use, {name: variants[name] for name in usual}) if axes.in_use else usual


def _in_use(op: Op, callback: str, usual: Mapping[str, Variant]) -> tuple[str, ...]:
    """Return the current callback and the easiest hand-written port; the usual variants if the op has neither."""
    written = {
        name: one for name, one in usual.items() if getattr(op, one.body) is not None and not one.is_attempt_for(op)
    }
    bodies = [name for name, one in written.items() if one.is_callback and not _is_of_py_function(op, one)]
    ports = sorted((name for name, one in written.items() if one.is_port), key=lambda name: usual[name].effort)
    # An op whose body takes tensors has a different callback.
    current = next(([name] for name in (callback, BASELINE) if name in bodies), bodies[:1])
    return (*current, *ports[:1]) or tuple(usual)


def _gradients(axes: Axes, op: Op, variant: Variant, case: Case) -> tuple[str, ...]:
    """Return the mechanisms to cover: those asked for, or the first that there is a way for."""
    if case.direction == "forward":
        return (NO_GRADIENT,)
    if "all" in axes.gradients:
        return variant.gradients
    if axes.gradients:
        return axes.gradients
    possible = (name for name in variant.gradients if why_not(op, variant, replace(case, gradient=name)) is None)
    return (next(possible, variant.gradients[0]),)


def why_not(op: Op, variant: Variant, case: Case) -> str | None:
    """Return the reason why a case cannot be, or None if it can."""
    return (
        _why_not_here(op, variant, case)
        or _why_no_gradient(op, variant, case)
        or _why_not_this_size(op, variant, case)
        or variant.unsupported(op, case)
    )


def _why_not_here(op: Op, variant: Variant, case: Case) -> str | None:
    if op.is_own and (getattr(op, variant.body) is None or _is_of_py_function(op, variant)):
        refused = op.own.refused if op.own is not None and variant.body == "numpy" else None
        if refused is None:
            return f"not tried: your op has only a {_listed(op)} body"
        place = "{}:{}: ".format(*refused.place) if refused.place else ""
        return f"not tried: {place}{refused.why}"
    if getattr(op, variant.body) is None:
        return f"{variant.name} needs a {variant.body} body, and the op has none"
    if op.own is not None and op.own.is_random and variant.is_attempt_for(op) and variant.name != "numba_op":
        return "the function draws random numbers, and a port would draw others, so they cannot be compared"
    if variant.name in op.not_ported:
        return op.not_ported[variant.name]
    if case.dtype not in op.dtypes:
        return f"the op supports only {', '.join(op.dtypes)}, not {case.dtype}"
    if (case.mode if case.threads is None else "call") not in variant.modes:
        return f"{variant.name} works only in mode {', '.join(variant.modes)}"
    if case.kind in WHOLE_MODES and case.direction not in WHOLE_DIRECTIONS:
        return WHOLE_MODES[case.kind]
    if case.placement == GPU and case.mode == "node":
        return "mode node is measured on the CPU only; on a GPU the default mode is call"
    if case.placement == GPU and case.mode == "eager":  # inputs that are there already are not copied again
        return "mode eager is measured on the CPU only; on a GPU the default mode is call"
    if case.placement == GPU and case.threads is not None:
        return "calls from several threads are measured on the CPU only"
    if case.placement not in variant.placements:
        return f"{variant.name} does not run on {case.placement}"
    return None


def _is_of_py_function(op: Op, variant: Variant) -> bool:
    """Is it a bridge for arrays, which cannot call the body of a `tf.py_function`?"""
    return op.is_on_tensors and variant.body == "numpy" and variant.name != BASELINE


def _listed(op: Op) -> str:
    """Return in words the bodies that an own op has: one reason for all variants that need another."""
    if not op.is_on_tensors:
        return " and a ".join(name for name in BODIES if getattr(op, name) is not None)
    tried = op.own.tried if op.own is not None else frozenset[str]()
    written = [name for name in BODIES[1:] if name not in tried and getattr(op, name) is not None]
    return " and a ".join(["py_function", *written])


def _why_no_gradient(op: Op, variant: Variant, case: Case) -> str | None:
    if case.direction == "forward":
        return None
    gradient = GRADIENTS[case.gradient]
    if not op.differentiable:
        return "the op has no gradient"
    if not op.has_gradient:
        return "your op has no gradient to compare with; gradients of ports are still checked"
    if case.gradient not in variant.gradients:
        return f"{variant.name} supports the gradients {', '.join(variant.gradients)}, not {case.gradient}"
    works = "call" if case.kind in WHOLE_MODES else case.mode  # a tf.function as well
    if works not in gradient.works_in:
        return f"{case.gradient} does not work in mode {case.mode}; it works in {', '.join(gradient.works_in)}"
    return gradient.missing() or _why_no_gradient_body(op, variant, case)


def _why_no_gradient_body(op: Op, variant: Variant, case: Case) -> str | None:
    if GRADIENTS[case.gradient].attach is None:
        return None
    needed = ["numpy_gradient" if variant.body == "numpy" else "tensor_gradient"]
    if case.gradient == "override_map_ops":
        needed.append("tensor_gradient")
    for body in needed:
        if getattr(op, body) is None:
            return f"the op has no {body}, which {case.gradient} of {variant.name} needs"
    return None


def _why_not_this_size(op: Op, variant: Variant, case: Case) -> str | None:
    largest = op.largest.get(variant.body)
    if largest is not None and case.size > largest:
        return f"the {variant.body} body is limited to {largest:,} {op.size_unit}, because it is slow by design"
    if not op.exists_at(case.size):
        only = "one size only" if len(op.sizes) == 1 else "these sizes only"
        return f"the op has {only}: {', '.join(map(str, op.sizes))}"
    return None
