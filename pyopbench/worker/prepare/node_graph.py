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
call. Callbacks have one: the first of a step costs more than those right after it, because threads have to wake up."""

USUAL = STEPS[-1]
"""Copies in a group without a callback."""

SHARE_OF_EMPTY = 3.0
"""Times that the copies are to take what the empty graph does: its noise is then a third of that of the sum."""

LONGEST_CALL_SECONDS = 0.02
"""A graph of several copies that takes longer, or more memory than there is, gives way to one of a single copy."""


def enough_copies(empty_seconds: float, one_seconds: float) -> int:
    """Return the smallest of `STEPS` whose copies take `SHARE_OF_EMPTY` times the empty graph, else the largest.

    `one_seconds` are those of a call of the graph of one copy of the current callback.
    """
    added = one_seconds - empty_seconds
    return next((copies for copies in STEPS if copies * added >= SHARE_OF_EMPTY * empty_seconds), STEPS[-1])


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
    """Return a graph of copies of a body (`body_of_copy`), one after another.

    The first `inputs` arguments are inputs; the others are output gradients, and without any each copy is a forward
    pass alone.
    """
    scope = f"pyopbench{next(_unique)}"

    def chain(*arguments: Any) -> Any:
        outputs: Sequence[Any] = ()
        gradients: Sequence[Any] = ()
        for place in range(copies):
            before = [tensor for tensor in (*outputs, *gradients) if tensor is not None]
            with tf.control_dependencies(before), tf.name_scope(f"{scope}_{place}"):
                outputs = as_tuple(body(*arguments[:inputs]))
                gradients = _gradients(op, outputs, arguments, inputs) if len(arguments) > inputs else ()
        return tuple(outputs), tuple(gradients)

    return Chain(copies, tf.function(chain, autograph=False), f"{scope}_")


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
    """Call a fresh chain for the first time; return it, what it returned, and the nodes of its executed copies."""
    for _ in range(READINGS):
        chain = make()
        results, counts = call_and_count(chain, arguments)
        if counts is not None:
            return chain, results, counts
    raise PyopbenchError("could not read the executed graph, so it is unknown whether all copies ran")


@dataclass(frozen=True)
class Graph:
    """A graph of copies that was called, its results checked."""

    copies: int
    call: Callable[[], Any]
    checked: Checked  # of what the last copy returned
    seconds: float  # about how long a call takes


def alive_graph(
    link_copies: Callable[[int], Chain],
    copies: int,
    arguments: Sequence[Any],
    check: Callable[[Any, Any], Checked],
) -> Graph:
    """Build a graph of copies, check what it returns, and check that all copies run.

    Args:
        link_copies: returns a fresh chain of so many copies.
        copies: how many; one where so many take too long or too much memory.
        arguments: tensors to call the chain with.
        check: `(outputs, gradients) -> errors` of the last copy; raises where they are wrong.
    """
    try:
        chain, results, counts = first_call(partial(link_copies, copies), arguments)
        call = partial(chain.function, *arguments)
        graph = Graph(copies, call, check(*results), shortest_call(call))
    except OUT_OF_MEMORY:
        if copies == 1:
            raise
        return alive_graph(link_copies, 1, arguments, check)
    if copies > 1 and graph.seconds > LONGEST_CALL_SECONDS:
        return alive_graph(link_copies, 1, arguments, check)
    require_alive(counts)
    return graph


def shortest_call(call: Callable[[], Any]) -> float:
    """Return about how long a call takes, in seconds: the shortest of a few calls, of fewer where they are long."""
    found: list[float] = []
    while len(found) < WARM_CALLS and sum(found) < ENOUGH_SECONDS:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)
