"""`if`, `for`, `while` and `return` where values decide, as AutoGraph needs them to make them parts of a graph.

AutoGraph wants each name that such a statement leaves to be a tensor of one dtype before it, and loops to go over
`tf.range` or a tensor (https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc/reference/).
A loop whose course is known while the graph is built stays Python's and is unrolled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.observe import ARRAY, NUMBER_KIND, OTHER, SEQUENCE, TENSOR, Seen, dtype_of
from pyopbench.ports.porting.operators import write_truth
from pyopbench.ports.porting.typed import TypedCode, is_number
from pyopbench.ports.porting.watching import names_bound, of_function, of_loop, parameters_of

DECIDING = (ast.If, ast.For, ast.While)

# What names are.


def carried(code: TypedCode, name: str) -> set[Seen]:
    """Return what a name is where ways of the graph meet; nothing for one that no such statement binds."""
    assert code.unit is not None
    found: set[Seen] = set()
    for node in ast.walk(code.unit.node):
        if isinstance(node, DECIDING) and code.observed.joins(code.source, node):
            found |= code.observed.leaves(code.source, node).get(name, set())
    return found


def dtype_of_name(code: TypedCode, name: str) -> str:
    """Return the dtype that a name has to have in a graph; empty for one that may be anything."""
    return dtype_of(carried(code, name))


# Liveness.


def _reads(node: ast.AST | None, name: str) -> bool:
    return node is not None and any(
        isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Store) for one in ast.walk(node)
    )


def _binds(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in ast.walk(node)
    )


def is_read_first(statements: Sequence[ast.stmt], name: str) -> bool | None:
    """Is a name read by statements before they bind it? None where they do neither."""
    for one in statements:
        found = _is_read_first(one, name)
        if found is not None:
            return found
    return None


def _is_read_first(node: ast.stmt, name: str) -> bool | None:
    if isinstance(node, ast.For):
        if _reads(node.iter, name):
            return True
        if _binds(node.target, name):
            return False
        return True if is_read_first(node.body, name) else is_read_first(node.orelse, name)
    if isinstance(node, ast.While):
        return True if _reads(node.test, name) or is_read_first(node.body, name) else None
    if isinstance(node, ast.If):
        if _reads(node.test, name):
            return True
        ways = [is_read_first(node.body, name), is_read_first(node.orelse, name)]
        return True if True in ways else False if ways == [False, False] else None
    if isinstance(node, ast.With):
        return True if any(_reads(one, name) for one in node.items) else is_read_first(node.body, name)
    if isinstance(node, ast.Try):
        return is_read_first([*node.body, *node.orelse, *node.finalbody], name)
    if isinstance(node, ast.AugAssign):
        return True if _reads(node, name) or _binds(node.target, name) else None
    if isinstance(node, ast.Assign):
        written = any(_reads(one, name) for one in node.targets)
        if _reads(node.value, name) or written:
            return True
        return False if any(_binds(one, name) for one in node.targets) else None
    if _reads(node, name):
        return True
    if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return False
    return False if _binds(node, name) else None


def blocks_around(function: ast.AST, node: ast.stmt) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """Yield the statements behind a statement, from the innermost block on, each with what the block is of."""
    path = _path(function, node)
    for owner, block, place in reversed(path):
        yield owner, block[place + 1 :]


def _path(owner: ast.AST, node: ast.stmt) -> list[tuple[ast.AST, list[ast.stmt], int]]:
    for name in ("body", "orelse", "finalbody", "handlers"):
        block = getattr(owner, name, [])
        for place, one in enumerate(block if isinstance(block, list) else []):
            if one is node:
                return [(owner, block, place)]
            if isinstance(one, ast.stmt | ast.ExceptHandler) and not isinstance(one, ast.FunctionDef | ast.ClassDef):
                inner = _path(one, node)
                if inner:
                    return [(owner, block, place), *inner]
    return []


def is_live_behind(function: ast.AST, node: ast.stmt, name: str) -> bool:
    """May a name be read behind a statement before it is bound again?"""
    for owner, rest in blocks_around(function, node):
        found = is_read_first(rest, name)
        if found is not None:
            return found
        if isinstance(owner, ast.While) and _reads(owner.test, name):
            return True
        is_bound = isinstance(owner, ast.For) and _binds(owner.target, name)
        if isinstance(owner, ast.For | ast.While) and not is_bound and is_read_first(owner.body, name):
            return True
    return False


def is_bound_before(function: ast.AST, node: ast.stmt, name: str) -> bool:
    """Does a line above bind a name, or is it an argument?"""
    place = (node.lineno, node.col_offset)
    for one in ast.walk(function):
        if isinstance(one, ast.arg) and one.arg == name:
            return True
        is_store = isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
        if is_store and (one.lineno, one.col_offset) < place:  # type: ignore[attr-defined]
            return True
    return False


def is_sequence_where_ways_meet(code: TypedCode, name: str) -> bool:
    """Is a name a tuple or list behind a statement that values decide? AutoGraph makes tensors of the numbers in it."""
    assert code.unit is not None
    for node in ast.walk(code.unit.node):
        if isinstance(node, DECIDING) and code.observed.joins(code.source, node):
            seen = [one for one in code.observed.leaves(code.source, node).get(name, ()) if one.kind == SEQUENCE]
            if any(one.holds_tensors for one in seen) or (seen and is_live_behind(code.unit.node, node, name)):
                return True
    return False


# What stands before a statement.


def starts(code: TypedCode, node: ast.stmt, name: str, seen: set[Seen], *, is_on_all: bool = False) -> list[str]:
    """Return the statement that binds a name for AutoGraph, if it is not bound before, or is a number.

    Args:
        code: the writer.
        node: the statement that binds the name where values decide.
        name: the name.
        seen: what it is behind the statement.
        is_on_all: do all ways bind it?
    """
    assert code.unit is not None
    function = code.unit.node
    _refuse_none(code, node, name, seen)
    if is_bound_before(function, node, name):
        is_number = _is_number_of_argument(code, name)
        return [f"{name} = tf.cast({name}, tf.{dtype_of_name(code, name)})"] if is_number else []
    if is_on_all or not is_live_behind(function, node, name):
        return []
    return [f"{name} = {start_of(code, node, name, seen)}"]


def start_of(code: TypedCode, node: ast.AST, name: str, seen: set[Seen]) -> str:
    """Return what stands for a value that is not there yet, of the right dtype and number of axes."""
    dtype = dtype_of(seen) or dtype_of_name(code, name)
    ranks = {one.rank for one in seen if one.kind in (TENSOR, ARRAY, NUMBER_KIND)}
    if not dtype or len(ranks) != 1 or any(one.kind in (OTHER, SEQUENCE) for one in seen):
        raise code.refusal(
            node,
            f"`{name}` is assigned in one branch only, or its dtype or number of axes differs between branches",
            "assign an array to it before",
        )
    rank = ranks.pop()
    if rank:
        return f"tf.zeros({[0] * rank}, tf.{dtype})"
    return f"tf.constant({'False' if dtype == 'bool' else '0'}, tf.{dtype})"


def _refuse_none(code: TypedCode, node: ast.stmt, name: str, seen: set[Seen]) -> None:
    kinds = {one.kind for one in seen}
    if OTHER in kinds and kinds & {TENSOR, ARRAY, NUMBER_KIND}:
        raise code.refusal(
            node,
            f"`{name}` is None or similar in one branch, and a number or an array in another",
            "start with a number",
        )
    weak = {one.weak for one in seen}
    if (
        isinstance(node, ast.If)
        and {int, float} <= weak
        and not any(one.kind == TENSOR and not one.weak for one in seen)
    ):
        raise code.refusal(
            node, f"`{name}` is an integer in one branch and a float in another", "write 2.0 in place of 2"
        )


def _is_number_of_argument(code: TypedCode, name: str) -> bool:
    """Is it an argument that is one of Python's numbers, and is bound to a tensor later?"""
    assert code.unit is not None
    is_argument = name in parameters_of(code.unit.node)
    is_number = any(one.kind == NUMBER_KIND for one in carried(code, name))
    return is_argument and is_number and bool(dtype_of_name(code, name))


