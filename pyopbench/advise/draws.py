"""Moves the draws of a body out of it: they become inputs, and TensorFlow draws them in the program.

A draw is one call that draws random numbers. TensorFlow draws with a `tf.random.Generator`. In `Dataset.map`, functions
such as `tf.random.uniform` return the same numbers in each epoch once `tf.random.set_seed` was called, because each
iterator has its own copy of the op (TensorFlow 2.21).

The rest of the body is deterministic then, so that a port of it can be verified. A draw is moved if its distribution is
seen in the source: it calls a function in `DISTRIBUTIONS` or `CHOICE`, with arguments that are constants or lengths of
inputs. It must be made at most once in each call of the body, or in each iteration of a loop of known length. If one
draw cannot be moved, all of them stay in the body.
"""

from __future__ import annotations

import ast
import operator
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import stats

from pyopbench.find.risks import RANDOM
from pyopbench.find.source import ProgramSource
from pyopbench.model.function_source import own_nodes
from pyopbench.model.source_text import Replacement, Source

QUANTILES = (0.03, 0.4, 0.97)
"""Quantiles of a draw's distribution that serve as its examples, so that a rare condition is met as well as a usual
one. The median is left out, because many bodies do nothing there: a turn by 0 degrees, a factor of 1."""

GENERATOR = "generator_of_draws"
"""The function that returns TensorFlow's generator, in the port's file."""

WITH_DRAWS = "with_draws"
"""The end of the name of the function that draws and calls the port, in the port's file."""

Family: TypeAlias = Literal["uniform", "normal", "integers"]


@dataclass(frozen=True)
class Distribution:
    """The distribution that a function draws from, and the parameters of the function.

    Attributes:
        family: `uniform` and `normal` draw floats, `integers` whole numbers below the second parameter.
        names: of the function's parameters in order; `size` is the shape of what is drawn.
        defaults: of the two parameters of the family, where a call does not give them.
        is_closed: can the second parameter of `integers` be drawn too?
        has_sizes: is each argument a length, as in `np.random.rand(3, 4)`?
    """

    family: Family
    names: tuple[str, ...] = ()
    defaults: tuple[float, float] = (0, 1)
    is_closed: bool = False
    has_sizes: bool = False


_OF_NUMPY = Distribution("uniform", ("size",))
_NORMAL = Distribution("normal", ("low", "high", "size"))

DISTRIBUTIONS: Mapping[str, Distribution] = {
    "numpy.random.uniform": Distribution("uniform", ("low", "high", "size")),
    "numpy.random.rand": Distribution("uniform", has_sizes=True),
    **{f"numpy.random.{name}": _OF_NUMPY for name in ("random", "random_sample", "ranf", "sample")},
    "numpy.random.randn": Distribution("normal", has_sizes=True),
    "numpy.random.standard_normal": Distribution("normal", ("size",)),
    "numpy.random.normal": _NORMAL,
    "numpy.random.randint": Distribution("integers", ("low", "high", "size"), (0, 0)),
    "random.random": Distribution("uniform"),
    "random.uniform": Distribution("uniform", ("low", "high")),
    "random.gauss": Distribution("normal", ("low", "high")),
    "random.normalvariate": Distribution("normal", ("low", "high")),
    "random.randint": Distribution("integers", ("low", "high"), (0, 0), is_closed=True),
    "random.randrange": Distribution("integers", ("low", "high"), (0, 0)),
}
"""Each draws as its documentation says: https://numpy.org/doc/stable/reference/random/legacy.html and
https://docs.python.org/3/library/random.html. For `normal`, `low` is the mean and `high` the standard deviation."""

SPELLINGS = {"loc": "low", "scale": "high", "a": "low", "b": "high", "mu": "low", "sigma": "high"}
"""Other names of these parameters, for arguments that are given by name."""

SETTING = ("seed", "set_state", "setstate")
"""Functions after which a generator draws the same numbers again."""

DRAWING = (*RANDOM, "tensorflow.image.random_")

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/"}
COMPUTE: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "/": operator.truediv,
}

SEEDS = {
    "numpy": "np.random.seed({seed})",
    "random": "random.seed({seed})",
    "tensorflow": "tf.random.set_seed({seed})",
}

CHOICE = ("numpy.random.choice", "random.choice")


