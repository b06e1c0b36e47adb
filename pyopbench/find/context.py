"""What a callback stands in: a tf.data pipeline, a Keras layer or metric, a loss, a loop; and its gradient.

A function counts as what uses it, in the same file: one that `dataset.map` is given, and what that one calls, is part
of the pipeline; so is one that is given under another name, or in a list, a dict or a parameter. Functions are
distinguished by their names alone.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.find.source import FUNCTIONS, UNKNOWN, ProgramSource, Scope
from pyopbench.model.syntax import defaults_of, every_name

DATASET_METHODS = {
    *("map", "flat_map", "interleave", "filter", "apply", "scan", "reduce", "take_while", "map_with_legacy_function"),
    *("parallel_interleave", "map_and_batch", "group_by_window"),
}
PARALLEL_CALLS = "num_parallel_calls"
PARALLEL_METHODS = {"map": 1, "map_with_legacy_function": 1, "interleave": 3}
"""The methods that have `num_parallel_calls`, and its position (dataset_ops.py of TensorFlow 2.21)."""

ALWAYS_PARALLEL = {"parallel_interleave", "map_and_batch"}
"""What calls in parallel unless it is told otherwise (tensorflow/python/data/experimental/ops)."""

LATER_FUNCTIONS = {"reduce": (1,), "scan": (1,), "group_by_window": (0, 1, 2), "while_loop": (0, 1)}
"""Positions of the functions among the arguments, where there are others than the first; of `Dataset.scan` too."""

FUNCTION_KEYWORDS = ("func", "fn", "cond", "body", "predicate", "function")
"""How the names of the parameters end that take the functions."""

LOOPS = {"map_fn", "while_loop", "scan", "foldl", "foldr", "vectorized_map"}
LAYER_BASES = ("Layer", "Model", "RNNCell", "Regularizer", "Constraint", "Wrapper", "Lambda", "Cell")
"""Ends of the names of the classes that Keras calls inside its graphs."""

METRIC_BASES = (
    *("Metric", "Mean", "Sum", "MeanMetricWrapper", "AUC", "Accuracy"),
    *("MeanIoU", "Precision", "Recall", "F1Score", "FBetaScore"),
)
"""The same of classes of metrics, through which no gradient flows."""

METRIC, LAYER = "Keras metric", "Keras layer"
DATA = "tf.data"
CONTEXTS = (DATA, "loss", METRIC, LAYER, "loop")
PLAIN = "plain"

LOSS_POSITIONS, METRIC_POSITIONS = (1,), (2, 3)
"""Of `Model.compile`: the metrics come third in Keras 2 and fourth in Keras 3, and no weights are functions."""

GROWING = {"append", "extend", "insert", "add", "update", "setdefault"}
"""Methods that put their arguments into a list, a set or a dict."""

Parallel: TypeAlias = Literal["yes", "perhaps", "no"]
PARALLEL_CONTEXTS: dict[Parallel, str] = {"yes": "in parallel", "perhaps": "perhaps in parallel"}
"""Contexts that only a pipeline has, in addition to its own; the surer one first."""


@dataclass(frozen=True)
class Surroundings:
    """What is known of a file as a whole.

    Attributes:
        source: the file.
        uses: its functions -> the names that each uses.
        used_in: context -> names of the functions that are used there, directly or not.
        inside: context -> expressions that are evaluated there, wherever they are written.
        named_in: context -> what names the functions in `used_in`, of this file or of others.
        layers: names of the classes of Keras layers; of losses.
        losses: the same of losses.
        metrics: the same of metrics.
        custom: names of functions that were given to tf.custom_gradient.
        overridden: names of functions that are called under a gradient_override_map -> the ops that it names.
    """

    source: ProgramSource
    uses: dict[str, set[str]]
    used_in: dict[str, set[str]]
    inside: dict[str, set[ast.AST]]
    named_in: dict[str, list[ast.AST]]
    layers: set[str]
    losses: set[str]
    metrics: set[str]
    custom: set[str]
    overridden: dict[str, set[str]]

    def context(self, node: ast.AST) -> str:
        """Return what a node is part of: the nearest thing around it, or what uses a function around it."""
        for above, below in self.source.above(node):
            found = next((context for context in CONTEXTS if below in self.inside[context]), "")
            if found or (found := _context_of(self, above)):
                return found
        names = self._names_around(node)
        for context in CONTEXTS:
            if any(name in self.used_in[context] for name in names):
                return context
        return PLAIN

    def is_parallel(self, node: ast.AST) -> Parallel:
        """Return whether a pipeline calls a node in parallel; `perhaps` where a number is not in the source."""
        names = {*self._names_around(node)}
        nodes = {below for _, below in self.source.above(node)}
        for answer, context in PARALLEL_CONTEXTS.items():
            if names & self.used_in[context] or nodes & self.inside[context]:
                return answer
        return "no"

    def _names_around(self, node: ast.AST) -> list[str]:
        """Return the names of the functions around a node, and of the one that it decorates."""
        decorated = self.source.parents.get(node)
        found = [decorated] if node in getattr(decorated, "decorator_list", ()) else []
        return [getattr(scope, "name", "") for scope in (*found, *self.source.scopes(node))]

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


def look_around(
    source: ProgramSource,
    used_elsewhere: Mapping[str, Set[str]] | None = None,
    bases_elsewhere: Callable[[str], Set[str] | None] = lambda path: None,
) -> Surroundings:
    """Return what a file as a whole says of the callbacks in it.

    Args:
        source: the file.
        used_elsewhere: context -> names of functions of this file that others use there.
        bases_elsewhere: called with the path of a class, returns the last names of all its bases outside the program;
            None if the class is not in another file of the program.
    """
    classes = [node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
    layers, losses, metrics = (
        _derived(source, classes, ends, bases_elsewhere) for ends in (LAYER_BASES, ("Loss",), METRIC_BASES)
    )
    uses, values = _uses(source.tree), Values(source)
    direct: defaultdict[str, set[str]] = defaultdict(set)
    for context, names in (used_elsewhere or {}).items():
        direct[context] |= names
    inside: defaultdict[str, set[ast.AST]] = defaultdict(set)
    named: defaultdict[str, list[ast.AST]] = defaultdict(list)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            for context, part, is_function in _parts(values, node):
                inside[context].add(part)
                named[context].append(part)
                for value in values.of(part) if is_function else ():
                    named[context].append(value)
                    for method in _methods(values, value):
                        named[context].append(method)
                        direct[context].add(method.attr)
                    # A call is evaluated where it is written, but for one that only binds arguments.
                    if isinstance(value, ast.Lambda | ast.Name | ast.Attribute) or source.is_partial(value):
                        inside[context].add(value)
        elif isinstance(node, ast.ClassDef) and node.name in metrics:
            named[METRIC].append(node)
        elif isinstance(node, ast.ClassDef) and node.name in layers:
            named[LAYER].append(node)
        elif isinstance(node, ast.ClassDef) and node.name in losses:
            named["loss"].append(node)
    for context, nodes in named.items():
        direct[context] |= {name for node in nodes for name in _names(node)}
    direct["loss"] |= {name for name in uses if "loss" in name.lower()}
    used = {context: reached(direct[context] & set(uses), uses) for context in (*CONTEXTS, *PARALLEL_CONTEXTS.values())}
    custom, overridden = _custom(source), _overridden(source, uses)
    return Surroundings(source, uses, used, inside, named, layers, losses, metrics, custom, overridden)


def _context_of(around: Surroundings, above: ast.AST) -> str:
    if isinstance(above, ast.ClassDef):
        kinds = (("loss", around.losses), (METRIC, around.metrics), (LAYER, around.layers))
        return next((context for context, names in kinds if above.name in names), "")
    return "loss" if isinstance(above, FUNCTIONS) and "loss" in getattr(above, "name", "").lower() else ""


class Values:
    """What the expressions of a file can be, through the names that they are bound to.

    Followed are assignments, `+=`, unpacking, `append` and its like, items of dicts, loops, attributes of `self`, and
    parameters of functions that the file itself calls.
    """

    def __init__(self, source: ProgramSource) -> None:
        self.source = source
        self._bound: defaultdict[tuple[Scope | None, str], list[ast.AST]] = defaultdict(list)
        self._calls: defaultdict[str, list[ast.Call]] = defaultdict(list)
        self._classes = {node.name for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)}
        for node in ast.walk(source.tree):
            for target, value in _bindings_of(node):
                self._bind(target, value)
            if isinstance(node, ast.Call):
                self._calls[last_name(node.func)].append(node)

    def of(self, node: ast.AST) -> list[ast.AST]:
        """Return an expression and all that it may be or hold."""
        found: dict[ast.AST, None] = {}
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found[one] = None
                waiting += self._next(one)
        return list(found)

    def items(self, node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
        """Yield the items of a dict with a name that the source shows, as in `compile(**settings)`."""
        for one in self.of(node):
            if isinstance(one, ast.Dict):
                pairs = zip(one.keys, one.values, strict=True)
                yield from ((str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant))
            elif isinstance(one, ast.Call):
                yield from ((keyword.arg, keyword.value) for keyword in one.keywords if keyword.arg)
            elif isinstance(one, ast.Assign):
                keys = [target.slice for target in one.targets if isinstance(target, ast.Subscript)]
                yield from ((str(key.value), one.value) for key in keys if isinstance(key, ast.Constant))

    def is_class(self, name: ast.Name | ast.Attribute) -> bool:
        """Is it a class, by its definition in the file or, if it is imported, by the case of its name?"""
        path = self.source.path(name)
        if path.startswith(UNKNOWN):
            return last_name(name) in self._classes
        return last_name(name)[:1].isupper()

    def is_parallel(self, number: ast.AST | None) -> Parallel:
        """Return whether a `num_parallel_calls` means more than one call at a time: AUTOTUNE is -1, None is 1."""
        if number is None:
            return "no"
        values = self.of(number)
        if any(isinstance(one, ast.Call | ast.BinOp | ast.Subscript) for one in values):
            return "perhaps"  # it is computed
        answers = {_is_parallel(one) for one in values if not self._next(one)}
        return "yes" if "yes" in answers else "perhaps" if "perhaps" in answers or not answers else "no"

    def _bind(self, target: ast.AST, value: ast.AST) -> None:
        if isinstance(target, ast.Name):
            scope = self.source.home(target)
            self._bound[scope, target.id].append(value)
            if isinstance(scope, ast.ClassDef):
                self._bound[None, target.id].append(value)
        elif _is_of_self(target) and isinstance(target, ast.Attribute):
            self._bound[None, target.attr].append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            alike = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            for place, one in enumerate(target.elts):
                self._bind(one, value.elts[place] if alike and isinstance(value, ast.Tuple | ast.List) else value)

    def _next(self, node: ast.AST) -> list[ast.AST]:
        """Return what an expression is bound to or holds; nothing for a function, which is entered by its name."""
        if isinstance(node, ast.Name):
            scope = self.source.home(node)
            return [*self._bound[scope, node.id], *self._given(scope, node.id)]
        if isinstance(node, ast.Attribute):
            return list(self._bound[None, node.attr]) if _is_of_self(node) else []
        if isinstance(node, ast.Call):
            return [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return [node.elt, *(one.iter for one in node.generators)]
        if isinstance(node, ast.Assign | ast.keyword | ast.Starred | ast.NamedExpr):
            return [node.value]
        if isinstance(node, ast.IfExp):
            return [node.body, node.orelse]
        if isinstance(node, ast.Subscript):
            return [node.value]
        if isinstance(node, ast.Dict):
            return list(node.values)
        if isinstance(node, ast.DictComp):
            return [node.value, *(one.iter for one in node.generators)]
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return list(node.elts)
        if isinstance(node, ast.BinOp):
            return [node.left, node.right]
        return list(node.values) if isinstance(node, ast.BoolOp) else []

    def _given(self, scope: Scope | None, name: str) -> Iterator[ast.AST]:
        """Yield what the calls of a function in this file, and its default, give for a parameter."""
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        arguments = scope.args
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
        defaults = defaults_of(arguments)
        if name in defaults:
            yield defaults[name]
        if name not in {*names, *(one.arg for one in arguments.kwonlyargs)}:
            return
        positional = names[1:] if names[:1] in (["self"], ["cls"]) else names
        for call in self._calls[scope.name]:
            yield from (keyword.value for keyword in call.keywords if keyword.arg == name)
            if name in positional[: len(call.args)]:
                yield call.args[positional.index(name)]


def _bindings_of(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield what a node binds, or adds to, each with an expression that it may be or hold from then on."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            # The assignment itself, because its key tells what an item of a dict is.
            yield (target.value, node) if isinstance(target, ast.Subscript) else (target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield node.target, node.iter
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWING:
        yield from ((node.func.value, one) for one in (*node.args, *(each.value for each in node.keywords)))


def _is_of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and last_name(node.value) in {"self", "cls"}


def _is_parallel(number: ast.AST) -> Parallel:
    if isinstance(number, ast.Attribute) or (isinstance(number, ast.Name) and number.id == "AUTOTUNE"):
        return "yes" if last_name(number) == "AUTOTUNE" else "perhaps"
    if isinstance(number, ast.UnaryOp) and isinstance(number.operand, ast.Constant):  # -1, which AUTOTUNE is
        return "yes"
    if not isinstance(number, ast.Constant):
        return "perhaps"
    return "no" if number.value in (None, 0, 1) else "yes"


def _parts(values: Values, call: ast.Call) -> Iterator[tuple[str, ast.AST, bool]]:
    """Yield the arguments of a call that are run inside something: in what, the argument, and is it a function?"""
    path, arguments = values.source.path(call.func), [*call.args, *call.keywords]
    last = call.func.attr if isinstance(call.func, ast.Attribute) else path.rpartition(".")[2]
    if path.startswith("tensorflow") and last in LOOPS and ".data." not in path:
        positions = LATER_FUNCTIONS["while_loop"] if last == "while_loop" else (0,)
        yield from (("loop", one, _is_function(call, one, positions)) for one in arguments)
    elif isinstance(call.func, ast.Attribute) and last in DATASET_METHODS:
        positions = LATER_FUNCTIONS.get(last, (0,))
        contexts = [DATA, *_parallel_context(values, call, last)]
        yield from ((one, each, _is_function(call, each, positions)) for one in contexts for each in arguments)
    elif last == "compile":
        named: list[tuple[str, ast.AST]] = [(one.arg, one.value) for one in call.keywords if one.arg]
        named += [pair for one in call.keywords if not one.arg for pair in values.items(one.value)]
        named += [("loss", call.args[place]) for place in LOSS_POSITIONS if place < len(call.args)]
        named += [("metrics", call.args[place]) for place in METRIC_POSITIONS if place < len(call.args)]
        yield from (("loss", value, True) for name, value in named if "loss" in name)
        yield from ((METRIC, value, True) for name, value in named if "metrics" in name)
    elif last == "add_loss":
        yield from (("loss", one, True) for one in arguments)
    elif last == "Lambda":
        yield from ((LAYER, one, True) for one in arguments)


def _methods(values: Values, value: ast.AST) -> Iterator[ast.Attribute]:
    """Yield a method of an object, such as `loader.load`, as that of its class, `Loader.load`."""
    if isinstance(value, ast.Attribute) and not _is_of_self(value):
        for owner in (value.value, *values.of(value.value)):
            function = owner.func if isinstance(owner, ast.Call) else owner
            if isinstance(function, ast.Name | ast.Attribute) and values.is_class(function):
                yield ast.Attribute(function, value.attr, ast.Load())


def _is_function(call: ast.Call, argument: ast.AST, positions: tuple[int, ...]) -> bool:
    """Is an argument what is called, so that the functions it is bound to are run there?"""
    if isinstance(argument, ast.keyword):
        return bool(argument.arg) and str(argument.arg).endswith(FUNCTION_KEYWORDS)
    return any(argument is one for one in (call.args[place] for place in positions if place < len(call.args)))


def _parallel_context(values: Values, call: ast.Call, method: str) -> list[str]:
    """Return in what else the functions of a pipeline's method are run: in parallel, perhaps, or neither."""
    if method in ALWAYS_PARALLEL:
        return [PARALLEL_CONTEXTS["yes"]]
    if method not in PARALLEL_METHODS:
        return []
    place = PARALLEL_METHODS[method]
    named: list[ast.AST] = [keyword.value for keyword in call.keywords if keyword.arg == PARALLEL_CALLS]
    named += [
        value
        for one in call.keywords
        if not one.arg
        for name, value in values.items(one.value)
        if name == PARALLEL_CALLS
    ]
    number = next(iter([*named, *call.args[place : place + 1]]), None)
    answer = values.is_parallel(number)
    return [PARALLEL_CONTEXTS[answer]] if answer != "no" else []


