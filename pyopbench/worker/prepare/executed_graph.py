"""What TensorFlow executes of a graph: the nodes that are left after its optimisation, and whether they are all there.

Nodes are distinguished by a name scope that no other graph of the process uses, and a number for each copy. It survives
inlining, which puts the name of a call before the names of what is called.

Only nodes that work on data count. What hangs on constants and shapes alone has the same value at every call, and
TensorFlow's runtime computes it once, when it makes the graph ready, whatever Grappler's options are (`ConstantFold` in
tensorflow/core/common_runtime/constant_folding.cc, which also puts constants in the place of `Shape`, `Size` and `Rank`
of known shapes): gradients of sums and means are full of it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorflow.python.eager import context
from tensorflow.python.framework import op_def_registry

from pyopbench.model.errors import Elided

ARGUMENTS = frozenset({"_Arg", "_DeviceArg", "Placeholder"})
"""Types that arguments of a function have: in a graph that is executed, and in one that is built."""

SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank"})
"""Types whose value hangs on the shape of their input alone."""


BRANCHES = frozenset({"Merge", "RefMerge", "If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase"})
"""Types of branches and loops, as they are built and as they are executed. TensorFlow does not fold their results, also
where nothing but constants leads to them."""


def names_on_data(nodes: Iterable[Any]) -> frozenset[str]:
    """Return the names of the nodes (`NodeDef`) that an argument, state or a branch reaches through inputs.

    A call of a function is one where its inputs are. Control edges are no inputs: they say when, not on what. But if
    both branches of a condition are constants, only control edges lead to them, and data decides which one arrives.
    """
    users: dict[str, list[str]] = defaultdict(list)
    found: set[str] = set()
    shapes = set()
    waiting = []
    for node in nodes:
        if node.op in SHAPES:
            shapes.add(node.name)
        for given in node.input:
            if not given.startswith("^"):
                users[given.split(":")[0]].append(node.name)
        if node.op in ARGUMENTS or node.op in BRANCHES or _is_stateful(node.op):
            waiting.append(node.name)
    while waiting:
        name = waiting.pop()
        if name not in found and name not in shapes:
            found.add(name)
            waiting += users[name]
    return frozenset(found)


def calls_function(kind: str) -> bool:
    """Say whether nodes of a type call functions of the graph."""
    # A call of a Defun has the Defun's name for a type, and so no definition in the registry.
    definition = op_def_registry.get(kind)
    return definition is None or any(attribute.type in ("func", "list(func)") for attribute in definition.attr)


def _is_stateful(kind: str) -> bool:
    # What a called function holds is seen where it is inlined, so the call itself says nothing.
    return not calls_function(kind) and bool(op_def_registry.get(kind).is_stateful)


BOOKKEEPING = frozenset({"NoOp"})
"""Node types that inlining adds for control edges; their number says nothing about copies."""


@dataclass(frozen=True)
class Chain:
    """A graph of copies.

    Attributes:
        function: `(*inputs, *output_gradients) -> (outputs, gradients)` of the last copy; gradients are empty for a
            forward chain.
        scope: what the names of all nodes of copies hold, and no other name in the process, right before the number of
            the copy, which are counted from 0.
    """

    copies: int
    function: Any
    scope: str


@dataclass(frozen=True)
class Counts:
    """Nodes on data of each copy by op type: as built, those that its outputs need, and in the executed graph."""

    built: tuple[Mapping[str, int], ...]
    executed: tuple[Mapping[str, int], ...]


def call_and_count(chain: Chain, arguments: Sequence[Any]) -> tuple[Any, Counts | None]:
    """Call a chain for the first time and count the nodes of the graph that is executed.

    TensorFlow hands a graph out only when it makes it ready to run, which is at the first call. The counts are None
    where it handed out no graph with such names.
    """
    scope = chain.scope
    concrete = chain.function.get_concrete_function(*arguments)
    if not _named(concrete.graph.get_operations(), scope):
        raise Elided("the body adds no node to a graph, so there is nothing to time")
    results, executed = _call(chain.function, scope, arguments)
    if executed is None:
        return results, None
    built = [(node.name, node.type) for node in _needed(concrete, scope)]
    return results, Counts(_by_copy(built, chain), _by_copy(executed, chain))


def _by_copy(nodes: Iterable[tuple[str, str]], chain: Chain) -> tuple[Counter[str], ...]:
    """Count the types of nodes, given by name and type, in each copy."""
    counts: tuple[Counter[str], ...] = tuple(Counter() for _ in range(chain.copies))
    number = re.compile(re.escape(chain.scope) + r"(\d+)")
    for name, kind in nodes:
        found = number.search(name)
        if found:
            counts[int(found[1])][kind] += 1
    return counts


def _call(
    function: Callable[..., Any], scope: str, arguments: Sequence[Any]
) -> tuple[Any, list[tuple[str, str]] | None]:
    context.enable_run_metadata()
    try:
        results = function(*arguments)
        metadata = context.export_run_metadata()
    finally:
        context.disable_run_metadata()
    for graphs in metadata.function_graphs:
        # Graphs of other functions may be among them: those that a callback runs, and earlier ones.
        if _named(graphs.pre_optimization_graph.node, scope):
            executed = graphs.post_optimization_graph.node
            on_data = names_on_data(executed)
            return results, [(node.name, node.op) for node in _named(executed, scope) if node.name in on_data]
    return results, None


def _named(nodes: Sequence[Any], scope: str) -> list[Any]:
    return [node for node in nodes if scope in node.name]


def _needed(concrete: Any, scope: str) -> list[Any]:
    """Return the nodes on data that a graph's outputs need; calls of functions are left out, as they are inlined."""
    waiting = [tensor.op for tensor in concrete.outputs]
    needed: dict[str, Any] = {}
    while waiting:
        node = waiting.pop()
        if node.name not in needed:
            needed[node.name] = node
            waiting += [*(tensor.op for tensor in node.inputs), *node.control_inputs]
    on_data = names_on_data(concrete.graph.as_graph_def().node)
    named = _named(list(needed.values()), scope)
    return [node for node in named if node.name in on_data and not calls_function(node.type)]


def require_alive(counts: Counts) -> None:
    """Check that every copy that was built is executed.

    A node that the optimiser has dropped, folded or merged is missing in some copy, or in the executed one next to the
    built one. So each copy has to have as many nodes of each type as the copy that has most of them, and at least as
    many as were built.

    Raises:
        Elided: the copies have no nodes, or one of them fewer of a type than another copy has or than were built.
    """
    if not {kind for copy in counts.executed for kind in copy} - BOOKKEEPING:
        raise Elided(f"the executed graph has lost the op, which was built with {_listed(counts.built[0])}")
    most = _most(counts.executed)
    expected = [_most([most, built]) for built in counts.built]
    lost = [
        f"{found} {kind} instead of {number}"
        for kind in sorted({kind for copy in expected for kind in copy} - BOOKKEEPING)
        if (found := sum(copy.get(kind, 0) for copy in counts.executed))
        != (number := sum(copy.get(kind, 0) for copy in expected))
    ]
    if lost:
        copies = len(counts.built)
        raise Elided(f"the executed graph of {copies} {'copy' if copies == 1 else 'copies'} has {', '.join(lost)}")


def _most(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    most: dict[str, int] = {}
    for copy in counts:
        for kind, number in copy.items():
            most[kind] = max(number, most.get(kind, 0))
    return most


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())) or "calls of functions alone"
