"""Moves the draws of a body out of it: they become inputs, and TensorFlow draws them in the program.

The rest of the body is deterministic then, so that a port of it can be verified. A draw is moved if its distribution is
seen in the source: it calls a function in `DISTRIBUTIONS` or `CHOICE`, with arguments that are constants or lengths of
inputs. It must be made at most once in each call of the body, or in each iteration of a loop of known length. If one
draw cannot be moved, all of them stay in the body.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyopbench.advise.draws import (
    CHOICE,
    DISTRIBUTIONS,
    EXAMPLES,
    GENERATOR,
    OTHER_NAMES,
    Distribution,
    Draw,
)
from pyopbench.advise.known_values import CannotMove, KnownValues, array_of, constant, literal, plus, whole
from pyopbench.find.risks import RANDOM
from pyopbench.find.source import ProgramSource
from pyopbench.model.function_source import (
    COMPREHENSIONS,
    SCOPES,
    defaults_of,
    every_name,
    has_unpacked,
    local_names,
    root_of,
    unused_name,
)
from pyopbench.model.source_text import Replacement, Source

WITH_DRAWS = "with_draws"
"""The end of the name of the function that draws and calls the port, in the port's file."""

PATHS = (*RANDOM, "tensorflow.image.random_")
"""The paths of functions that draw begin with these."""

RESTARTING = ("seed", "set_state", "setstate")
"""Functions after which a generator draws the same numbers again, if they are called with a value."""

GENERATORS = ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator", "random.Random")
"""Functions that return a generator, whose methods draw."""

SEEDS = {
    "numpy": "np.random.seed({seed})",
    "random": "random.seed({seed})",
    "tensorflow": "tf.random.set_seed({seed})",
}

BUILTINS = frozenset({"enumerate", "float", "int", "len", "range"})
"""Functions of Python that new code calls, or whose result is known before the body runs."""


@dataclass(frozen=True)
class BodyDraws:
    """The draws of a body, and the body with them as inputs if they can be moved.

    Attributes:
        text: the new source, with as many lines as the old one; the old one if the draws stay in the body.
        moved: the draws in the order of the new inputs; empty if they stay in the body.
        inputs: the names of the other inputs.
        generators: the modules whose generators the body draws from: `numpy`, `random`, `tensorflow`.
        refused: why the draws stay in the body; empty if they do not.
        line: the line of the text that is the reason; 0 if it is not known.
    """

    text: str
    moved: tuple[Draw, ...] = ()
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
            (*inputs, *(draw.example(named, number, place) for place, draw in enumerate(self.moved)))
            for number in range(EXAMPLES if self.moved else 1)
        ]

    def port_with_draws(self, port: str, function: str, *, takes_list: bool) -> str:
        """Return the file of a port, with one more function, which draws and calls the port.

        Args:
            port: the text of the file.
            function: the function in it to call.
            takes_list: does it take a list of inputs?
        """
        names = ", ".join(self.inputs)
        parameters = "inputs" if takes_list else names
        unpacked = [f"    {names}{',' if len(self.inputs) == 1 else ''} = inputs"] if takes_list else []
        opened, closed = ("([", "])") if takes_list else ("(", ")")
        of_numpy = "numpy" in self.generators
        seed = "np.random.randint(2**31)" if of_numpy else "random.randrange(2**31)"
        # Imported inside the functions: the processes of a pool run the file too, and would wait for TensorFlow.
        tensorflow = [] if _imports(port, "import tensorflow as tf") else ["    import tensorflow as tf"]
        return "\n".join(
            [
                _with_import(port, "import numpy as np" if of_numpy else "import random").rstrip("\n"),
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
                f"def {function}_{WITH_DRAWS}({parameters}):",
                '    """Call the port with random numbers from the distributions that the body drew from."""',
                *tensorflow,
                *unpacked,
                f"    return {function}{opened}",
                f"        {names},",
                *(f"        {one.tensor},  # {one.name}" for one in self.moved),
                f"    {closed}",
                "",
            ]
        )


