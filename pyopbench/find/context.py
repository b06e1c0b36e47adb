"""What a callback stands in: a tf.data pipeline, a Keras layer or metric, a loss, a loop; and its gradient.

A function counts as what uses it, in the same file: one that `dataset.map` is given, and what that one calls, is part
of the pipeline; so is one that is given under another name, or in a list, a dict or a parameter. Functions are
distinguished by their names alone.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass

from pyopbench.find.source import FUNCTIONS, UNKNOWN, ProgramSource
from pyopbench.find.values import ValueFlow, is_of_self, last_name
from pyopbench.model.syntax import every_name

DATASET_METHODS = {
    *("map", "flat_map", "interleave", "filter", "apply", "scan", "reduce", "take_while", "map_with_legacy_function"),
    *("parallel_interleave", "map_and_batch", "group_by_window"),
}
PARALLEL_CALLS = "num_parallel_calls"
PARALLEL_METHODS = {"map": 1, "map_with_legacy_function": 1, "interleave": 3}
"""The methods that have `num_parallel_calls`, and its position (dataset_ops.py of TensorFlow 2.21)."""

ALWAYS_PARALLEL = {"parallel_interleave", "map_and_batch"}
"""Functions that call in parallel by default (tensorflow/python/data/experimental/ops)."""

LATER_FUNCTIONS = {"reduce": (1,), "scan": (1,), "group_by_window": (0, 1, 2), "while_loop": (0, 1)}
"""Positions of the functions among the arguments, where there are others than the first; of `Dataset.scan` too."""

FUNCTION_KEYWORDS = ("func", "fn", "cond", "body", "predicate", "function")
"""How the names of the parameters end that take the functions."""

LOOPS = {"map_fn", "while_loop", "scan", "foldl", "foldr", "vectorized_map"}
METRIC, LAYER = "Keras metric", "Keras layer"
DATA = "tf.data"
CONTEXTS = (DATA, "loss", METRIC, LAYER, "loop")
PLAIN = "plain"

BASES = {
    "loss": ("Loss",),
    METRIC: (
        *("Metric", "Mean", "Sum", "MeanMetricWrapper", "AUC", "Accuracy"),
        *("MeanIoU", "Precision", "Recall", "F1Score", "FBetaScore"),
    ),
    LAYER: ("Layer", "Model", "RNNCell", "Regularizer", "Constraint", "Wrapper", "Lambda", "Cell"),
}
"""Context -> ends of the names of the classes of Keras that it is that of."""

LOSS_POSITIONS, METRIC_POSITIONS = (1,), (2, 3)
"""Of `Model.compile`: the metrics come third in Keras 2 and fourth in Keras 3, and no weights are functions."""

PARALLEL = "in parallel"
"""A context that only a pipeline has, in addition to its own."""
EVERY_CONTEXT = (*CONTEXTS, PARALLEL)


@dataclass(frozen=True)
class Surroundings:
    """What is known of a file as a whole.

    Attributes:
        source: the file.
        uses: its functions -> the names that each uses.
        used_in: context -> names of the functions that are used there, directly or not.
        inside: context -> expressions that are evaluated there, wherever they are written.
        named_in: context -> what names the functions in `used_in`, of this file or of others.
        classes: names of the classes of Keras layers, losses and metrics -> their context.
        custom: names of functions that tf.custom_gradient decorates or is called with.
        overrides: each `with ...gradient_override_map(...)` -> functions that are called in it, directly or not.
    """

    source: ProgramSource
    uses: dict[str, set[str]]
    used_in: dict[str, set[str]]
    inside: dict[str, set[ast.AST]]
    named_in: dict[str, list[ast.AST]]
    classes: dict[str, str]
    custom: set[str]
    overrides: dict[ast.AST, set[str]]

    def context(self, node: ast.AST) -> str:
        """Return what a node is part of: the nearest thing around it, or what uses a function around it."""
        for above, below in self.source.above(node):
            found = next((context for context in CONTEXTS if below in self.inside[context]), "")
            if not found and isinstance(above, ast.ClassDef):
                found = self.classes.get(above.name, "")
            if found:
                return found
        names = self._names_around(node)
        return next((one for one in CONTEXTS if any(name in self.used_in[one] for name in names)), PLAIN)

    def is_parallel(self, node: ast.AST) -> bool:
        """May a pipeline call a node in parallel?"""
        nodes = {below for _, below in self.source.above(node)}
        return bool({*self._names_around(node)} & self.used_in[PARALLEL] or nodes & self.inside[PARALLEL])

    def _names_around(self, node: ast.AST) -> list[str]:
        """Return the names of the functions around a node, and of the one that it decorates."""
        decorated = self.source.parents.get(node)
        found = [decorated] if node in getattr(decorated, "decorator_list", ()) else []
        return [getattr(scope, "name", "") for scope in (*found, *self.source.scopes(node))]

    def gradient(self, node: ast.AST, kind: str) -> str:
        """Return how a callback has its gradient."""
        inner = False
        for above, _ in self.source.above(node):
            if isinstance(above, FUNCTIONS):
                name = getattr(above, "name", "")
                if name in self.custom:
                    return "is one" if inner else "custom_gradient"
                if any(name in names and _overrides(one, kind) for one, names in self.overrides.items()):
                    return "override_map"
                decorators = (getattr(one, "func", one) for one in getattr(above, "decorator_list", ()))
                if "RegisterGradient" in map(last_name, decorators):
                    return "is one"
                inner = True
            elif _overrides(above, kind):
                return "override_map"
        return "tape" if kind == "py_function" else "none"


def _overrides(node: ast.AST, kind: str = "") -> bool:
    """Is it a `with ...gradient_override_map(...)` that names the op of a kind of callback, or no literal ops?"""
    calls = [item.context_expr for item in node.items] if isinstance(node, ast.With | ast.AsyncWith) else []
    for call in calls:
        if isinstance(call, ast.Call) and last_name(call.func) == "gradient_override_map" and call.args:
            keys = call.args[0].keys if isinstance(call.args[0], ast.Dict) else [None]
            ops = {"EagerPyFunc"} if kind == "py_function" else {"PyFunc", "PyFuncStateless"}
            return not kind or any(not isinstance(key, ast.Constant) or key.value in ops for key in keys)
    return False


def look_around(
    values: ValueFlow,
    used_elsewhere: Mapping[str, Set[str]] | None = None,
    bases_elsewhere: Callable[[str], Set[str] | None] = lambda path: None,
) -> Surroundings:
    """Return what a file as a whole says of the callbacks in it.

    Args:
        values: of the file.
        used_elsewhere: context -> names of functions of this file that others use there.
        bases_elsewhere: called with the path of a class, returns the last names of all its bases outside the program;
            None if the class is not in another file of the program.
    """
    source, uses = values.source, _uses(values.source.tree)
    classes = _contexts_of_classes(source, bases_elsewhere)
    direct: defaultdict[str, set[str]] = defaultdict(set)
    for context, names in (used_elsewhere or {}).items():
        direct[context] |= names
    inside: defaultdict[str, set[ast.AST]] = defaultdict(set)
    named: defaultdict[str, list[ast.AST]] = defaultdict(list)
    custom, overrides = set[str](), dict[ast.AST, set[str]]()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            for context, part, is_function in _parts(values, node):
                inside[context].add(part)
                named[context].append(part)
                for value in values.sources(part) if is_function else ():
                    named[context].append(value)
                    for method in _methods(values, value):
                        named[context].append(method)
                        if source.path(method.value).startswith(UNKNOWN):  # else the class is in another file
                            direct[context].add(method.attr)
                    # A call is evaluated where it is written, but for one that only binds arguments.
                    if isinstance(value, ast.Lambda | ast.Name | ast.Attribute) or source.is_partial(value):
                        inside[context].add(value)
            if last_name(node.func) == "custom_gradient" and node.args:
                custom.add(last_name(node.args[0]))
        elif isinstance(node, ast.ClassDef) and node.name in classes:
            named[classes[node.name]].append(node)
        elif isinstance(node, ast.FunctionDef) and "custom_gradient" in map(last_name, node.decorator_list):
            custom.add(node.name)
        elif _overrides(node):
            overrides[node] = reached(_names(node) & set(uses), uses)
    for context, nodes in named.items():
        direct[context] |= {name for node in nodes for name in _names(node)}
    direct["loss"] |= {name for name in uses if "loss" in name.lower()}
    used = {context: reached(direct[context] & set(uses), uses) for context in EVERY_CONTEXT}
    return Surroundings(source, uses, used, inside, named, classes, custom - {""}, overrides)


def _is_parallel(values: ValueFlow, number: ast.AST) -> bool:
    """May a `num_parallel_calls` mean more than one call at a time? None means 1, and AUTOTUNE is -1."""
    ends = [one for one in values.sources(number) if not values.parts(one)]
    return any(not isinstance(one, ast.Constant) or one.value not in (None, 0, 1) for one in ends)


def _parts(values: ValueFlow, call: ast.Call) -> Iterator[tuple[str, ast.AST, bool]]:
    """Yield the arguments of a call that are run inside something: in what, the argument, and is it a function?"""
    path, arguments = values.source.path(call.func), [*call.args, *call.keywords]
    last = call.func.attr if isinstance(call.func, ast.Attribute) else path.rpartition(".")[2]
    if path.startswith("tensorflow") and last in LOOPS and ".data." not in path:
        positions = LATER_FUNCTIONS["while_loop"] if last == "while_loop" else (0,)
        yield from (("loop", one, _is_function(call, one, positions)) for one in arguments)
    elif isinstance(call.func, ast.Attribute) and last in DATASET_METHODS:
        positions, contexts = LATER_FUNCTIONS.get(last, (0,)), [DATA]
        if last in ALWAYS_PARALLEL:
            contexts.append(PARALLEL)
        elif last in PARALLEL_METHODS:
            number = values.argument(call, PARALLEL_CALLS, PARALLEL_METHODS[last])
            contexts += [PARALLEL] if number is not None and _is_parallel(values, number) else []
        yield from ((one, each, _is_function(call, each, positions)) for one in contexts for each in arguments)
    elif last == "compile":
        named = [(str(keyword.arg), keyword.value) for keyword in call.keywords]
        named += [("loss", call.args[place]) for place in LOSS_POSITIONS if place < len(call.args)]
        named += [("metrics", call.args[place]) for place in METRIC_POSITIONS if place < len(call.args)]
        yield from (("loss", value, True) for name, value in named if "loss" in name)
        yield from ((METRIC, value, True) for name, value in named if "metrics" in name)
    elif last in ("add_loss", "Lambda"):
        yield from (("loss" if last == "add_loss" else LAYER, one, True) for one in arguments)


def _methods(values: ValueFlow, value: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the method that an object stands for, as that of its class: `Loader.load`, `Loader.__call__`."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name | ast.Attribute) and values.is_class(value.func):
        yield ast.Attribute(value.func, "__call__", ast.Load())
    if isinstance(value, ast.Attribute) and not is_of_self(value):
        for owner in (value.value, *values.sources(value.value)):
            function = owner.func if isinstance(owner, ast.Call) else owner
            if isinstance(function, ast.Name | ast.Attribute) and values.is_class(function):
                yield ast.Attribute(function, value.attr, ast.Load())


def _is_function(call: ast.Call, argument: ast.AST, positions: tuple[int, ...]) -> bool:
    """Is an argument what is called, so that the functions it is bound to are run there?"""
    if isinstance(argument, ast.keyword):
        return bool(argument.arg) and str(argument.arg).endswith(FUNCTION_KEYWORDS)
    return any(argument is one for one in (call.args[place] for place in positions if place < len(call.args)))


def _contexts_of_classes(source: ProgramSource, bases_elsewhere: Callable[[str], Set[str] | None]) -> dict[str, str]:
    """Return the contexts of the classes that derive, directly or not, from a library's class in `BASES`.

    A class of the program itself may be called `Model` and have nothing to do with Keras: its own bases count.
    """
    bases = bases_of(source)
    found: dict[str, str] = {}
    for name, of in bases.items():
        outside: set[str] = set()
        for path in of - set(bases):
            names = bases_elsewhere(path)
            outside |= {path.rpartition(".")[2]} if names is None else names
        for context, ends in BASES.items():
            if any(one.endswith(ends) for one in outside):
                found.setdefault(name, context)
    while more := {name: found[one] for name, of in bases.items() if name not in found for one in of if one in found}:
        found |= more
    return found


def bases_of(source: ProgramSource) -> dict[str, set[str]]:
    """Return the bases of classes by name: the bare name of a base in the same file, the path of any other."""
    classes = [node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
    names = {node.name for node in classes}
    bases: dict[str, set[str]] = {}
    for node in classes:
        # A class that has the name of its base, as in `class Model(keras.Model)`, is not its own base.
        of = bases.setdefault(node.name, set())
        for base in node.bases:
            is_here = isinstance(base, ast.Name) and base.id in names and source.path(base).startswith(UNKNOWN)
            of.add(last_name(base) if is_here else source.path(base).lstrip(UNKNOWN) or last_name(base))
    return bases


def _names(node: ast.AST) -> set[str]:
    """Return the names of what is used in a node: plain ones, and attributes of `self` and `cls`."""
    found = every_name(node)
    attributes = (inner for inner in ast.walk(node) if isinstance(inner, ast.Attribute))
    return found | {inner.attr for inner in attributes if last_name(inner.value) in {"self", "cls"}}


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """Return the functions of a file by name, each with the names that it uses."""
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            uses.setdefault(node.name, set()).update(_names(node))
    return uses


def reached(names: set[str], uses: dict[str, set[str]]) -> set[str]:
    """Return the names of functions, and of all that these use, directly or not."""
    found = set(names)
    while more := {used for name in found for used in uses.get(name, ()) if used in uses} - found:
        found |= more
    return found
