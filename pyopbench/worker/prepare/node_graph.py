"""Graphs of k copies of an op, one after another, and the proof that all k of them run.

What one op costs inside a graph is what such a graph takes beyond an empty one, over k. Each is one `tf.function` that
is called with the same tensors, whatever k is: an argument costs about 10 us itself, and the empty one has them too.
Control edges make a copy wait for the one before, so that copies neither run side by side nor are merged with each
other.

Grappler would still delete or fold most of them, so the graphs run with its meta optimizer off: what is measured is
the op as it is written. The option is state of the process and TensorFlow reads it at every call (the configuration
is an attribute of the call: `FunctionCallOptions.as_attrs` in tensorflow/python/eager/context.py), so that it has to
stand for as long as such graphs are called, and back for all others.

Where a copy takes as long as the call around it or longer, one copy is enough; where it is quick, the call's own
noise is shared by k of them. There are enough to stand out from the call, and few enough to be quick.
"""

from __future__ import annotations

import itertools
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from pyopbench.model.errors import PyopbenchError
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare.checks import Checked
from pyopbench.worker.prepare.executed_graph import Chain, Counts, call_and_count, require_alive

STEPS = (1, 2, 4, 8)
"""Numbers of copies that graphs of a group's ports can have; all have the same, and so the same part of the noise of a
call."""

USUAL = STEPS[-1]
"""Where nothing tells how many are enough."""

FEWER = (2, 1)
"""What a case falls back to for which the group's number of copies takes too long or has too many nodes; to one if it
does not fit into memory."""

SHARE_OF_EMPTY = 3.0
"""Times that the copies are to take what the empty graph does: its noise is then a third of that of the sum."""

SECOND = 2
"""Copies of a callback in the graph that shows what another one right after the first costs."""

MOST_NODES = 256
"""Graphs of several copies have no more nodes, those of functions included: TensorFlow takes about a millisecond of
Python to make one, and a copy of a hundred takes long enough beside an empty graph. The same in every process."""

LONGEST_CALL_SECONDS = 0.02
"""Graphs of several copies that take longer are not made: such copies cost enough for few of them to tell."""


def enough_copies(empty_seconds: float, one_seconds: float) -> int:
    """Return how many copies take enough beside an empty graph.

    Args:
        empty_seconds: of a call of the empty graph.
        one_seconds: of a call of the graph of one copy of the current callback.

    Returns:
        The smallest of `STEPS` whose copies take `SHARE_OF_EMPTY` times the empty graph, else the largest.
    """
    added = one_seconds - empty_seconds
    return next((copies for copies in STEPS if copies * added >= SHARE_OF_EMPTY * empty_seconds), STEPS[-1])


def copies_of(*, callback: bool, enough: int = USUAL) -> tuple[int, ...]:
    """Return the numbers of copies, ascending, of the graphs that are made of a case of a group with `enough` copies.

    The first callback of a step costs more than each further one, because threads have to wake up; so a callback has
    graphs of one copy and of two, whatever the group's number: it stands out from the empty graph by itself, and how
    many copies are enough differs from process to process.
    """
    return tuple(sorted({1, min(enough, SECOND)})) if callback else (enough,)


def affordable(copies: int, copy_seconds: float) -> int:
    """Return `copies`, or as many of `FEWER` as are quick enough, where one takes about `copy_seconds`."""
    return _within(LONGEST_CALL_SECONDS, copies, copy_seconds)


def buildable(copies: int, copy_nodes: int) -> int:
    """Return `copies`, or as many of `FEWER` as are few nodes, where one copy has `copy_nodes`."""
    return _within(MOST_NODES, copies, copy_nodes)


def _within(limit: float, copies: int, each: float) -> int:
    return next((few for few in (copies, *FEWER) if few <= copies and few * each <= limit), min(copies, 1))


WARM_CALLS = 3
"""Calls of which the shortest tells about how long a graph takes."""

ENOUGH_SECONDS = 2 * LONGEST_CALL_SECONDS
"""After so long no further call is made: noise is a small share of a long call. Only a quick one that the machine has
held up for twice as long as a graph of several copies may take is believed to be long."""

READINGS = 5
"""How often the executed graph is read, each time of a fresh function: TensorFlow hands it out only when it first
runs a function, and not always then."""

OUT_OF_MEMORY = (MemoryError, tf.errors.ResourceExhaustedError)

_unique = itertools.count()


def use_grappler(*, enabled: bool) -> None:
    """Switch Grappler's meta optimizer on or off, for all functions that are called from now on."""
    disabled = bool(tf.config.optimizer.get_experimental_options().get("disable_meta_optimizer", False))
    if disabled == enabled:  # setting it makes TensorFlow forget its call options, so only where it changes something
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": not enabled})


def body_of_copy(built: Body, variant: Variant) -> Body:
    """Return what builds one copy inside a graph: the body itself wherever it needs no `tf.function` of its own."""
    options = dict(variant.function_options)
    autograph = options.pop("autograph", True)
    if hasattr(built, "get_concrete_function"):
        return built
    if options:
        return tf.function(built, autograph=autograph, **options)  # type: ignore[no-any-return,unused-ignore]
    if autograph and isinstance(built, types.FunctionType):
        return tf.autograph.to_graph(built)  # type: ignore[no-any-return,unused-ignore]
    return built