def _imports(text: str, statement: str) -> bool:
    """Does a source have an import at its top?"""
    return any(ast.unparse(one) == statement for one in ast.parse(text).body if isinstance(one, ast.Import))


def _with_import(text: str, statement: str) -> str:
    if _imports(text, statement):
        return text
    file = Source.of(text, ast.parse(text))
    return file.replaced(0, len(file.data), [file.added_imports([statement])])


def move_draws(text: str, function: str, inputs: int) -> BodyDraws | None:
    """Return a body with its draws as inputs; None if it draws nothing.

    Args:
        text: the source of the body and of all that it needs.
        function: the name of the body in it.
        inputs: how many inputs it takes.
    """
    mover = _Mover(text, function, inputs)
    calls = mover.calls()
    if not calls:
        return None
    try:
        return mover.moved(calls)
    except CannotMove as error:
        why, line = error.why, error.line
    except (SyntaxError, ValueError, RecursionError):  # a call of a form that the edits do not fit
        why, line = "its calls cannot be edited", calls[0].lineno
    return BodyDraws(text, generators=mover.generators(calls), refused=why, line=line)


@dataclass
class _Mover:
    text: str
    function: str
    inputs: int
    source: ProgramSource = field(init=False)
    file: Source = field(init=False)
    counters: dict[ast.For, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tree = ast.parse(self.text)
        self.source, self.file = ProgramSource.of(tree), Source.of(self.text, tree)
        self.names = every_name(tree)
        self.names |= {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}

    def calls(self) -> list[ast.Call]:
        """Return the calls that draw, in the order of the source."""
        calls = [one for one in ast.walk(self.source.tree) if isinstance(one, ast.Call)]
        paths = {one: self.source.path(one.func) for one in calls}
        seeding = [one for one, path in paths.items() if path.startswith(RANDOM) and _restarts(path, one)]
        if seeding:
            return []  # a body that seeds its generator draws the same numbers each time
        found = [one for one, path in paths.items() if path.startswith(PATHS)]
        return sorted(found, key=lambda one: (one.lineno, one.col_offset))

    def moved(self, calls: Sequence[ast.Call]) -> BodyDraws:
        """Return the body with its draws as inputs.

        Raises:
            CannotMove: a draw cannot be moved; says why.
        """
        body = self.source.only_binding(self.function)
        if not isinstance(body, ast.FunctionDef):
            raise CannotMove("the body is no plain function")
        names = self._inputs_of(body)
        self._require_called_by_import(calls)
        draws: list[Draw] = []
        edits: list[Replacement] = []
        passed: dict[ast.AST, list[str]] = {}
        for call in calls:
            draw, text = self._draw(call, unused_name(f"drawn_{len(draws) + 1}", self.names), body, names)
            draws.append(draw)
            edits.append(self._edit(call, text))
            for node, argument in self._passed(call, draw.name, body):
                passed.setdefault(node, []).append(argument)
        edits += [one for loop, name in self.counters.items() for one in self._counted(loop, name)]
        edits += [self._first(node, arguments) for node, arguments in passed.items()]
        edits.append(self._after_inputs(body, [one.name for one in draws]))
        text = self.file.replaced(0, len(self.file.data), edits)
        if text.count("\n") != self.text.count("\n") or len(ast.parse(text).body) != len(self.source.tree.body):
            raise CannotMove("its calls cannot be edited", calls[0])
        return BodyDraws(text, tuple(draws), names, self.generators(calls))

    def generators(self, calls: Sequence[ast.Call]) -> tuple[str, ...]:
        """Return the modules whose generators some calls draw from."""
        return tuple(sorted({self.source.path(one.func).partition(".")[0] for one in calls}))

    def _require_called_by_import(self, calls: Sequence[ast.Call]) -> None:
        """Check that each function that draws is called by an imported name, and is used in no other way.

        Raises:
            CannotMove: the source does not show what a function draws, or how often.
        """
        for call in calls:
            if self.source.path(call.func) in GENERATORS:
                raise CannotMove(f"`{ast.unparse(call.func)}` returns a generator, which is not supported", call)
            base = root_of(call.func)
            is_of_module = isinstance(base, ast.Name) and self.source.home(base) is self.source.tree
            binding = self.source.only_binding(ast.unparse(base)) if is_of_module else None
            if not isinstance(binding, ast.Import | ast.ImportFrom):
                raise CannotMove(f"`{ast.unparse(call.func)}` is not called by the name of an import", call)
        for node in ast.walk(self.source.tree):
            if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            above, path = self.source.parents.get(node), self.source.path(node)
            is_drawing = path.startswith(PATHS) or f"{path}." in RANDOM
            is_part = isinstance(above, ast.Attribute) or (isinstance(above, ast.Call) and above.func is node)
            if is_drawing and not is_part:
                raise CannotMove(f"`{ast.unparse(node)}` is assigned or passed on instead of called", node)
        scopes = [one for one in ast.walk(self.source.tree) if isinstance(one, (*SCOPES, *COMPREHENSIONS))]
        hidden = {name for one in scopes for name in local_names(one)} & {*BUILTINS, GENERATOR}
        if hidden:
            raise CannotMove(f"the body gives another meaning to {', '.join(sorted(hidden))}", calls[0])

    def _inputs_of(self, body: ast.FunctionDef) -> tuple[str, ...]:
        positional = [*body.args.posonlyargs, *body.args.args]
        if len(positional) < self.inputs:
            raise CannotMove("the body takes any number of arguments", body)
        if not self.inputs:
            raise CannotMove("the body has no inputs", body)
        if any(isinstance(one, ast.Name) and one.id == body.name for one in ast.walk(self.source.tree)):
            raise CannotMove(f"`{body.name}` is used by itself or by a function that it needs", body)
        if body.decorator_list:
            raise CannotMove("the body has a decorator", body)
        names = tuple(one.arg for one in positional[: self.inputs])
        if {"tf", "np", "random", GENERATOR} & {*names}:
            raise CannotMove("an input has the name of a module", body)
        return names

    def _draw(self, call: ast.Call, name: str, body: ast.FunctionDef, names: Sequence[str]) -> tuple[Draw, str]:
        """Return a draw, and the expression that takes its place in the body."""
        path = self.source.path(call.func)
        scope, loops = self._where(call, body)
        element = self._element(call, name, scope)
        if path in CHOICE:
            draw, text = self._choice(call, path, name, element)
        elif path in DISTRIBUTIONS:
            values = self._known_values(call, scope, body, names)
            draw, text = self._of_distribution(call, DISTRIBUTIONS[path], values, name, element)
        else:
            raise CannotMove(f"`{ast.unparse(call.func)}` is not supported", call)
        return (draw.repeated(self._iterations(loops[0])) if loops else draw), text

    def _known_values(
        self, call: ast.Call, scope: ast.FunctionDef, body: ast.FunctionDef, names: Sequence[str]
    ) -> KnownValues:
        """Return what is known before the function that a call is in runs."""
        if scope is body:
            return KnownValues(self.source, scope, tuple(names))
        used = self._only_call(scope, call)
        home, _ = self._where(used, body)
        return KnownValues(self.source, scope, tuple(names), used, self._known_values(used, home, body, names))

    def _of_distribution(
        self, call: ast.Call, distribution: Distribution, values: KnownValues, name: str, element: str
    ) -> tuple[Draw, str]:
        arguments = _arguments(call, distribution)
        size = arguments.get("size")
        shape, shape_in_body = values.shape(size), values.shape_in_body(size)
        low, high = (values.number(arguments[one]) if one in arguments else None for one in ("low", "high"))
        if distribution.family == "integers":
            low, high = (constant(0), low) if high is None else (low, high)
            if low is None or high is None:
                raise CannotMove(f"`{ast.unparse(call)}` has no bound", call)
            low, high = whole(low, call), plus(whole(high, call), 1 if distribution.is_closed else 0)
        required = (low, high) if array_of(size) is not None else (low, high, shape)
        if not all(one is None or one.is_constant for one in required) and self._is_conditional(call, values):
            raise CannotMove("a draw is under a condition, and its bounds or its shape depend on an input", call)
        usual_low, usual_high = map(constant, distribution.defaults)
        draw = Draw(name, distribution.family, low or usual_low, high or usual_high, shape)
        if shape is not None:
            # Copied, because the body may write to what it drew, and must not write to an input.
            numpy = self._numpy(call)
            array = f"{numpy}.reshape({element}, {shape_in_body})" if shape_in_body else element
            return draw, f"{numpy}.copy({array})"
        return draw, f"{'int' if distribution.family == 'integers' else 'float'}({element})"

    def _element(self, call: ast.Call, name: str, scope: ast.FunctionDef) -> str:
        """Return what is drawn in this iteration, if a call is in a loop of the function."""
        loops = self._loops(call, scope)
        return f"{name}[{self._counter(loops[0])}]" if loops else name

    def _counter(self, loop: ast.For) -> str:
        return self.counters.setdefault(loop, unused_name(f"drawn_at_{len(self.counters) + 1}", self.names))

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
            bounds = [literal(one) for one in over.args]
            if bounds and all(type(one) is int for one in bounds) and not over.keywords:
                return len(range(*bounds))
        raise CannotMove("a draw is in a loop of unknown length", loop)

    def _loops(self, call: ast.AST, scope: ast.FunctionDef) -> list[ast.For]:
        """Return the loops of a function that a call is in, whose numbers of iterations are known."""
        found: list[ast.For] = []
        for above, below in self.source.above(call):
            if above is scope:
                break
            if isinstance(above, (ast.AsyncFor, ast.While, *COMPREHENSIONS)) or (
                isinstance(above, ast.For) and below in above.orelse
            ):
                raise CannotMove("a draw is in a `while`, a comprehension or the `else` of a loop", call)
            if isinstance(above, ast.For) and below is not above.iter:
                found.append(above)
        return found

    def _choice(self, call: ast.Call, path: str, name: str, element: str) -> tuple[Draw, str]:
        """Return a draw of one of several numbers that are written in the call, and the expression for that number."""
        if len(call.args) != 1 or call.keywords:
            raise CannotMove("only a choice of one of several numbers, all equally likely, is supported", call)
        values = literal(call.args[0])
        if not isinstance(values, list | tuple) or not all(isinstance(one, int | float) for one in values):
            raise CannotMove("the numbers to choose from are not written in the call", call)
        text = ast.unparse(call.args[0])
        if path.startswith("numpy."):
            text = f"{self._numpy(call)}.array({text})"
        draw = Draw(name, "integers", constant(0), constant(len(values)), None)
        return draw, f"{text}[int({element})]"

    def _numpy(self, call: ast.Call) -> str:
        """Return the name of NumPy where a call is."""
        parts = [one for one in ast.walk(call.func) if isinstance(one, ast.Name | ast.Attribute)]
        names = [ast.unparse(one) for one in parts if self.source.path(one) == "numpy"]
        if not names:
            raise CannotMove(f"`{ast.unparse(call.func)}` is not called through the name of NumPy", call)
        return names[0]

    def _where(self, call: ast.Call, body: ast.FunctionDef) -> tuple[ast.FunctionDef, list[ast.For]]:
        """Return the function that a call is in, and the loop around the call or around the call of that function."""
        # A default or a decorator is outside of the function that it belongs to.
        scope = next(iter(self.source.scopes(call)), None)
        if not isinstance(scope, ast.FunctionDef) or scope not in self.source.tree.body:
            raise CannotMove("a draw is outside of a function, or in one within another", call)
        loops = self._loops(call, scope)
        if scope is not body:
            loops += self._where(self._only_call(scope, call), body)[1]
        if len(loops) > 1:
            raise CannotMove("a draw is in a loop within a loop", call)
        return scope, loops

    def _only_call(self, function: ast.FunctionDef, call: ast.Call) -> ast.Call:
        """Return the one call of the function that a call is in."""
        uses = [one for one in ast.walk(self.source.tree) if isinstance(one, ast.Name) and one.id == function.name]
        above = self.source.parents.get(uses[0]) if len(uses) == 1 else None
        if not isinstance(above, ast.Call) or above.func is not uses[0] or function.decorator_list:
            raise CannotMove(f"`{function.name}` is not called in exactly one place, or has a decorator", call)
        return above

    def _is_conditional(self, call: ast.Call, values: KnownValues) -> bool:
        """May the body return without making a call, or calling the function that it is in?"""
        scope = values.scope
        if values.call is not None and values.caller is not None and self._is_conditional(values.call, values.caller):
            return True
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
        inputs = [*body.args.posonlyargs, *body.args.args][: self.inputs]
        defaults = defaults_of(body.args)
        end = self._bracket(self.file.span(defaults.get(inputs[-1].arg, inputs[-1]))[1], body)
        default = "=None" if any(one.arg in defaults for one in inputs) else ""
        return end, end, "".join(f", {one}{default}" for one in names)

    def _bracket(self, after: int, function: ast.FunctionDef) -> int:
        """Return where the comma or the bracket behind a parameter is, in bytes."""
        lines = io.StringIO(self.file.data.decode()).readlines()  # as Python counts lines
        depth, first = 0, self._opening(function) - 1
        for one in tokenize.generate_tokens(iter(lines).__next__):
            row, column = one.start
            place = self.file.starts[row - 1] + len(lines[row - 1][:column].encode()) if row <= len(lines) else 0
            if place < first or one.type != tokenize.OP:
                continue
            if depth == 1 and place >= after and one.string in (",", ")"):
                return place
            depth += (one.string in "([{") - (one.string in ")]}")
        raise CannotMove("its parameters cannot be edited", function)

    def _opening(self, function: ast.FunctionDef) -> int:
        begin, end = self.file.span(function)
        text = self.file.data[begin:end]
        return begin + text.index(b"(", text.index(b"def ")) + 1


def _restarts(path: str, call: ast.Call) -> bool:
    """Does a generator draw the same numbers after a call? `seed()` and `seed(None)` make it draw others."""
    values = [*call.args, *(one.value for one in call.keywords)]
    return path.rpartition(".")[2] in RESTARTING and any(ast.unparse(one) != "None" for one in values)


def _arguments(call: ast.Call, distribution: Distribution) -> dict[str, ast.expr]:
    """Return the arguments of a call by the names of the parameters."""
    if distribution.has_sizes and len(call.args) == 1 and isinstance(call.args[0], ast.Starred) and not call.keywords:
        return {"size": call.args[0].value}
    if has_unpacked(call):
        raise CannotMove("a draw has unpacked arguments", call)
    if distribution.has_sizes:
        if call.keywords:
            raise CannotMove(f"`{ast.unparse(call.func)}` takes no arguments by name", call)
        return {"size": ast.copy_location(ast.Tuple(call.args, ast.Load()), call)} if call.args else {}
    if len(call.args) > len(distribution.names):
        raise CannotMove(f"`{ast.unparse(call)}` has unsupported arguments", call)
    found = dict(zip(distribution.names, call.args, strict=False))
    for one in call.keywords:
        name = OTHER_NAMES.get(str(one.arg), str(one.arg))
        if name not in distribution.names or name in found:
            raise CannotMove(f"the argument `{one.arg}=` is not supported", call)
        found[name] = one.value
    return {name: value for name, value in found.items() if ast.unparse(value) != "None"}