@dataclass(frozen=True)
class Draw:
    """One call in a body that draws random numbers.

    Attributes:
        name: the new parameter of the body.
        family: of the distribution.
        low, high: the parameters of the distribution.
        shape: of an array; None for a number.
    """

    name: str
    family: Family
    low: Size
    high: Size
    shape: Size | None

    @property
    def tensor(self) -> str:
        """The TensorFlow expression that draws the same; its tensors have the names of the inputs."""
        dtype = "tf.int64" if self.family == "integers" else "tf.float64"
        function = "normal" if self.family == "normal" else "uniform"
        shape = "[]" if self.shape is None else self.shape.tensor
        ends = [
            one.tensor if one.is_constant or self.family == "integers" else f"tf.cast({one.tensor}, tf.float64)"
            for one in (self.low, self.high)
        ]
        return f"{GENERATOR}().{function}({shape}, {', '.join(ends)}, {dtype})"

    def example(self, inputs: Mapping[str, Any], number: int, place: int) -> Any:
        """Return an example of what is drawn.

        Args:
            inputs: of the body by name; arrays.
            number: of the example.
            place: position of the draw among those of the body.
        """
        low, high = self.low.value(inputs), self.high.value(inputs)
        dtype = np.int64 if self.family == "integers" else np.float64
        if self.shape is None:
            at: Any = QUANTILES[(number + place) % len(QUANTILES)]
        else:
            at = np.random.default_rng([number, place]).random(self.shape.value(inputs))
        if self.family == "normal":
            return np.asarray(low + high * stats.norm.ppf(at), dtype)
        drawn = low + at * (high - low)
        return np.asarray(np.floor(drawn) if self.family == "integers" else drawn, dtype)


@dataclass(frozen=True)
class Size:
    """A number or a shape that is known before the body runs, from constants and the shapes of its inputs.

    Attributes:
        tensor: the TensorFlow expression for it.
        value: a function that returns it for inputs by name.
        is_constant: is it the same for all inputs?
    """

    tensor: str
    value: Callable[[Mapping[str, Any]], Any]
    is_constant: bool = False


def _constant(value: float) -> Size:
    return Size(repr(value), lambda _: value, is_constant=True)


@dataclass(frozen=True)
class Lifted:
    """A body that draws random numbers, with its draws as inputs if they can be moved.

    Attributes:
        text: the new source, with as many lines as the old one; the old one if the draws stay in the body.
        draws: in the order of the new inputs; empty if they stay in the body.
        inputs: the names of the other inputs.
        generators: the modules whose generators the body draws from: `numpy`, `random`, `tensorflow`.
        refused: why the draws stay in the body; empty if they do not.
        line: the line of the text that is the reason; 0 if it is not known.
    """

    text: str
    draws: tuple[Draw, ...] = ()
    inputs: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    refused: str = ""
    line: int = 0

    @property
    def owner(self) -> str:
        """The name of the library whose generator seeds that of TensorFlow."""
        return "NumPy" if "numpy" in self.generators else "Python"

    @property
    def seed_with(self) -> str:
        """The statement that seeds a body whose draws stay in it, before each call."""
        return "; ".join(SEEDS[one] for one in self.generators)

    def examples(self, inputs: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return recorded inputs several times, each time with another example of each draw."""
        named = dict(zip(self.inputs, inputs, strict=True))
        return [
            (*inputs, *(draw.example(named, number, place) for place, draw in enumerate(self.draws)))
            for number in range(len(QUANTILES) if self.draws else 1)
        ]

    def wrapped(self, port: str, function: str, *, takes_list: bool) -> str:
        """Return the file of a port, with one more function, which draws and calls the port.

        Args:
            port: the text of the file.
            function: the function in it to call.
            takes_list: does it take a list of inputs?
        """
        names = ", ".join(self.inputs)
        lines = [f"        {one.tensor},  # {one.name}" for one in self.draws]
        given = "inputs" if takes_list else names
        unpacked = [f"    {names}{',' if len(self.inputs) == 1 else ''} = inputs"] if takes_list else []
        seed = "np.random.randint(2**31)" if "numpy" in self.generators else "random.randrange(2**31)"
        # Imported inside the functions: the processes of a pool run the file too, and would wait for TensorFlow.
        tensorflow = [] if _imports(port, "tensorflow", "tf") else ["    import tensorflow as tf"]
        opened, closed = ("([", "])") if takes_list else ("(", ")")
        return "\n".join(
            [
                _with_import(port, *(("numpy", "np") if "numpy" in self.generators else ("random", ""))).rstrip("\n"),
                "",
                "",
                "GENERATORS = []",
                "",
                "",
                f"def {GENERATOR}():",
                f'    """Return the generator of the random numbers, seeded once from that of {self.owner}."""',
                *tensorflow,
                "    if not GENERATORS:",
                '        with tf.init_scope(), tf.device("CPU"):',
                f"            GENERATORS.append(tf.random.Generator.from_seed({seed}))",
                "    return GENERATORS[0]",
                "",
                "",
                f"def {function}_{WITH_DRAWS}({given}):",
                '    """Call the port with random numbers from the distributions that the body drew from."""',
                *tensorflow,
                *unpacked,
                f"    return {function}{opened}",
                f"        {names},",
                *lines,
                f"    {closed}",
                "",
            ]
        )


def _imports(text: str, module: str, name: str) -> bool:
    """Does a source import a module under a name, at its top?"""
    found = [one for one in ast.parse(text).body if isinstance(one, ast.Import)]
    return any((alias.name, alias.asname or "") == (module, name) for one in found for alias in one.names)


def _with_import(text: str, module: str, name: str) -> str:
    """Return a source that imports a module under a name; empty for its own."""
    if _imports(text, module, name):
        return text
    tree = ast.parse(text)
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    is_described = bool(tree.body) and isinstance(tree.body[0], ast.Expr)
    last = imports[-1] if imports else tree.body[0] if is_described else None
    line, lines = 0 if last is None else last.end_lineno or 0, text.split("\n")
    return "\n".join([*lines[:line], f"import {module}" + (f" as {name}" if name else ""), *lines[line:]])


def lift(text: str, function: str, inputs: int) -> Lifted | None:
    """Return a body with its draws as inputs; None if it draws nothing.

    Args:
        text: the source of the body and of all that it needs.
        function: the name of the body in it.
        inputs: how many inputs it takes.
    """
    lifting = _Lifting(text, function, inputs)
    calls = lifting.calls()
    if not calls:
        return None
    generators = lifting.generators(calls)
    try:
        lifted = lifting.lift(calls)
        tree = ast.parse(lifted.text)
    except _Stays as error:
        return Lifted(text, generators=generators, refused=error.why, line=error.line)
    except (SyntaxError, ValueError, RecursionError):  # a call of a form that the edits do not fit
        return Lifted(text, generators=generators, refused="its calls cannot be edited", line=calls[0].lineno)
    is_whole = lifted.text.count("\n") == text.count("\n") and len(tree.body) == len(lifting.source.tree.body)
    return (
        lifted
        if is_whole
        else Lifted(text, generators=generators, refused="its calls cannot be edited", line=calls[0].lineno)
    )


def _binds(node: ast.AST) -> tuple[str, ...]:
    """Return the names that a node binds itself."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return tuple((one.asname or one.name).partition(".")[0] for one in node.names)
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.Global | ast.Nonlocal):
        return tuple(node.names)
    return (node.arg,) if isinstance(node, ast.arg) else ()


