"""Prepares the cases of a group: each runner once, and in mode node the current callback first, for how many copies.

All ports of a group have graphs of as many copies, so that they share the call's noise equally. How many are enough is
seen from what the current callback adds to the empty graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pyopbench.model.case import BASELINE, EMPTY, NO_GRADIENT, Case
from pyopbench.ops.load import load_variant
from pyopbench.worker.prepare.copies import LEAST_LINEAR, LINEAR, SECOND, USUAL, Copies, copies_of, enough_copies
from pyopbench.worker.prepare.node_graph import OUT_OF_MEMORY
from pyopbench.worker.prepare.prepare import Prepared, prepare_all

Runners: TypeAlias = dict[str, tuple[Prepared, ...] | Exception]
"""By `Case.runner`: what is to be timed, ascending by copies, or why it cannot be."""


@dataclass(frozen=True)
class Asked:
    """How a group is prepared.

    Attributes:
        finite_differences: also check gradients by finite differences.
        linearity: in mode node, graphs of many numbers of copies.
        further: in mode node, callbacks have a graph of `SECOND` copies beside that of one, which shows what each
            further one costs.
        copies: of the graphs in mode node; None to see how many are enough.
        at: is told each case before it is prepared.
    """

    finite_differences: bool = False
    linearity: bool = False
    further: bool = True
    copies: int | None = None
    at: Callable[[Case], object] = field(default=lambda case: None)


def prepare_group(cases: Sequence[Case], asked: Asked) -> Runners:
    """Prepare the cases of one group, in their order, but for those that tell the number of copies.

    Args:
        cases: of one group; several of one runner are prepared once.
        asked: how.

    Returns:
        What came of each runner.

    Raises:
        MemoryError: a case wanted more memory than there is; it is the one that `at` was told last.
        ResourceExhaustedError: the same, from TensorFlow.
    """
    runners = {case.runner: case for case in reversed(cases)}
    left = {case.runner: runners[case.runner] for case in cases}
    found: Runners = {}
    enough = asked.copies
    if cases[0].mode == "node" and not asked.linearity and enough is None:
        enough = _prepare_deciders(left, asked, found)
    for runner, case in left.items():
        if runner not in found:
            found[runner] = _prepare(case, asked, _copies(case, asked, enough))
    return found


def prepare_in_graph(case: Case) -> tuple[Prepared, Prepared]:
    """Prepare one case of mode node, for clocks that time nothing beside it.

    Args:
        case: in mode node.

    Returns:
        The empty graph, and the graph of copies that is to be held against it; its `copies` says of how many.

    Raises:
        Exception: as `prepare_all`.
    """
    empty = replace(case, variant=EMPTY, gradient=NO_GRADIENT)
    runners = prepare_group((empty, case), Asked(further=False))
    found: list[Prepared] = []
    for one in (empty, case):
        made = runners[one.runner]
        if isinstance(made, Exception):
            raise made
        found += made
    nothing, graph = found
    return nothing, graph


def _copies(case: Case, asked: Asked, enough: int | None) -> Copies | None:
    callback = load_variant(case.variant).crosses_bridge
    if asked.linearity:
        # The graph of one copy tells what a callback costs; of a port it would be the noisiest.
        return Copies(LINEAR if callback else LINEAR[1:], LEAST_LINEAR)
    if callback and not asked.further:
        return Copies((1,))
    return None if enough is None else copies_of(callback=callback, enough=enough)


def _prepare(case: Case, asked: Asked, copies: Copies | None) -> tuple[Prepared, ...] | Exception:
    asked.at(case)
    try:
        return prepare_all(case, finite_differences=asked.finite_differences, copies=copies)
    except OUT_OF_MEMORY:
        raise
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return error


def _prepare_deciders(cases: Mapping[str, Case], asked: Asked, found: Runners) -> int:
    """Prepare the empty graph and the current callback, else all callbacks, and return how many copies are enough."""
    callbacks = [case for case in cases.values() if load_variant(case.variant).is_callback]
    if not callbacks:
        return USUAL
    empty = _empty_seconds(callbacks[0], cases, asked, found)
    current = [case for case in callbacks if case.variant == BASELINE]
    seconds = _seconds_of_one(current, asked, found) or _seconds_of_one(
        [case for case in callbacks if case not in current], asked, found
    )
    if not seconds:
        return USUAL
    enough = enough_copies(empty, max(seconds))
    for runner, made in found.items():
        if isinstance(made, tuple) and made[0].copies and enough > 1 and asked.further:
            found[runner] = _with_second(made, asked)
    return enough


def _empty_seconds(beside: Case, cases: Mapping[str, Case], asked: Asked, found: Runners) -> float:
    case = replace(beside, variant=EMPTY, gradient=NO_GRADIENT)
    asked.at(case if case.runner in cases else beside)
    (empty,) = prepare_all(case)
    if case.runner in cases:
        found[case.runner] = (empty,)
    return call_seconds(empty)


def _seconds_of_one(cases: Iterable[Case], asked: Asked, found: Runners) -> list[float]:
    """Prepare graphs of one copy, and return how long calls of those take of which nothing is wrong."""
    for case in cases:
        found[case.runner] = _prepare(case, asked, Copies((1,)))
    made = (found[case.runner] for case in cases)
    return [call_seconds(one[0]) for one in made if isinstance(one, tuple)]


def call_seconds(prepared: Prepared) -> float:
    """Return how long a call takes, as it was seen when the graph was made."""
    assert prepared.call_seconds is not None
    return prepared.call_seconds


def _with_second(made: tuple[Prepared, ...], asked: Asked) -> tuple[Prepared, ...] | Exception:
    """Add to the graph of one copy of a callback the one of two, unless that takes too long."""
    more = _prepare(made[0].case, asked, Copies((SECOND,)))
    return (*made, *(one for one in more if one.copies > 1)) if isinstance(more, tuple) else more