def invariants(code: TypedCode, node: ast.stmt, names: Sequence[str], started: Sequence[str]) -> list[str]:
    """Return the statement that says which sizes change from round to round; none if none do."""
    assert code.unit is not None
    found = []
    for name in names:
        is_started = any(one.startswith(f"{name} = ") for one in started)
        if not is_started and not is_bound_before(code.unit.node, node, name):
            continue
        seen = [one for one in code.observed.leaves(code.source, node).get(name, set()) if one.kind in (TENSOR, ARRAY)]
        axes = code.observed.grows(code.source, node, name)
        ranks = {one.rank for one in seen}
        if len(ranks) != 1:
            continue
        (rank,) = ranks
        if any(one.startswith(f"{name} = tf.zeros") for one in started):
            axes = frozenset(range(rank))
        if axes and rank:
            sizes = ", ".join("None" if axis in axes else f"{name}.shape[{axis}]" for axis in range(rank))
            found.append(f"({name}, tf.TensorShape([{sizes}]))")
    if not found:
        return []
    return [f"tf.autograph.experimental.set_loop_options(shape_invariants=[{', '.join(found)}])"]


# Statements.


def write_if(code: Any, node: ast.If) -> str | None:
    """Return an `if` on values; None for one that Python decides while the graph is built."""
    if is_elif(code, node):
        return None  # what has to be before it is before the first
    chain: list[ast.If] = [node]
    while len(chain[-1].orelse) == 1 and isinstance(chain[-1].orelse[0], ast.If) and is_elif(code, chain[-1].orelse[0]):
        chain.append(chain[-1].orelse[0])
    decided = [one for one in chain if code.observed.decides(code.source, one)]
    if not decided:
        return None
    ways = [names_bound(one.body) for one in chain] + [names_bound(chain[-1].orelse)]
    before = []
    for name in sorted(set().union(*ways)):
        seen = set().union(*(code.observed.leaves(code.source, one).get(name, set()) for one in decided))
        is_on_all = all(name in way for way in ways)
        before += starts(code, node, name, seen, is_on_all=is_on_all)
    return with_lines(node, before, code.as_it_stands(node))