def link(op: Op, body: Body, copies: int, *, inputs: int) -> Chain:
    """Return a graph of copies, one after another.

    Args:
        op: the op.
        body: builds one copy; `body_of_copy`.
        copies: how many; fewer where they would be too many nodes.
        inputs: how many of the arguments are inputs; the others are output gradients, and without any each copy is a
            forward pass alone.
    """
    scope = f"pyopbench{next(_unique)}"

    def chain(*arguments: Any) -> Any:
        outputs: Sequence[Any] = ()
        gradients: Sequence[Any] = ()
        gradient = len(arguments) > inputs
        for place in range(copies):
            if place == 1:
                linked.copies = buildable(copies, _nodes_so_far())
            if place == linked.copies:
                break
            before = [tensor for tensor in (*outputs, *gradients) if tensor is not None]
            with tf.control_dependencies(before), tf.name_scope(f"{scope}_{place}"):
                outputs = as_tuple(body(*arguments[:inputs]))
                gradients = _gradients(op, outputs, arguments, inputs) if gradient else ()
        return tuple(outputs), tuple(gradients)

    linked = Chain(copies, tf.function(chain, autograph=False), f"{scope}_")
    return linked


def _nodes_so_far() -> int:
    """Count the nodes of the graph that is being built, and of the functions that it calls."""
    definition = tf.compat.v1.get_default_graph().as_graph_def()
    return len(definition.node) + sum(len(function.node_def) for function in definition.library.function)


def _gradients(op: Op, outputs: Sequence[Any], arguments: Sequence[Any], inputs: int) -> list[Any]:
    # As tf.function derives its own backward graph. A tape inside a graph would miss what gradient_override_map and
    # Defun attach: it looks a gradient up by the type of the node alone.
    found: list[Any] = tf.gradients(
        [outputs[i] for i in op.floating_outputs],
        [arguments[i] for i in op.differentiable],
        grad_ys=list(arguments[inputs:]),
    )
    return found


def first_call(make: Callable[[], Chain], arguments: Sequence[Any]) -> tuple[Chain, Any, Counts]:
    """Call a chain for the first time and count the nodes of the graph that was executed.

    Args:
        make: returns the chain, a fresh one at every call.
        arguments: tensors to call it with.

    Returns:
        The chain, what it returned, and the nodes of its copies.

    Raises:
        PyopbenchError: the executed graph could not be read.
    """
    for _ in range(READINGS):
        chain = make()
        results, counts = call_and_count(chain, arguments)
        if counts is not None:
            return chain, results, counts
    raise PyopbenchError("could not read the executed graph, so it is unknown whether all copies ran")


@dataclass(frozen=True)
class Graph:
    """A graph of copies that was called, its results checked.

    Attributes:
        copies: how many.
        call: calls it, without arguments.
        checked: the errors of what the last copy returned.
        counts: the nodes of its copies.
        seconds: about how long a call takes.
    """

    copies: int
    call: Callable[[], Any]
    checked: Checked
    counts: Counts
    seconds: float


def alive_graphs(
    link_copies: Callable[[int], Chain],
    copies: Sequence[int],
    arguments: Sequence[Any],
    check: Callable[[Any, Any], Checked],
) -> list[Graph]:
    """Build a graph for each number of copies, check what it returns, and check that all copies run.

    Args:
        link_copies: returns a fresh chain of so many copies.
        copies: how many, ascending; a graph that takes too long or too much memory gives way to one of fewer.
        arguments: tensors to call the chains with.
        check: `(outputs, gradients) -> errors` of the last copy; raises where they are wrong.

    Returns:
        The graphs, by number of copies ascending.

    Raises:
        Elided: TensorFlow does not execute all copies.
        PyopbenchError: the executed graph could not be read.
    """
    graphs: dict[int, Graph] = {}

    def build(number: int) -> Graph:
        chain, results, counts = first_call(partial(link_copies, number), arguments)
        call = partial(chain.function, *arguments)
        return Graph(chain.copies, call, check(*results), counts, shortest_call(call))

    def build_affordable(number: int) -> Graph:
        if number in graphs:
            return graphs[number]
        try:
            graph = build(number)
        except OUT_OF_MEMORY:
            if number == 1:
                raise
            return build_affordable(1)
        fewer = affordable(graph.copies, graph.seconds / graph.copies)
        return graph if fewer == graph.copies else build_affordable(fewer)

    for number in copies:
        before = max(graphs.values(), key=lambda graph: graph.copies, default=None)
        wanted = number if before is None else affordable(number, before.seconds / before.copies)
        graph = build_affordable(wanted)
        graphs[graph.copies] = graph
    require_alive({number: graph.counts for number, graph in graphs.items()})
    return [graphs[number] for number in sorted(graphs)]


def shortest_call(call: Callable[[], Any]) -> float:
    """Return about how long a call takes, in seconds: the shortest of a few calls, of fewer where they are long."""
    found: list[float] = []
    while len(found) < WARM_CALLS and sum(found) < ENOUGH_SECONDS:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)
