"""Graphs of k copies of an op, one after another, and the proof that all k of them run.

What one more op costs inside a graph is the slope over such graphs. Each is one `tf.function` that is called with the
same tensors, whatever k is: an argument costs about 10 us itself, and k of them would be part of the slope. Control
edges make a copy wait for the one before, so that copies neither run side by side nor are merged with each other.

Grappler would still delete or fold most of them, so the graphs run with its meta optimizer off: what is measured is
the op as it is written. The option is state of the process and TensorFlow reads it at every call (the configuration
is an attribute of the call: `FunctionCallOptions.as_attrs` in tensorflow/python/eager/context.py), so that it has to
stand for as long as such graphs are called, and back for all others.
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

from pyopbench.catalogue.gradients import as_tuple
from pyopbench.core.errors import PyopbenchError
from pyopbench.core.op import Body, Op
from pyopbench.core.variant import Variant
from pyopbench.prepare.checks import Checked
from pyopbench.prepare.executed_graph import Counts, call_and_count, require_alive

COPIES = (1, 2, 4, 8, 16, 32)
LEAST_COPIES = 3
"""How many of `COPIES` are always made: with fewer than three points a line fits whatever was measured."""

LONGEST_CALL_SECONDS = 0.02
"""Graphs that take longer are left out: such copies cost enough for few of them to tell the slope."""

WARM_CALLS = 3
"""Calls of which the shortest tells about how long a graph takes."""

READINGS = 5
"""How often the executed graph is read, each time of a fresh function: TensorFlow hands it out only when it first
runs a function, and not always then."""

_unique = itertools.count()


@dataclass(frozen=True)
class Chain:
    """A graph of copies.

    Attributes:
        copies: how many.
        function: `(*inputs, *output_gradients) -> (outputs, gradients)` of the last copy; gradients are empty for a
            forward chain.
        scope: what the names of all nodes of copies hold, and no other name in the process.
    """

    copies: int
    function: Body
    scope: str


def use_grappler(*, enabled: bool) -> None:
    """Switch Grappler's meta optimizer on or off, for all functions that are called from now on."""
    disabled = bool(tf.config.optimizer.get_experimental_options().get("disable_meta_optimizer", False))
    if disabled == enabled:  # setting it makes TensorFlow forget its call options, so only where it changes something
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": not enabled})


def body_of_copy(built: Body, variant: Variant) -> Body:
    """Return what builds one copy inside a graph: the body itself wherever it needs no `tf.function` of its own."""
    options = dict(variant.function_options)
    autograph = options.pop("autograph", True)
    if options:
        return tf.function(built, autograph=autograph, **options)  # type: ignore[no-any-return,unused-ignore]
    if autograph and isinstance(built, types.FunctionType):
        return tf.autograph.to_graph(built)  # type: ignore[no-any-return,unused-ignore]
    return built


def link(op: Op, body: Body, copies: int, *, inputs: int, gradient: bool) -> Chain:
    """Return a graph of copies, one after another.

    Args:
        op: the op.
        body: builds one copy; `body_of_copy`.
        copies: how many.
        inputs: how many of the arguments are inputs; the others are output gradients.
        gradient: whether each copy is a forward pass and its gradient, or a forward pass alone.
    """
    scope = f"pyopbench{next(_unique)}"

    def chain(*arguments: Any) -> Any:
        outputs: Sequence[Any] = ()
        gradients: Sequence[Any] = ()
        for place in range(copies):
            before = [tensor for tensor in (*outputs, *gradients) if tensor is not None]
            with tf.control_dependencies(before), tf.name_scope(f"{scope}_{place}"):
                outputs = as_tuple(body(*arguments[:inputs]))
                gradients = _gradients(op, outputs, arguments, inputs) if gradient else ()
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
        results, counts = call_and_count(chain.function, chain.scope, arguments)
        if counts is not None:
            return chain, results, counts
    raise PyopbenchError("could not read the executed graph, so nothing shows that the copies in it ran")


def most_copies(seconds_of: Callable[[int], float]) -> int:
    """Return the largest number of copies whose graph is short enough, or that is always made.

    Args:
        seconds_of: about how long a call of the graph of 1 or of 2 copies takes.
    """
    one, two = seconds_of(1), seconds_of(2)
    short = [copies for copies in COPIES if one + (copies - 1) * (two - one) <= LONGEST_CALL_SECONDS]
    return max((*short, *COPIES[:LEAST_COPIES]))


def alive_calls(
    link_copies: Callable[[int], Chain], arguments: Sequence[Any], check: Callable[[Any, Any], Checked]
) -> dict[int, tuple[Callable[[], Any], Checked]]:
    """Build a graph for each number of copies, check what it returns, and check that all copies run.

    Args:
        link_copies: returns a fresh chain of so many copies.
        arguments: tensors to call the chains with.
        check: `(outputs, gradients) -> errors` of the last copy; raises where they are wrong.

    Returns:
        Number of copies, ascending -> callable without arguments, and the errors.

    Raises:
        Elided: TensorFlow does not execute all copies.
        PyopbenchError: the executed graph could not be read.
    """
    calls: dict[int, tuple[Callable[[], Any], Checked]] = {}
    counts: dict[int, Counts] = {}
    most = COPIES[LEAST_COPIES - 1]
    for copies in COPIES:
        if copies > most:
            break
        chain, results, counts[copies] = first_call(partial(link_copies, copies), arguments)
        calls[copies] = partial(chain.function, *arguments), check(*results)
        if copies == most == COPIES[LEAST_COPIES - 1]:
            most = most_copies(lambda few: _shortest_call(calls[few][0]))
    require_alive(counts)
    return calls


def _shortest_call(call: Callable[[], Any]) -> float:
    found = []
    for _ in range(WARM_CALLS):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)