def is_elif(code: TypedCode, node: ast.AST) -> bool:
    """Is it the `elif` of another `if`?"""
    if not isinstance(node, ast.If):
        return False
    begin, _ = code.source.span(node)
    return code.source.text(begin, begin + 4) == "elif"


def write_while(code: Any, node: ast.While) -> str | None:
    """Return a `while` whose rounds values decide."""
    if not code.observed.decides(code.source, node):
        return None
    _refuse_leaving(code, node)
    before, first = _loop_lines(code, node, [])
    if not code.holds_tensors(node.test):
        code.replacing[node.test] = f"tf.constant({code.write(node.test)})"
    return _loop_text(code, node, before, first)


def _loop_text(code: Any, node: ast.For | ast.While, before: Sequence[str], first: Sequence[str]) -> str:
    code.ahead[id(node.body[0])] = list(first)
    return with_lines(node, before, code.as_it_stands(node))


def _refuse_leaving(code: Any, node: ast.For | ast.While) -> None:
    """Refuse what leaves a loop of the graph, or a round of it, before its end."""
    ends = [one for one in of_loop(node.body) if isinstance(one, ast.Break | ast.Continue)]
    returns = [one for one in of_function(node.body) if isinstance(one, ast.Return)]
    for one in (*ends, *returns):
        raise code.left_to_numba(one, f"`{ast.unparse(one)}` in a loop that values decide")
    if node.orelse:
        raise code.left_to_numba(node, "`else` of a loop that values decide")


