"""What TensorFlow executes of a graph: the nodes that are left after its optimisation, and whether they are all there.

Nodes are told apart by a name scope that no other graph of the process uses. It survives inlining, which puts the name
of a call before the names of what is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorflow.python.eager import context
from tensorflow.python.framework import op_def_registry

from pyopbench.core.errors import Elided

BOOKKEEPING = frozenset({"NoOp"})
"""Node types that inlining adds for control edges; their number says nothing about copies."""


@dataclass(frozen=True)
class Counts:
    """Nodes of copies by op type: in the graph as built, those that its outputs need, and in the executed one."""

    built: Mapping[str, int]
    executed: Mapping[str, int]


def call_and_count(function: Any, scope: str, arguments: Sequence[Any]) -> tuple[Any, Counts | None]:
    """Call a `tf.function` for the first time and count the nodes of the graph that is executed.

    TensorFlow hands a graph out only when it makes it ready to run, which is at the first call.

    Args:
        function: the `tf.function`.
        scope: what the names of the nodes to count hold.
        arguments: tensors to call it with.

    Returns:
        What it returned, and the counts; None where TensorFlow handed out no graph with such names.

    Raises:
        Elided: the graph was built without any node of such a name.
    """
    concrete = function.get_concrete_function(*arguments)
    if not _named(concrete.graph.get_operations(), scope):
        raise Elided("the body adds no node to a graph, so that there is nothing to time")
    results, executed = _call(function, scope, arguments)
    return results, None if executed is None else Counts(_needed(concrete, scope), executed)


def _call(function: Callable[..., Any], scope: str, arguments: Sequence[Any]) -> tuple[Any, Counter[str] | None]:
    context.enable_run_metadata()
    try:
        results = function(*arguments)
        metadata = context.export_run_metadata()
    finally:
        context.disable_run_metadata()
    for graphs in metadata.function_graphs:
        # Graphs of other functions may be among them: those that a callback runs, and earlier ones.
        if _named(graphs.pre_optimization_graph.node, scope):
            return results, Counter(node.op for node in _named(graphs.post_optimization_graph.node, scope))
    return results, None


def _named(nodes: Sequence[Any], scope: str) -> list[Any]:
    return [node for node in nodes if scope in node.name]


def _needed(concrete: Any, scope: str) -> Counter[str]:
    """Count the nodes that the outputs of a graph need; calls of functions are left out, because they are inlined."""
    waiting = [tensor.op for tensor in concrete.outputs]
    needed: dict[str, Any] = {}
    while waiting:
        node = waiting.pop()
        if node.name not in needed:
            needed[node.name] = node
            waiting += [*(tensor.op for tensor in node.inputs), *node.control_inputs]
    return Counter(node.type for node in _named(list(needed.values()), scope) if not _calls_function(node))


def _calls_function(node: Any) -> bool:
    # A call of a Defun has the Defun's name for a type, and so no definition in the registry.
    definition = op_def_registry.get(node.type)
    return definition is None or any(attribute.type in ("func", "list(func)") for attribute in definition.attr)


def require_alive(counts: Mapping[int, Counts]) -> None:
    """Check that every copy that was built is executed.

    Args:
        counts: nodes by number of copies, from 1.

    Raises:
        Elided: in the executed graph the copies have no nodes, fewer of a type than were built, or not k times as
            many as a single one has.
    """
    one = counts[1].executed
    if not set(one) - BOOKKEEPING:
        raise Elided(f"the executed graph has nothing left of the op, which was built with {_listed(counts[1].built)}")
    for copies, count in counts.items():
        wanted = {kind: copies * one.get(kind, 0) for kind in {*one, *count.executed}}
        for kind, built in count.built.items():
            wanted[kind] = max(wanted.get(kind, 0), built)
        lost = [
            f"{count.executed.get(kind, 0)} {kind} instead of {number}"
            for kind, number in sorted(wanted.items())
            if kind not in BOOKKEEPING and count.executed.get(kind, 0) != number
        ]
        if lost:
            raise Elided(f"the executed graph of {copies} {'copy' if copies == 1 else 'copies'} has {', '.join(lost)}")


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())) or "calls of functions alone"
