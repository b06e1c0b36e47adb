"""What a callback stands in: a tf.data pipeline, a Keras layer or metric, a loss, a loop; and its gradient.

A function counts as what uses it, in the same file: one that `dataset.map` is given, and what that one calls, is part
of the pipeline. Functions are told apart by their names alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyopbench.callbacks.scan.names import FUNCTIONS, Source

DATASET_METHODS = {
    *("map", "flat_map", "interleave", "filter", "apply", "scan", "reduce", "take_while", "map_with_legacy_function"),
    *("parallel_interleave", "map_and_batch", "group_by_window"),
}
LOOPS = {"map_fn", "while_loop", "scan", "foldl", "foldr", "vectorized_map"}
LAYER_BASES = ("Layer", "Model", "RNNCell", "Regularizer", "Constraint", "Wrapper", "Lambda", "Cell")
"""Ends of the names of the classes that Keras calls inside its graphs."""

METRIC_BASES = (
    *("Metric", "Mean", "Sum", "MeanMetricWrapper", "AUC", "Accuracy"),
    *("MeanIoU", "Precision", "Recall", "F1Score", "FBetaScore"),
)
"""The same of classes of metrics, through which no gradient flows."""

METRIC = "Keras metric"
CONTEXTS = ("tf.data", "loss", METRIC, "Keras layer", "loop")
PLAIN = "plain"


@dataclass(frozen=True)
class Surroundings:
    """What is known of a file as a whole.

    Attributes:
        source: the file.
        used_in: context -> names of the functions that are used there, directly or not.
        layers: names of the classes of Keras layers; of losses.
        losses: the same of losses.
        metrics: the same of metrics.
        custom: names of functions that were given to tf.custom_gradient.
        overridden: names of functions that are called under a gradient_override_map -> the ops that it names.
    """

    source: Source
    used_in: dict[str, set[str]]
    layers: set[str]
    losses: set[str]
    metrics: set[str]
    custom: set[str]
    overridden: dict[str, set[str]]

    def context(self, node: ast.AST) -> str:
        """Return what a node is part of: the nearest thing around it, or what uses a function around it."""
        for above, below in self.source.above(node):
            found = _context_of(self.source, self, above, below)
            if found:
                return found
        names = [getattr(scope, "name", "") for scope in self.source.scopes(node)]
        for context in CONTEXTS:
            if any(name in self.used_in[context] for name in names):
                return context
        return PLAIN

    def gradient(self, node: ast.AST, op: str, kind: str) -> str:
        """Return how a callback has its gradient; `op` is the name of the op that it becomes in a graph."""
        inner = False
        for above, _ in self.source.above(node):
            if isinstance(above, FUNCTIONS):
                if getattr(above, "name", "") in self.custom:
                    return "is one" if inner else "custom_gradient"
                if any(_is_defun(decorator) for decorator in getattr(above, "decorator_list", ())):
                    return "defun"
                if op in self.overridden.get(getattr(above, "name", ""), ()):
                    return "override_map"
                if _has_named(above, "RegisterGradient"):
                    return "is one"
                inner = True
            elif isinstance(above, ast.With | ast.AsyncWith) and op in _overridden_ops(above):
                return "override_map"
        return "tape" if kind == "py_function" else "none"


def look_around(source: Source) -> Surroundings:
    """Return what a file as a whole says of the callbacks in it."""
    classes = [node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
    layers, losses, metrics = (_derived(classes, ends) for ends in (LAYER_BASES, ("Loss",), METRIC_BASES))
    uses = _uses(source.tree)
    direct: dict[str, set[str]] = {context: set() for context in CONTEXTS}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            for context, part in _parts(source, node):
                direct[context] |= _names(part)
        elif isinstance(node, ast.ClassDef) and node.name in metrics:
            direct[METRIC] |= _names(node)
        elif isinstance(node, ast.ClassDef) and node.name in layers:
            direct["Keras layer"] |= _names(node)
        elif isinstance(node, ast.ClassDef) and node.name in losses:
            direct["loss"] |= _names(node)
    direct["loss"] |= {name for name in uses if "loss" in name.lower()}
    used = {context: _reached(names & set(uses), uses) for context, names in direct.items()}
    return Surroundings(source, used, layers, losses, metrics, _custom(source), _overridden(source, uses))


def _context_of(source: Source, around: Surroundings, above: ast.AST, below: ast.AST) -> str:
    if isinstance(above, ast.Call) and below is not above.func:
        return next((context for context, part in _parts(source, above) if part is below), "")
    if isinstance(above, ast.ClassDef):
        kinds = (("loss", around.losses), (METRIC, around.metrics), ("Keras layer", around.layers))
        return next((context for context, names in kinds if above.name in names), "")
    return "loss" if isinstance(above, FUNCTIONS) and "loss" in getattr(above, "name", "").lower() else ""


def _parts(source: Source, call: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    """Yield the arguments of a call that are run inside something, each with what it is run in."""
    path, arguments = source.path(call.func), [*call.args, *call.keywords]
    last = call.func.attr if isinstance(call.func, ast.Attribute) else path.rpartition(".")[2]
    if path.startswith("tensorflow") and last in LOOPS and ".data." not in path:
        yield from (("loop", argument) for argument in arguments)
    elif isinstance(call.func, ast.Attribute) and last in DATASET_METHODS:
        yield from (("tf.data", argument) for argument in arguments)
    elif last == "compile":
        yield from (("loss", keyword) for keyword in call.keywords if keyword.arg and "loss" in keyword.arg)
        yield from ((METRIC, keyword) for keyword in call.keywords if keyword.arg and "metrics" in keyword.arg)
    elif last == "add_loss":
        yield from (("loss", argument) for argument in arguments)
    elif last == "Lambda":
        yield from (("Keras layer", argument) for argument in arguments)


def _derived(classes: Iterable[ast.ClassDef], ends: tuple[str, ...]) -> set[str]:
    """Return the names of the classes that have a base so called, or one that has, in this file."""
    bases = {node.name: {_last_name(base) for base in node.bases} for node in classes}
    found = {name for name, of in bases.items() if any(base.endswith(ends) for base in of)}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.AST) -> set[str]:
    """Return the names of what is used in a node: plain ones, and attributes of `self` and `cls`."""
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    attributes = (inner for inner in ast.walk(node) if isinstance(inner, ast.Attribute))
    return found | {inner.attr for inner in attributes if _last_name(inner.value) in {"self", "cls"}}


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """Return the functions of a file by name, each with the names that it uses."""
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            uses.setdefault(node.name, set()).update(_names(node))
    return uses


def _reached(names: set[str], uses: dict[str, set[str]]) -> set[str]:
    reached = set(names)
    while more := {used for name in reached for used in uses.get(name, ()) if used in uses} - reached:
        reached |= more
    return reached


def _custom(source: Source) -> set[str]:
    """Return the names of functions that tf.custom_gradient decorates or is called with."""
    found: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and any(
            _last_name(one) == "custom_gradient" for one in node.decorator_list
        ):
            found.add(node.name)
        elif isinstance(node, ast.Call) and _last_name(node.func) == "custom_gradient" and node.args:
            found.add(_last_name(node.args[0]))
    return found - {""}


def _overridden(source: Source, uses: dict[str, set[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.With | ast.AsyncWith) and (ops := _overridden_ops(node)):
            for name in _reached({name for part in node.body for name in _names(part)} & set(uses), uses):
                found.setdefault(name, set()).update(ops)
    return found


def _overridden_ops(node: ast.With | ast.AsyncWith) -> set[str]:
    """Return the ops that a `with ...gradient_override_map({...})` names; every callback where they are no literals."""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and _last_name(call.func) == "gradient_override_map" and call.args:
            keys = call.args[0].keys if isinstance(call.args[0], ast.Dict) else [None]
            if all(isinstance(key, ast.Constant) for key in keys):
                return {str(key.value) for key in keys if isinstance(key, ast.Constant)}
            return {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
    return set()


def _is_defun(decorator: ast.expr) -> bool:
    return (
        isinstance(decorator, ast.Call)
        and _last_name(decorator.func) == "Defun"
        and any(keyword.arg == "python_grad_func" for keyword in decorator.keywords)
    )


def _has_named(function: ast.AST, name: str) -> bool:
    decorators = getattr(function, "decorator_list", ())
    return any(_last_name(one.func if isinstance(one, ast.Call) else one) == name for one in decorators)