def _derived(
    source: ProgramSource,
    classes: Iterable[ast.ClassDef],
    ends: tuple[str, ...],
    bases_elsewhere: Callable[[str], Set[str] | None],
) -> set[str]:
    """Return the names of the classes that derive, directly or not, from a library's class whose name ends like this.

    A class of the program itself may be called `Model` and have nothing to do with Keras: its own bases count.
    """
    bases = bases_of(source, classes)
    found: set[str] = set()
    for name, of in bases.items():
        outside = [names if (names := bases_elsewhere(path)) is not None else {_end(path)} for path in of - set(bases)]
        if any(base.endswith(ends) for names in outside for base in names):
            found.add(name)
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def bases_of(source: ProgramSource, classes: Iterable[ast.ClassDef]) -> dict[str, set[str]]:
    """Return the bases of classes by name: the bare name of a base in the same file, the path of any other."""
    every = [*classes]
    names = {node.name for node in every}
    bases: dict[str, set[str]] = {}
    for node in every:
        # A class that has the name of its base, as in `class Model(keras.Model)`, is not its own base.
        of = bases.setdefault(node.name, set())
        for base in node.bases:
            is_here = isinstance(base, ast.Name) and base.id in names and source.path(base).startswith(UNKNOWN)
            of.add(last_name(base) if is_here else source.path(base).lstrip(UNKNOWN) or last_name(base))
    return bases