def _loop_lines(code: Any, node: ast.For | ast.While, first: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the statements before a loop, and those at the begin of its rounds."""
    bound = names_bound([node]) if isinstance(node, ast.For) else names_bound(node.body)
    names = sorted(bound)
    left = code.observed.leaves(code.source, node)
    before = [line for name in names for line in starts(code, node, name, left.get(name, set()))]
    return before, [*invariants(code, node, names, before), *first]


def write_return(code: Any, node: ast.Return) -> str | None:
    """Return a `return`, of the dtype that all of them have, or what stands for it in a loop of the graph."""
    function = code.unit.node
    if node.value is None or not isinstance(function, ast.FunctionDef):
        return None
    left = code.observed.leaves(code.source, function)
    if not code.observed.decides(code.source, function):
        is_own = node in of_function(function.body)
        return _with_numbers(code, node) if is_own and code.units.is_entry(code.unit) else None
    values = node.value.elts if isinstance(node.value, ast.Tuple) and "return" not in left else [node.value]
    names = ["return"] if "return" in left else [f"return {place}" for place in range(len(values))]
    if set(names) != set(left):
        raise code.refusal(node, "the number of results depends on values", "always return the same number of results")
    texts = []
    for value, name in zip(values, names, strict=True):
        dtype = dtype_of(left[name])
        if not dtype:
            raise code.refusal(
                node, f"`{ast.unparse(value)}` has different dtypes in different branches", "convert it first"
            )
        texts.append(code.tensor(value, dtype))
    return f"return {', '.join(texts)}"


def _with_numbers(code: Any, node: ast.Return) -> str | None:
    """Return a `return` with numbers of Python's in NumPy's dtype of them, as TensorFlow gives them 32 bits."""
    assert node.value is not None
    is_display = isinstance(node.value, ast.Tuple | ast.List)
    values = node.value.elts if is_display else [node.value]  # type: ignore[attr-defined]
    texts = {value: _number(code, value, is_output=is_display) for value in values}
    parts = [(*code.source.span(value), text) for value, text in texts.items() if text]
    if not parts:
        return None
    parts += [(*code.source.span(value), code.write(value)) for value, text in texts.items() if not text]
    return str(code.source.replaced(*code.source.span(node), parts))


def _number(code: Any, node: ast.expr, *, is_output: bool) -> str:
    """Return the text of a number of Python's, or of a list of such, as tensors; nothing for all else.

    A list is one output, or each of its items is one.
    """
    seen = code.seen(node)
    kinds, weak = {one.kind for one in seen}, {one.weak for one in seen}
    if len(kinds) != 1 or len(weak) != 1 or not weak <= {int, float, complex} or code.holds_tensors(node):
        return ""
    dtype = f"tf.{np.dtype(next(iter(weak))).name}"
    if kinds == {NUMBER_KIND} or (kinds == {SEQUENCE} and is_output):
        return f"tf.constant({code.write(node)}, {dtype})"
    if kinds == {SEQUENCE} and all(one.rank == 1 for one in seen):
        return f"[tf.constant(item, {dtype}) for item in {code.write(node)}]"
    return ""


def write_for(code: Any, node: ast.For) -> str | None:
    """Return a `for` that is a loop of the graph; None for one that is unrolled."""
    if not code.observed.decides(code.source, node):
        return None
    _refuse_leaving(code, node)
    if code.is_compiled and _is_range_of_tensors(code, node):
        return _as_while(code, node)
    if not isinstance(node.target, ast.Name):
        raise code.left_to_numba(node, "the loop has several targets, and values decide its rounds")
    name = name_of(code.value_of(node.iter.func)) if isinstance(node.iter, ast.Call) else ""
    code.replacing[node.iter] = _range(code, node.iter) if name == "range" else _elements(code, node.iter)
    before, first = _loop_lines(code, node, [])
    return _loop_text(code, node, before, first)


def _range(code: Any, call: ast.expr) -> str:
    assert isinstance(call, ast.Call)
    return f"tf.range({', '.join(code.operand(one, 'int64') for one in call.args)}, dtype=tf.int64)"


def _is_range_of_tensors(code: Any, node: ast.For) -> bool:
    """Does a loop iterate over a `range` with a tensor as a bound, and with a constant step?"""
    call = node.iter
    if not isinstance(call, ast.Call) or name_of(code.value_of(call.func)) != "range":
        return False
    return any(map(code.holds_tensors, call.args)) and (len(call.args) < 3 or is_number(call.args[2]))


def _as_while(code: Any, node: ast.For) -> str:
    """Return a loop over a `range` as a `while` with a counter: XLA compiles only a `tf.range` of constants."""
    assert isinstance(node.iter, ast.Call)
    assert isinstance(node.target, ast.Name)
    given = node.iter.args
    first_node, last_node = (None, given[0]) if len(given) == 1 else given[:2]
    step = ast.literal_eval(given[2]) if len(given) > 2 else 1
    place, end = code.fresh("place"), code.fresh("end")
    before, first = _loop_lines(code, node, [f"{node.target.id} = {place}", f"{place} += {step}"])
    before += [
        f"{place} = {'tf.constant(0, tf.int64)' if first_node is None else code.tensor(first_node, 'int64')}",
        f"{end} = {code.tensor(last_node, 'int64')}",
    ]
    code.replacing[node.iter] = ""
    code.headers[node] = f"while {place} {'<' if step > 0 else '>'} {end}"
    return _loop_text(code, node, before, first)


def _elements(code: Any, node: ast.expr) -> str:
    """Return what a loop of the graph iterates over, as a tensor."""
    seen = code.seen(node)
    if any(one.kind == OTHER for one in seen) or not seen:
        raise code.left_to_numba(node, f"values decide the rounds of a loop over `{ast.unparse(node)}`")
    text = code.tensor(node)
    return text if {one.kind for one in seen} == {TENSOR} else f"tf.convert_to_tensor({text})"


def with_lines(node: ast.stmt, before: Sequence[str], text: str) -> str:
    """Return a statement with others before it."""
    return ("\n" + " " * node.col_offset).join([*before, text])


def write_rare(code: Any, node: ast.stmt) -> str | None:
    """Return `raise` as its equivalent in a graph, or refuse it if there is none."""
    if isinstance(node, ast.Global | ast.Nonlocal):
        names = ", ".join(node.names)
        raise code.refusal(node, f"assigns to {names} outside the function", "return what the next call needs")
    if isinstance(node, ast.Try):
        inside = [one for part in node.body for one in ast.walk(part) if isinstance(one, ast.expr)]
        if node.handlers and any(map(code.holds_tensors, inside)):
            raise code.refusal(node, "a graph cannot catch the error that the body catches", "test for it with `if`")
        return None
    if isinstance(node, ast.Assert):
        if not code.holds_tensors(node.test):
            return None
        said = repr(ast.unparse(node)) if node.msg is None else code.write(node.msg)
        return f"tf.debugging.Assert({write_truth(code, node.test)}, [{said}])"
    assert isinstance(node, ast.Raise)
    around = [owner for owner, _ in blocks_around(code.unit.node, node)]
    if not any(isinstance(one, ast.stmt) and code.observed.decides(code.source, one) for one in around):
        return None
    said = ast.unparse(node.exc) if node.exc is not None else "raise"
    lines = [f"tf.debugging.Assert(False, [{said!r}])"]
    left = code.observed.leaves(code.source, code.unit.node)
    returned = sorted(one for one in left if one.startswith("return"))
    rest = [one for _, several in blocks_around(code.unit.node, node) for one in several]
    if returned and not rest:
        lines.append(f"return {', '.join(start_of(code, node, one, left[one]) for one in returned)}")
    return ("\n" + " " * node.col_offset).join(lines)