class _Stays(Exception):
    def __init__(self, why: str, node: ast.AST | None = None) -> None:
        super().__init__(why)
        self.why, self.line = why, getattr(node, "lineno", 0)


@dataclass
class _Lifting:
    text: str
    function: str
    inputs: int
    source: ProgramSource = field(init=False)
    file: Source = field(init=False)
    counters: dict[ast.For, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tree = ast.parse(self.text)
        self.source, self.file = ProgramSource.of(tree), Source.of(self.text, tree)
        self.names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        self.names |= {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
        self.bound = {name for one in ast.walk(tree) if not isinstance(one, ast.Import) for name in _binds(one)}

    def calls(self) -> list[ast.Call]:
        """Return the calls that draw, in the order of the source."""
        calls = [one for one in ast.walk(self.source.tree) if isinstance(one, ast.Call)]
        paths = {one: self.source.path(one.func) for one in calls}
        if any(path.startswith(RANDOM) and path.rpartition(".")[2] in SETTING for path in paths.values()):
            return []  # a body that seeds its generator draws the same numbers each time
        found = [one for one, path in paths.items() if path.startswith(DRAWING)]
        return sorted(found, key=lambda one: (one.lineno, one.col_offset))

    def lift(self, calls: Sequence[ast.Call]) -> Lifted:
        body = self._definition(self.function)
        if body is None:
            raise _Stays("the body is no plain function")
        names = self._inputs_of(body)
        self._require_plain(calls)
        draws: list[Draw] = []
        edits: list[Replacement] = []
        passed: dict[ast.AST, list[str]] = {}
        for call in calls:
            draw, text = self._lifted(call, self._free(f"drawn_{len(draws) + 1}"), body)
            draws.append(draw)
            edits.append(self._edit(call, text))
            for node, given in self._passed(call, draw.name, body):
                passed.setdefault(node, []).append(given)
        edits += [one for loop, name in self.counters.items() for one in self._counted(loop, name)]
        edits += [self._first(node, given) for node, given in passed.items()]
        edits.append(self._after_inputs(body, [one.name for one in draws]))
        new = self.file.replaced(0, len(self.file.data), edits)
        return Lifted(new, tuple(draws), names, self.generators(calls))

    def generators(self, calls: Sequence[ast.Call]) -> tuple[str, ...]:
        """Return the modules whose generators some calls draw from."""
        return tuple(sorted({self.source.path(one.func).partition(".")[0] for one in calls}))

    def _require_plain(self, calls: Sequence[ast.Call]) -> None:
        """Check that each function that draws is called by an imported name, and is used in no other way.

        Raises:
            _Stays: the source does not show what a function draws, or how often.
        """
        for call in calls:
            base: ast.expr = call.func
            while isinstance(base, ast.Attribute):
                base = base.value
            if not isinstance(base, ast.Name) or not self._is_imported(base):
                raise _Stays(f"`{ast.unparse(call.func)}` is not called by the name of an import", call)
        for node in ast.walk(self.source.tree):
            if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            above, path = self.source.parents.get(node), self.source.path(node)
            is_drawing = path.startswith(DRAWING) or f"{path}." in RANDOM
            is_part = isinstance(above, ast.Attribute) or (isinstance(above, ast.Call) and above.func is node)
            if is_drawing and not is_part:
                raise _Stays(f"`{ast.unparse(node)}` is assigned or passed on instead of called", node)
        taken = {"enumerate", "float", "int", "list", "tf", GENERATOR} & self.bound
        if taken:
            raise _Stays(f"the body gives another meaning to {', '.join(sorted(taken))}", calls[0])

    def _is_imported(self, name: ast.Name) -> bool:
        """Is a name bound by one import of the module, and nowhere else?"""
        bound = [one for one in ast.walk(self.source.tree) if name.id in _binds(one)]
        return (
            len(bound) == 1 and isinstance(bound[0], ast.Import | ast.ImportFrom) and bound[0] in self.source.tree.body
        )

    def _free(self, name: str) -> str:
        while name in self.names:
            name += "_"
        return name

    def _definition(self, name: str) -> ast.FunctionDef | None:
        found = [one for one in self.source.tree.body if isinstance(one, ast.FunctionDef) and one.name == name]
        return found[0] if len(found) == 1 else None

    def _inputs_of(self, body: ast.FunctionDef) -> tuple[str, ...]:
        positional = [*body.args.posonlyargs, *body.args.args]
        if len(positional) < self.inputs:
            raise _Stays("the body takes any number of arguments", body)
        if not self.inputs:
            raise _Stays("the body has no inputs", body)
        if any(isinstance(one, ast.Name) and one.id == body.name for one in ast.walk(self.source.tree)):
            raise _Stays(f"`{body.name}` is used by itself or by a function that it needs", body)
        if body.decorator_list:
            raise _Stays("the body has a decorator", body)
        return tuple(one.arg for one in positional[: self.inputs])

    def _lifted(self, call: ast.Call, name: str, body: ast.FunctionDef) -> tuple[Draw, str]:
        """Return a draw, and the expression that takes its place in the body."""
        path = self.source.path(call.func)
        scope, loops = self._where(call, body)
        names = self._inputs_of(body)
        sizes = _Sizes(self, scope, frozenset(names if scope is body else ()), names[0] if names else "")
        if path in CHOICE:
            draw, of = self._choice(call, path, name)
            return self._in_loop(draw, loops), of(self._element(call, name, scope))
        if path not in DISTRIBUTIONS:
            raise _Stays(f"`{ast.unparse(call.func)}` is not supported", call)
        distribution = DISTRIBUTIONS[path]
        given = _bound(call, distribution)
        size = given.pop("size", None)
        shape, reshaped = sizes.shape(size), sizes.reshaped(size)
        low, high = (sizes.number(given[one]) if one in given else None for one in ("low", "high"))
        if distribution.family == "integers":
            low, high = (_constant(0), low) if high is None else (low, high)
            if low is None or high is None:
                raise _Stays(f"`{ast.unparse(call)}` has no bound", call)
            high = sizes.plus(high, 1 if distribution.is_closed else 0)
        known = (low, high) if size is None or isinstance(size, ast.Attribute) else (low, high, shape)
        if not all(one is None or one.is_constant for one in known) and self._is_conditional(call, scope):
            raise _Stays("a draw is under a condition, and its bounds or its shape depend on an input", call)
        self._require_unwritten(call, scope)
        usual = map(_constant, distribution.defaults)
        low, high = (one if one is not None else other for one, other in zip((low, high), usual, strict=True))
        draw = self._in_loop(Draw(name, distribution.family, low, high, shape), loops)
        element = self._element(call, name, scope)
        if shape is not None:
            how = f"reshape({element}, {reshaped})" if reshaped else f"asarray({element})"
            return draw, f"{self._numpy(call)}.{how}"
        return draw, f"{'int' if distribution.family == 'integers' else 'float'}({element})"

    def _require_unwritten(self, call: ast.Call, scope: ast.FunctionDef) -> None:
        """Check that the function does not write to what is drawn: it becomes an input, which must not change."""
        above = self.source.parents.get(call)
        names = (
            {one.id for one in above.targets if isinstance(one, ast.Name)} if isinstance(above, ast.Assign) else set()
        )
        for one in ast.walk(scope):
            target = one.target if isinstance(one, ast.AugAssign) else one
            while isinstance(target, ast.Subscript | ast.Attribute) and not isinstance(target.ctx, ast.Load):
                target = target.value
                if isinstance(target, ast.Name) and target.id in names:
                    raise _Stays(f"`{target.id}` is written to", one)
            if isinstance(one, ast.AugAssign) and isinstance(target, ast.Name) and target.id in names:
                raise _Stays(f"`{target.id}` is written to", one)

    def _in_loop(self, draw: Draw, loops: Sequence[ast.For]) -> Draw:
        """Return a draw for each iteration of a loop."""
        return replace(draw, shape=_repeated(draw.shape, self._iterations(loops[0]))) if loops else draw

    def _element(self, call: ast.Call, name: str, scope: ast.FunctionDef) -> str:
        """Return what is drawn in this iteration, if a call is in a loop of the function."""
        loops = self._loops(call, scope)
        return f"{name}[{self._counter(loops[0])}]" if loops else name

    def _counter(self, loop: ast.For) -> str:
        return self.counters.setdefault(loop, self._free(f"drawn_at_{len(self.counters) + 1}"))

    def _counted(self, loop: ast.For, name: str) -> list[Replacement]:
        """Return the edits that count the iterations of a loop."""
        (begin, end), (first, last) = self.file.span(loop.target), self.file.span(loop.iter)
        target = self.file.text(begin, end)
        target = f"({target})" if isinstance(loop.target, ast.Tuple) else target
        opened, closed = ("((", "))") if isinstance(loop.iter, ast.Tuple) else ("(", ")")
        return [(begin, end, f"{name}, {target}"), (first, first, f"enumerate{opened}"), (last, last, closed)]

    def _iterations(self, loop: ast.For) -> int:
        """Return how often a loop runs at most."""
        over = loop.iter
        if isinstance(over, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in over.elts):
            return len(over.elts)
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range":
            given = [one.value for one in over.args if isinstance(one, ast.Constant) and type(one.value) is int]
            if given and len(given) == len(over.args) and not over.keywords:
                return len(range(*given))
        raise _Stays("a draw is in a loop of unknown length", loop)

    def _loops(self, call: ast.AST, scope: ast.FunctionDef) -> list[ast.For]:
        """Return the loops of a function that a call is in, whose numbers of iterations are known."""
        repeated = (ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        found: list[ast.For] = []
        for above, below in self.source.above(call):
            if above is scope:
                break
            if isinstance(above, repeated) or (isinstance(above, ast.For) and below in above.orelse):
                raise _Stays("a draw is in a `while`, a comprehension or the `else` of a loop", call)
            if isinstance(above, ast.For) and below is not above.iter:
                found.append(above)
        return found

    def _choice(self, call: ast.Call, path: str, name: str) -> tuple[Draw, Callable[[str], str]]:
        """Return a draw of one of several numbers that are written in the call."""
        if len(call.args) != 1 or call.keywords:
            raise _Stays("only a choice of one of several numbers, all equally likely, is supported", call)
        try:
            values = ast.literal_eval(call.args[0])
        except (TypeError, ValueError) as error:
            raise _Stays("the numbers to choose from are not written in the call", call) from error
        if not isinstance(values, list | tuple) or not all(isinstance(one, int | float) for one in values):
            raise _Stays("the numbers to choose from are not written in the call", call)
        text = ast.unparse(call.args[0])
        if path.startswith("numpy."):
            text = f"{self._numpy(call)}.array({text})"
        return Draw(name, "integers", _constant(0), _constant(len(values)), None), lambda one: f"{text}[int({one})]"

    def _numpy(self, call: ast.Call) -> str:
        """Return the name of NumPy where a call is."""
        node = call.func
        while isinstance(node, ast.Attribute):
            if self.source.path(node) == "numpy":
                break
            node = node.value
        if self.source.path(node) != "numpy":
            raise _Stays(f"`{ast.unparse(call.func)}` is not called through the name of NumPy", call)
        return ast.unparse(node)

    def _where(self, call: ast.Call, body: ast.FunctionDef) -> tuple[ast.FunctionDef, list[ast.For]]:
        """Return the function that a call is in, and the loop around the call or around the call of that function."""
        # A default or a decorator is outside of the function that it belongs to.
        scope = next(iter(self.source.scopes(call)), None)
        if not isinstance(scope, ast.FunctionDef) or scope not in self.source.tree.body:
            raise _Stays("a draw is outside of a function, or in one within another", call)
        loops = self._loops(call, scope)
        if scope is not body:
            loops += self._where(self._only_call(scope, call), body)[1]
        if len(loops) > 1:
            raise _Stays("a draw is in a loop within a loop", call)
        return scope, loops

    def _only_call(self, function: ast.FunctionDef, call: ast.Call) -> ast.Call:
        uses = [one for one in ast.walk(self.source.tree) if isinstance(one, ast.Name) and one.id == function.name]
        above = self.source.parents.get(uses[0]) if len(uses) == 1 else None
        if not isinstance(above, ast.Call) or above.func is not uses[0] or function.decorator_list:
            raise _Stays(f"`{function.name}` is not called in exactly one place, or has a decorator", call)
        if any(one.id == function.name for one in uses if not isinstance(one.ctx, ast.Load)):
            raise _Stays(f"`{function.name}` is assigned again", call)
        return above

    def _is_conditional(self, call: ast.Call, scope: ast.FunctionDef) -> bool:
        """May the function that a call is in return without making it?"""
        branches = (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.Match)
        for above, _ in self.source.above(call):
            if above is scope:
                break
            if isinstance(above, branches):
                return True
        ends = (ast.Return, ast.Raise, ast.Break, ast.Continue)
        return any(isinstance(one, ends) and one.lineno < call.lineno for one in ast.walk(scope))

    def _edit(self, call: ast.Call, text: str) -> Replacement:
        """Return the edit that replaces a call, with as many lines as before."""
        begin, end = self.file.span(call)
        lines = self.file.data[begin:end].count(b"\n") - text.count("\n")
        return begin, end, f"{text[:-1]}{chr(10) * lines}{text[-1]}"

    def _passed(self, call: ast.Call, name: str, body: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
        """Yield the calls and functions on a draw's way from the body to where it is used, with their new argument."""
        scope, _ = self._where(call, body)
        while scope is not body:
            used = self._only_call(scope, call)
            home, _ = self._where(used, body)
            yield used, self._element(used, name, home)
            yield scope, name
            scope = home

    def _first(self, node: ast.AST, names: Sequence[str]) -> Replacement:
        """Return the edit that puts arguments, or parameters, before all others: behind the bracket."""
        if isinstance(node, ast.Call):
            begin = self.file.span(node.func)[1]
            begin += self.file.data[begin:].index(b"(") + 1
            has_others = bool(node.args or node.keywords)
        else:
            assert isinstance(node, ast.FunctionDef)
            begin = self._opening(node)
            has_others = any(isinstance(one, ast.arg) for one in ast.walk(node.args))
        return begin, begin, ", ".join(names) + (", " if has_others else "")

    def _after_inputs(self, body: ast.FunctionDef, names: Sequence[str]) -> Replacement:
        """Return the edit that gives the body parameters behind its inputs."""
        positional = [*body.args.posonlyargs, *body.args.args]
        defaults = dict(zip((one.arg for one in reversed(positional)), reversed(body.args.defaults), strict=False))
        last = positional[self.inputs - 1]
        end = self._bracket(self.file.span(defaults.get(last.arg, last))[1], body)
        has_default = any(one.arg in defaults for one in positional[: self.inputs])
        return end, end, "".join(f", {one}=None" if has_default else f", {one}" for one in names)

    def _bracket(self, after: int, function: ast.FunctionDef) -> int:
        """Return where the comma or the bracket behind a parameter is, in bytes."""
        lines = self.file.data.decode().splitlines(keepends=True)
        depth, first = 0, self._opening(function) - 1
        for one in tokenize.generate_tokens(iter(lines).__next__):
            row, column = one.start
            place = self.file.starts[row - 1] + len(lines[row - 1][:column].encode()) if row <= len(lines) else 0
            if place < first or one.type != tokenize.OP:
                continue
            if depth == 1 and place >= after and one.string in (",", ")"):
                return place
            depth += (one.string in "([{") - (one.string in ")]}")
        raise _Stays("its parameters cannot be edited", function)

    def _opening(self, function: ast.FunctionDef) -> int:
        begin, end = self.file.span(function)
        text = self.file.data[begin:end]
        return begin + text.index(b"(", text.index(b"def ")) + 1


def _repeated(shape: Size | None, number: int) -> Size:
    """Return the shape of a number of arrays of one shape; of as many numbers if that is None."""
    rest = Size("[]", lambda _: []) if shape is None else shape
    is_listed = rest.tensor.startswith("[") and rest.tensor != "[]"
    listed = f"[{number}, {rest.tensor[1:]}" if is_listed else f"tf.concat([[{number}], {rest.tensor}], 0)"
    return Size(f"[{number}]" if shape is None else listed, lambda inputs: [number, *rest.value(inputs)])


def _bound(call: ast.Call, distribution: Distribution) -> dict[str, ast.expr]:
    """Return the arguments of a call by the names of the parameters."""
    if distribution.has_sizes and len(call.args) == 1 and isinstance(call.args[0], ast.Starred) and not call.keywords:
        return {"size": call.args[0].value}
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        raise _Stays("a draw has unpacked arguments", call)
    if distribution.has_sizes:
        if call.keywords:
            raise _Stays(f"`{ast.unparse(call.func)}` takes no arguments by name", call)
        return {"size": ast.copy_location(ast.Tuple(call.args, ast.Load()), call)} if call.args else {}
    if len(call.args) > len(distribution.names):
        raise _Stays(f"`{ast.unparse(call)}` has unsupported arguments", call)
    found = dict(zip(distribution.names, call.args, strict=False))
    for one in call.keywords:
        name = SPELLINGS.get(str(one.arg), str(one.arg))
        if name not in distribution.names or name in found:
            raise _Stays(f"the argument `{one.arg}=` is not supported", call)
        found[name] = one.value
    return {name: value for name, value in found.items() if not _is_none(value)}


def _position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


KEEPING = ("numpy", "astype", "copy")
"""Methods whose result has the shape of what they are called on."""


def _of_same_shape(node: ast.expr) -> ast.Name | None:
    """Return the name whose shape an expression has: `x.numpy()`, `x.astype(dtype)`, `np.asarray(x)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return node if isinstance(node, ast.Name) else None
    of = node.func.value
    if node.func.attr in ("asarray", "array") and len(node.args) in (1, 2):
        of = node.args[0]
        if not {one.arg for one in node.keywords} <= {"dtype", "copy"}:
            return None
    elif node.func.attr not in KEEPING:
        return None
    return of if isinstance(of, ast.Name) else None


def _whole_number(node: ast.AST) -> int | None:
    """Return a whole number that is written in the source; None for anything else."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    is_whole = isinstance(node, ast.Constant) and type(node.value) is int
    return sign * node.value if is_whole else None  # type: ignore[attr-defined]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


@dataclass
class _Sizes:
    """Numbers that are known before a function runs.

    Attributes:
        lifting: of the body.
        scope: the function.
        inputs: the names of its parameters that are inputs.
        first: the first input of the body.
    """

    lifting: _Lifting
    scope: ast.FunctionDef
    inputs: frozenset[str]
    first: str

    def number(self, node: ast.expr) -> Size:
        """Return what an expression is before the function runs."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return _constant(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._joined(_constant(0), "-", self.number(node.operand), node)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return self._joined(self.number(node.left), OPERATORS[type(node.op)], self.number(node.right), node)
        place = _whole_number(node.slice) if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Subscript) and place is not None:
            return self._length(self._shape_of(node.value), place)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
            given = node.args[0]
            if isinstance(given, ast.Name) and (name := self._input_like(given)):
                return self._length(name, 0)
        if isinstance(node, ast.Name):
            return self._named(node)
        raise _Stays(f"`{ast.unparse(node)}` is known only in the body", node)

    def shape(self, node: ast.expr | None) -> Size | None:
        """Return the shape that an expression stands for; None for a number."""
        if node is None:
            return None
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            name = self.first if self._is_changed(node) else self._shape_of(node)
            return Size(f"tf.shape({name})", lambda inputs: list(np.shape(inputs[name])))
        each = [*map(self.number, node.elts if isinstance(node, ast.Tuple | ast.List) else [node])]
        text = f"[{', '.join(one.tensor for one in each)}]"
        return Size(text, lambda inputs: [int(one.value(inputs)) for one in each])

    def reshaped(self, node: ast.expr | None) -> str:
        """Return the shape that the body must give to an array that was drawn with another; empty if it need not.

        The shape of an array that the body computes is not known before it runs, so the array is drawn in the shape of
        the first input. Independent numbers can be put into any shape that has as many; another number is an error.
        """
        is_shape = isinstance(node, ast.Attribute) and node.attr == "shape"
        return ast.unparse(node) if node is not None and is_shape and self._is_changed(node) else ""

    def _is_changed(self, node: ast.expr) -> bool:
        """Is a shape that of something that is not known to have the shape of an input?"""
        of = node.value if isinstance(node, ast.Attribute) else None
        return not (isinstance(of, ast.Name) and self._input_like(of))

    def plus(self, size: Size, number: int) -> Size:
        """Return a size that is larger by a number."""
        return self._joined(size, "+", _constant(number), None) if number else size

    def _joined(self, left: Size, sign: str, right: Size, node: ast.AST | None) -> Size:
        compute = COMPUTE[sign]
        if left.is_constant and right.is_constant:
            try:
                return _constant(compute(left.value({}), right.value({})))
            except ZeroDivisionError as error:
                raise _Stays("an argument of a draw divides by zero", node) from error
        constants = [one.value({}) for one in (left, right) if one.is_constant]
        if sign == "/" or any(isinstance(one, float) for one in constants):  # a length is no float in TensorFlow
            raise _Stays("an argument of a draw is a fraction of a length", node)
        text = f"({left.tensor} {sign} {right.tensor})"
        return Size(text, lambda inputs: compute(left.value(inputs), right.value(inputs)))

    def _length(self, name: str, place: int) -> Size:
        return Size(f"tf.shape({name}, tf.int64)[{place}]", lambda inputs: int(np.shape(inputs[name])[place]))

    def _shape_of(self, node: ast.expr) -> str:
        """Return the input whose shape an expression is."""
        of = node.value if isinstance(node, ast.Attribute) and node.attr == "shape" else None
        if isinstance(of, ast.Name) and (name := self._input_like(of)):
            return name
        raise _Stays(f"`{ast.unparse(node)}` is known only in the body", node)

    def _input_like(self, name: ast.Name, seen: frozenset[str] = frozenset()) -> str:
        """Return the input that has the same shape as a name where the name is used; empty if none is known."""
        if name.id in seen or self._may_be_reshaped(name.id):
            return ""
        loops = [one for one in self._above(name) if isinstance(one, ast.For | ast.While)]
        here = None if loops else self._statement(name)
        before = [
            place
            for known, place in self._assigned()
            if known == name.id
            and self._statement(place) is not here
            and _position(place) < _end(loops[-1] if loops else name)
        ]
        of = {name.id} if name.id in self.inputs else set()
        for place in before:
            above = self.lifting.source.parents.get(place)
            same = _of_same_shape(above.value) if isinstance(above, ast.Assign) and above.targets == [place] else None
            if same is None:
                return ""
            of.add(name.id if same.id == name.id else self._input_like(same, seen | {name.id}))
        return of.pop() if len(of) == 1 and of <= self.inputs else ""

    def _may_be_reshaped(self, name: str) -> bool:
        """Is the shape of a named array changed in place, or the name bound by `global`, `nonlocal` or `:=`?"""
        for one in ast.walk(self.scope):
            of = one.value if isinstance(one, ast.Attribute) else None
            is_its = isinstance(of, ast.Name) and of.id == name
            if is_its and (not isinstance(one.ctx, ast.Load) or one.attr == "resize"):  # type: ignore[attr-defined]
                return True
            if isinstance(one, ast.Global | ast.Nonlocal | ast.NamedExpr) and name in (
                one.names if not isinstance(one, ast.NamedExpr) else (one.target.id,)
            ):
                return True
        return False

    def _above(self, node: ast.AST) -> list[ast.AST]:
        return [one for one, _ in self.lifting.source.above(node)]

    def _statement(self, node: ast.AST) -> ast.AST | None:
        return next((one for one in self._above(node) if isinstance(one, ast.stmt)), None)

    def _assigned(self) -> Iterator[tuple[str, ast.AST]]:
        for one in own_nodes(self.scope):
            if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
                yield one.id, one

    def _named(self, node: ast.Name) -> Size:
        """Return a number by its name: of a local that is set once, a constant of the file or a parameter's default."""
        places = [one for name, one in self._assigned() if name == node.id]
        unknown = _Stays(f"`{node.id}` is known only in the body", node)
        if places and (len(places) > 1 or self._may_be_reshaped(node.id)):
            raise unknown
        is_local = not any(isinstance(one, ast.arg) and one.arg == node.id for one in ast.walk(self.scope.args))
        if places and is_local and _position(places[0]) < _position(node):
            return self._set_at(places[0], node)
        if places:
            raise unknown
        arguments = self.scope.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = dict(zip((one.arg for one in reversed(positional)), reversed(arguments.defaults), strict=False)) | {
            one.arg: value for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
        }
        is_parameter = node.id in {one.arg for one in (*positional, *arguments.kwonlyargs)}
        is_given = node.id in self.inputs or (self.inputs == frozenset() and is_parameter)
        if not places and node.id in defaults and not is_given:
            return self._literal(defaults[node.id], node)
        of_file = [
            one
            for one in self.lifting.source.tree.body
            if isinstance(one, ast.Assign)
            and any(isinstance(name, ast.Name) and name.id == node.id for name in one.targets)
        ]
        if not places and not is_parameter and len(of_file) == 1:
            return self._literal(of_file[0].value, node)
        raise _Stays(f"`{node.id}` is known only in the body", node)

    def _literal(self, value: ast.expr, node: ast.AST) -> Size:
        try:
            found = ast.literal_eval(value)
        except (TypeError, ValueError):
            found = None
        if type(found) not in (int, float):
            raise _Stays(f"`{ast.unparse(node)}` is known only in the body", node)
        return _constant(found)

    def _set_at(self, place: ast.AST, node: ast.Name) -> Size:
        above = self.lifting.source.parents.get(place)
        if isinstance(above, ast.Assign) and above.targets == [place]:
            return self.number(above.value)
        of_tuple = self.lifting.source.parents.get(above) if above is not None else None
        if isinstance(above, ast.Tuple) and isinstance(of_tuple, ast.Assign) and of_tuple.targets == [above]:
            value, at = of_tuple.value, [id(one) for one in above.elts].index(id(place))
            if isinstance(value, ast.Tuple) and len(value.elts) == len(above.elts):
                return self.number(value.elts[at])
            cut = value.slice if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) else None
            is_start = cut is None or (cut.lower is None and cut.step is None)
            if is_start and not any(isinstance(one, ast.Starred) for one in above.elts):
                return self._length(self._shape_of(value if cut is None else value.value), at)  # type: ignore[attr-defined]
        raise _Stays(f"`{node.id}` is known only in the body", node)