def _end(path: str) -> str:
    return path.rpartition(".")[2]


def last_name(node: ast.AST) -> str:
    """Return the last name of a dotted path such as `a.b.c`; empty for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


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


def _custom(source: ProgramSource) -> set[str]:
    """Return the names of functions that tf.custom_gradient decorates or is called with."""
    found: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and any(
            last_name(one) == "custom_gradient" for one in node.decorator_list
        ):
            found.add(node.name)
        elif isinstance(node, ast.Call) and last_name(node.func) == "custom_gradient" and node.args:
            found.add(last_name(node.args[0]))
    return found - {""}


def _overridden(source: ProgramSource, uses: dict[str, set[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.With | ast.AsyncWith) and (ops := _overridden_ops(node)):
            for name in reached({name for part in node.body for name in _names(part)} & set(uses), uses):
                found.setdefault(name, set()).update(ops)
    return found


def _overridden_ops(node: ast.With | ast.AsyncWith) -> set[str]:
    """Return the ops that a `with ...gradient_override_map({...})` names; every callback where they are no literals."""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and last_name(call.func) == "gradient_override_map" and call.args:
            keys = call.args[0].keys if isinstance(call.args[0], ast.Dict) else [None]
            if all(isinstance(key, ast.Constant) for key in keys):
                return {str(key.value) for key in keys if isinstance(key, ast.Constant)}
            return {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
    return set()


def _is_defun(decorator: ast.expr) -> bool:
    return (
        isinstance(decorator, ast.Call)
        and last_name(decorator.func) == "Defun"
        and any(keyword.arg == "python_grad_func" for keyword in decorator.keywords)
    )


def _has_named(function: ast.AST, name: str) -> bool:
    decorators = getattr(function, "decorator_list", ())
    return any(last_name(one.func if isinstance(one, ast.Call) else one) == name for one in decorators)
