"""`if`, `for`, `while` and `return` that depend on values, in the form that AutoGraph converts to a graph.

AutoGraph wants each name that such a statement leaves to be a tensor of one dtype before it, and loops to go over
`tf.range` or a tensor (https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc/reference/).
A loop whose length is known while the graph is built stays a Python loop and is unrolled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyopbench.model.syntax import number_of
from pyopbench.ports.porting.expressions import write_truth
from pyopbench.ports.porting.observations import ARRAY, NUMBER_KIND, OTHER, SEQUENCE, TENSOR, Seen, dtype_of
from pyopbench.ports.porting.typed import TypedCode, is_number
from pyopbench.ports.porting.watching import names_bound, of_function, of_loop, parameters_of

DECIDING = (ast.If, ast.For, ast.While)


def _left(code: TypedCode, name: str) -> Iterator[tuple[ast.stmt, set[Seen]]]:
    """Yield the statements where branches of the graph join, each with what a name is after it."""
    for node in ast.walk(code.unit.node):
        if isinstance(node, DECIDING) and (code.decides(node) or number_of(node) in code.observed.joining):
            yield node, code.leaves(node, name)


def carried(code: TypedCode, name: str) -> set[Seen]:
    """Return what a name is where branches of the graph join; nothing for one that no such statement binds."""
    return set[Seen]().union(*(seen for _, seen in _left(code, name)))


def is_sequence_where_ways_meet(code: TypedCode, name: str) -> bool:
    """Is a name a tuple or list after a statement that depends on values? AutoGraph makes tensors of its numbers."""
    return any(
        one.kind == SEQUENCE and (one.holds_tensors or _is_read_outside(code.unit.node, node, name))
        for node, seen in _left(code, name)
        for one in seen
    )


# Assignments before a statement.


def _is_read_outside(function: ast.AST, node: ast.stmt, name: str) -> bool:
    """Does a function read a name outside of a statement? AutoGraph itself sees which of these reads come first."""
    inside = {id(one) for one in ast.walk(node)}
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    return any(isinstance(one.ctx, ast.Load) and id(one) not in inside for one in names)


def _is_bound_before(function: ast.AST, node: ast.stmt, name: str) -> bool:
    """Does a line above bind a name, or is it an argument?"""
    place = (node.lineno, node.col_offset)
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    is_above = any(isinstance(one.ctx, ast.Store) and (one.lineno, one.col_offset) < place for one in names)
    return is_above or name in parameters_of(function)


def _start(code: TypedCode, node: ast.stmt, name: str, seen: set[Seen], *, is_on_all: bool = False) -> str:
    """Return what AutoGraph needs a name to be before a statement that leaves it as `seen`; empty for nothing."""
    function, dtype = code.unit.node, dtype_of(carried(code, name))
    kinds, weak = {one.kind for one in seen}, {one.weak for one in seen}
    is_of_two_types = (
        isinstance(node, ast.If) and {int, float} <= weak and all(one.kind != TENSOR or one.weak for one in seen)
    )
    if is_of_two_types or (OTHER in kinds and kinds & {TENSOR, ARRAY, NUMBER_KIND}):
        raise code.refusal(node, f"`{name}` differs in dtype between branches that depend on values")
    if _is_bound_before(function, node, name):
        is_number = name in parameters_of(function) and any(one.kind == NUMBER_KIND for one in carried(code, name))
        return f"tf.cast({name}, tf.{dtype})" if is_number and dtype else ""
    dtype = dtype_of(seen) or dtype
    ranks = {one.rank for one in seen if one.kind in (TENSOR, ARRAY, NUMBER_KIND)}
    if is_on_all or not _is_read_outside(function, node, name):
        return ""
    if not dtype or len(ranks) != 1 or kinds & {OTHER, SEQUENCE}:
        return ""
    (rank,) = ranks
    none = "False" if dtype == "bool" else "0"
    return f"tf.zeros({[0] * rank}, tf.{dtype})" if rank else f"tf.constant({none}, tf.{dtype})"


def _invariants(code: TypedCode, node: ast.stmt, started: Mapping[str, str]) -> list[str]:
    """Return the statement that says which sizes of names, as they are `started`, change in a loop; none if none do."""
    found = []
    for name, start in started.items():
        if not start and not _is_bound_before(code.unit.node, node, name):
            continue
        ranks = {one.rank for one in code.leaves(node, name) if one.kind in (TENSOR, ARRAY)}
        rank = ranks.pop() if len(ranks) == 1 else 0
        is_any = start.startswith("tf.zeros")
        axes = range(rank) if is_any else code.observed.growing.get((number_of(node), name), ())
        if axes and rank:
            sizes = ", ".join("None" if axis in axes else f"{name}.shape[{axis}]" for axis in range(rank))
            found.append(f"({name}, tf.TensorShape([{sizes}]))")
    return [f"tf.autograph.experimental.set_loop_options(shape_invariants=[{', '.join(found)}])"] if found else []


# Statements.


def write_if(code: Any, node: ast.If) -> str | None:
    """Return an `if` on values; None for one that Python decides while the graph is built."""
    if _is_elif(code, node):
        return None  # what has to be before it is before the first
    chain: list[ast.If] = [node]
    while len(chain[-1].orelse) == 1 and _is_elif(code, chain[-1].orelse[0]):
        chain.append(chain[-1].orelse[0])  # type: ignore[arg-type]
    decided = [one for one in chain if code.decides(one)]
    if not decided:
        return None
    ways = [names_bound(one.body) for one in chain] + [names_bound(chain[-1].orelse)]
    before = []
    for name in sorted(set().union(*ways)):
        seen = set().union(*(code.leaves(one, name) for one in decided))
        start = _start(code, node, name, seen, is_on_all=all(name in way for way in ways))
        before += [f"{name} = {start}"] if start else []
    return in_lines(node, [*before, code.write_with_parts(node)])


def _is_elif(code: TypedCode, node: ast.AST) -> bool:
    """Is it the `elif` of another `if`?"""
    if not isinstance(node, ast.If):
        return False
    begin, _ = code.source.span(node)
    return code.source.text(begin, begin + 4) == "elif"


def in_lines(node: ast.stmt | ast.expr, several: Sequence[str]) -> str:
    """Return statements that replace one."""
    return ("\n" + " " * node.col_offset).join(several)


def write_while(code: Any, node: ast.While) -> str | None:
    """Return a `while` whose length depends on values."""
    if not code.decides(node):
        return None
    test = write_truth(code, node.test)
    return _write_loop(code, node, f"while {test if code.holds_tensors(node.test) else f'tf.constant({test})'}")


def write_for(code: Any, node: ast.For) -> str | None:
    """Return a `for` that is a loop of the graph; None for one that is unrolled."""
    if not code.decides(node):
        return None
    call = node.iter
    if not isinstance(node.target, ast.Name):
        raise code.refusal(node)
    if not isinstance(call, ast.Call) or code.name_of(call.func) != "range":
        return _write_loop(code, node, f"for {node.target.id} in {_elements(code, call)}")
    has_step = len(call.args) > 2
    if code.is_compiled and any(map(code.holds_tensors, call.args)) and (not has_step or is_number(call.args[2])):
        return _as_while(code, node, call.args)
    bounds = ", ".join(code.operand(one, "int64") for one in call.args)
    numbers = f"tf.range({bounds}, dtype=tf.int64)"
    if not all(map(is_number, call.args)):
        numbers = f"{code.use('np_range')}({'0, ' if len(call.args) == 1 else ''}{bounds})"
    return _write_loop(code, node, f"for {node.target.id} in {numbers}")


def _as_while(code: Any, node: ast.For, given: Sequence[ast.expr]) -> str:
    """Return a loop over a `range` as a `while` with a counter: XLA compiles only a `tf.range` of constants."""
    assert isinstance(node.target, ast.Name)
    first, last = (None, given[0]) if len(given) == 1 else given[:2]
    step = ast.literal_eval(given[2]) if len(given) > 2 else 1
    place, end = code.fresh("place"), code.fresh("end")
    before = [
        f"{place} = {'tf.constant(0, tf.int64)' if first is None else code.tensor(first, 'int64')}",
        f"{end} = {code.tensor(last, 'int64')}",
    ]
    rounds = [f"{node.target.id} = {place}", f"{place} += {step}"]
    return _write_loop(code, node, f"while {place} {'<' if step > 0 else '>'} {end}", before, rounds)


def _write_loop(
    code: Any, node: ast.For | ast.While, head: str, before: Sequence[str] = (), first: Sequence[str] = ()
) -> str:
    """Return a loop of the graph with another head, and with statements before it and at the start of its rounds."""
    ends = [one for one in of_loop(node.body) if isinstance(one, ast.Break | ast.Continue)]
    for one in (*ends, *(one for one in of_function(node.body) if isinstance(one, ast.Return))):
        raise code.refusal(one, f"`{ast.unparse(one)}` in a loop whose length depends on values")
    if node.orelse:
        raise code.refusal(node, "a loop whose length depends on values has an `else`")
    names = sorted(names_bound([node]) if isinstance(node, ast.For) else names_bound(node.body))
    started = {name: _start(code, node, name, code.leaves(node, name)) for name in names}
    body = [*_invariants(code, node, started), *first, *map(code.write, node.body)]
    lines = [f"{name} = {start}" for name, start in started.items() if start]
    inside = " " * node.body[0].col_offset
    return in_lines(node, [*lines, *before, f"{head}:\n{inside}{in_lines(node.body[0], body)}"])


def _elements(code: Any, node: ast.expr) -> str:
    """Return what a loop of the graph iterates over, as a tensor."""
    seen = code.seen(node)
    if any(one.kind == OTHER for one in seen) or not seen:
        raise code.refusal(node)
    text = code.tensor(node)
    return text if {one.kind for one in seen} == {TENSOR} else f"tf.convert_to_tensor({text})"


def write_return(code: Any, node: ast.Return) -> str | None:
    """Return a `return`, of the dtype that all of them have; in the entry, with NumPy's dtypes for Python's numbers."""
    function = code.unit.node
    if node.value is None or not isinstance(function, ast.FunctionDef):
        return None
    items = [one for one in ast.walk(function) if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)]
    written = {one.value.id for one in items if isinstance(one.value, ast.Name)}
    for one in (name for name in ast.walk(node.value) if isinstance(name, ast.Name)):
        if {TENSOR, ARRAY} <= {seen.kind for seen in code.seen(one)} and one.id in written:
            raise code.refusal(node, f"`{one.id}`, which the function writes to, is not always computed from an input")
    left = code.observed.left.get(number_of(function), {})
    if not code.decides(function):
        parts = [node.value, *getattr(node.value, "elts", ())]
        is_entry = code.units.is_entry(code.unit) and node in of_function(function.body)
        numbers = [one for part in parts for one in code.seen(part) if one.weak in (int, float, complex)]
        if is_entry and any(one.kind in (NUMBER_KIND, SEQUENCE) and not one.holds_tensors for one in numbers):
            return f"return {code.use('np_outputs')}({code.write(node.value)})"
        return None
    values = node.value.elts if isinstance(node.value, ast.Tuple) and "return" not in left else [node.value]
    names = ["return"] if "return" in left else [f"return {place}" for place in range(len(values))]
    dtypes = [dtype_of(left.get(name, set())) for name in names]
    if set(names) != set(left) or not all(dtypes):
        raise code.refusal(node, "the number of results, or their dtypes, depend on values")
    return f"return {', '.join(map(code.tensor, values, dtypes))}"


def write_rare(code: Any, node: ast.stmt) -> str | None:
    """Return `raise` or `assert` as its equivalent in a graph, or refuse what has none."""
    if isinstance(node, ast.Global | ast.Nonlocal):
        raise code.refusal(node)
    if isinstance(node, ast.Try):
        inside = [one for part in node.body for one in ast.walk(part) if isinstance(one, ast.expr)]
        if node.handlers and any(map(code.holds_tensors, inside)):
            raise code.refusal(node, "a graph cannot catch the error that the body catches")
        return None
    if isinstance(node, ast.Assert):
        if not code.holds_tensors(node.test):
            return None
        said = repr(ast.unparse(node)) if node.msg is None else code.write(node.msg)
        return f"tf.debugging.Assert({write_truth(code, node.test)}, [{said}])"
    assert isinstance(node, ast.Raise)
    around = [one for one in ast.walk(code.unit.node) if isinstance(one, DECIDING) and node in ast.walk(one)]
    if not any(code.decides(one) for one in around):
        return None
    said = ast.unparse(node.exc) if node.exc is not None else "raise"
    return f"tf.debugging.Assert(False, [{said!r}])"
