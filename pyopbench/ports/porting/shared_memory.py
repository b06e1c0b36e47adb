"""Names that share the memory of one array, so that a write through one of them changes the others.

In a port each name is a tensor of its own, so a write to one of them does not change the others. A port is refused if
one name is written to and another is read afterwards.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from pyopbench.model.syntax import defaults_of, every_name, root_of
from pyopbench.ports.porting.indexing import entries_of
from pyopbench.ports.porting.names import METADATA, VIEWS, name_of
from pyopbench.ports.porting.observe import ARRAY, TENSOR
from pyopbench.ports.porting.units import Unit
from pyopbench.ports.porting.watching import names_written, output_of, parameters_of, without_keys
from pyopbench.ports.porting.writing_functions import arguments_of, calls_in, unit_of, writes_in, written_parameters

OF_SEVERAL = ("broadcast_arrays", "ix_", "meshgrid")
"""Functions of `VIEWS` that take several arrays; of the others, only the first argument is one."""

AT_ONCE = ("list", "tuple", "dict", "sorted")
"""Python functions that return their argument's items, and iterate over it before they return."""

COLLECTING = (*AT_ONCE, "reversed", "zip", "enumerate", "iter", "next")
"""Python functions that return or iterate over their arguments, or the items of these, without a copy."""

RETURNING = ("get", "pop", "popleft", "setdefault", "values", "items", "copy")
"""Methods of lists and dicts that return their items, or their last argument."""

ADDING = ("append", "appendleft", "extend", "insert", "setdefault", "update")
"""Methods of lists and dicts that add an object."""


class Lines:
    """The statements of a function that bind names and write to arrays, and the paths between them.

    Statements are numbered in the order of the source, and these numbers are called lines. They are not line numbers
    of the file, where a line may have several statements, and a statement several lines.
    """

    def __init__(self, code: Any, function: ast.AST) -> None:
        nodes = list(ast.walk(function))
        self.order: dict[int, int] = {}
        self._number(function, 0)
        self.names = [one for one in nodes if isinstance(one, ast.Name)]
        self.tensors = {one.id for one in self.names if code.holds_tensors(one)}
        self.arrays = {one.id for one in self.names if _may_be_shared(code, one)}
        only_sizes = {id(one.value) for one in nodes if isinstance(one, ast.Attribute) and one.attr in METADATA}
        self.writes: dict[str, list[int]] = {}
        in_place = set()
        for name, node in writes_in(code, code.unit, function):
            # `writes_in` also yields each statement in a loop.
            if not isinstance(node, ast.For) and not _is_item_replaced(code, node, name):
                self.writes.setdefault(name, []).append(self.at(node))
            if isinstance(node, ast.AugAssign):
                in_place.add(id(node.target))
        # A variable of a comprehension is separate from one of the function with the same name.
        in_place |= {id(each) for one in nodes if isinstance(one, ast.comprehension) for each in ast.walk(one.target)}
        stores = [one for one in self.names if not isinstance(one.ctx, ast.Load) and id(one) not in in_place]
        self.bound = [(one.id, self.at(one)) for one in stores]
        self.reads = [
            (one.id, self.at(one))
            for one in self.names
            if (isinstance(one.ctx, ast.Load) or id(one) in in_place) and id(one) not in only_sizes
        ]
        self.bindings = [
            (*one, self.at(statement))
            for statement in nodes
            if isinstance(statement, ast.stmt)
            for one in _bindings(statement)
            if not _is_written_to(code, statement, one[0])
        ]
        self.loops = [self.span([one]) for one in nodes if isinstance(one, ast.For | ast.While)]
        local = [one for one in nodes if isinstance(one, ast.FunctionDef) and one is not function]
        in_local = {id(each) for one in local for each in ast.walk(one)}
        self.blocks: list[tuple[int, int, bool]] = [(*self.span(one.body), False) for one in local]
        self.alternatives: list[tuple[tuple[int, int], tuple[int, int]]] = []
        for one in nodes:
            if not isinstance(one, ast.If | ast.For | ast.While | ast.Try | ast.ExceptHandler | ast.match_case):
                continue
            several = [block for block in (one.body, getattr(one, "orelse", [])) if block]
            spans = [self.span(block) for block in several]
            self.blocks += [
                (*span, isinstance(block[-1], ast.Return | ast.Raise) and id(one) not in in_local)
                for span, block in zip(spans, several, strict=True)
            ]
            if isinstance(one, ast.If) and len(spans) > 1:
                self.alternatives += [(spans[0], spans[1]), (spans[1], spans[0])]

    def at(self, node: ast.AST) -> int:
        """Return the line of the statement that a node is in."""
        return self.order[id(node)]

    def _number(self, node: ast.AST, place: int) -> None:
        if isinstance(node, ast.stmt):
            self.order[-1] = place = self.order.get(-1, 0) + 1
        self.order[id(node)] = place
        for one in ast.iter_child_nodes(node):
            self._number(one, place)

    def span(self, block: Sequence[ast.stmt]) -> tuple[int, int]:
        """Return the first and the last line of a block, with those of all statements in it."""
        return self.at(block[0]), max(self.at(one) for one in ast.walk(block[-1]) if isinstance(one, ast.stmt))

    def has_path(self, first: int, last: int, names: set[str]) -> bool:
        """Is there a path from one line to another on which none of the names is sure to be bound again?"""
        bound = [line for name, line in self.bound if name in names]
        is_bound = any(first < one < last and self._always_runs(one, last) for one in bound)
        if last > first and not is_bound and not self._exclude_each_other(first, last):
            return True
        for start, end in self.loops:
            if not (start <= first <= end and start <= last <= end):
                continue
            before = any(first < one <= end and self._always_runs(one, first) for one in bound)
            if not before and not any(start <= one < last and self._always_runs(one, last) for one in bound):
                return True
        return False

    def _always_runs(self, line: int, where: int) -> bool:
        """Does a line always run if the line `where` does?"""
        return all(start <= where <= end for start, end, _ in self.blocks if start <= line <= end)

    def _exclude_each_other(self, first: int, last: int) -> bool:
        """Are two lines in an `if` and its `else`, or is the first in a block that ends in `return` or `raise`?"""
        left = any(ends and start <= first <= end < last for start, end, ends in self.blocks)
        return left or any(a <= first <= b and c <= last <= d for (a, b), (c, d) in self.alternatives)


def refuse_shared_memory(code: Any, statement: ast.stmt) -> None:
    """Refuse a statement that gives an array a second name, if one name is written to and the other is read later."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple | ast.List):
        for target in statement.targets:
            _refuse_swapped(code, target, statement.value)
    lines = lines_of(code)
    for name, value, place in _bindings(statement):
        if name not in lines.arrays:
            continue
        _refuse_cached(code, lines, name, value)
        for other in sorted(_sharing(code, name, value, place, statement)):
            if lines.tensors & {name, other}:
                _refuse_pair(code, lines, name, other, value)
    for call in calls_in(statement):
        _refuse_passed(code, call)
        _refuse_overlapping(code, lines, call)
        _refuse_added(code, lines, call)
        _refuse_local(code, lines, statement, call)
    if isinstance(statement, ast.For):
        _refuse_rows_ahead(code, lines, statement)


def _refuse_pair(code: Any, lines: Lines, name: str, other: str, value: ast.expr) -> None:
    line = lines.at(value)
    is_both = isinstance(value, ast.Name) and isinstance(value.ctx, ast.Store)  # `x = y = value`
    if (other, line) in lines.bound and not is_both:  # `x, y = y, x`
        return
    for written, read in ((name, other), (other, name)):
        for at in lines.writes.get(written, ()):
            if not lines.has_path(line, at, {written, read}):
                continue
            if written == name and other in _arrays_of_callers(code):
                raise code.refusal(value, f"`{name}` may be the caller's `{other}`, and is written to", "use .copy()")
            if any(one == read and lines.has_path(at, where, {read}) for one, where in lines.reads):
                raise code.refusal(
                    value,
                    f"`{name}` may share memory with `{other}`: one is written to, and the other is read",
                    "use .copy()",
                )


def _refuse_local(code: Any, lines: Lines, statement: ast.stmt, call: ast.Call) -> None:
    """Refuse a call of a nested function that writes to its arguments: in a port, the caller's array is unchanged."""
    function = _local(code, call.func)
    if not isinstance(function, ast.FunctionDef):
        return
    written = names_written(function.body)
    for name, value in arguments_of(function, call):
        root = without_keys(value)
        if name not in written or not isinstance(root, ast.Name) or root.id not in lines.tensors:
            continue
        outside = {id(one) for one in ast.walk(statement)} - {id(one) for one in ast.walk(call)}
        is_read = any(id(one) in outside for one in lines.names if one.id == root.id)
        if is_read or any(one == root.id and lines.has_path(lines.at(call), at, {one}) for one, at in lines.reads):
            problem = f"`{function.name}`, a nested function, writes to `{root.id}`"
            raise code.refusal(call, problem, "define it at the top level of the module")


def _refuse_passed(code: Any, call: ast.Call) -> None:
    """Refuse to pass a function that writes to its arguments to another function: its port returns them instead."""
    for one in (*call.args, *(each.value for each in call.keywords)):
        unit = unit_of(code, code.unit, one)
        if unit is not None and written_parameters(code, unit):
            raise code.refusal(
                call, f"`{unit.name}` writes to its arguments, and is passed to a function", "call it in a loop"
            )


def _refuse_overlapping(code: Any, lines: Lines, call: ast.Call) -> None:
    """Refuse a call that writes to an argument, if another argument may share its memory."""
    unit = unit_of(code, code.unit, call.func)
    written = written_parameters(code, unit) if unit is not None else []
    if unit is None or not written:
        return
    passed = [
        (name, _origins(code, viewed(code, value), lines.at(call))) for name, value in arguments_of(unit.node, call)
    ]
    for place, (name, names) in enumerate(passed):
        for other, others in passed[:place] + passed[place + 1 :]:
            if name in written and names & others:
                problem = f"`{name}` and `{other}` of `{unit.name}` may share memory, and `{name}` is written to"
                raise code.refusal(call, problem, "use .copy()")


def _refuse_added(code: Any, lines: Lines, call: ast.Call) -> None:
    """Refuse a call that adds an array to a list or a dict, if one is written to and the other is read later."""
    unit = unit_of(code, code.unit, call.func)
    passed = {} if unit is None else dict(arguments_of(unit.node, call))
    for one in ast.walk(unit.node) if unit is not None else ():
        function = one.func if isinstance(one, ast.Call) else None
        if not isinstance(function, ast.Attribute) or function.attr not in ADDING:
            continue
        if not isinstance(function.value, ast.Name) or function.value.id not in passed:
            continue
        added = every_name(one) - {function.value.id}
        for name in sorted(viewed(code, passed[function.value.id])):
            for other in sorted(set().union(*(viewed(code, passed[each]) for each in added & {*passed}))):
                if lines.tensors & {name, other}:
                    _refuse_pair(code, lines, name, other, call)


def _refuse_cached(code: Any, lines: Lines, name: str, value: ast.expr) -> None:
    """Refuse to write to an array from a cached function: later calls return the same array, with the new values."""
    unit = unit_of(code, code.unit, value.func) if isinstance(value, ast.Call) else None
    decorators = [] if unit is None else unit.node.decorator_list  # type: ignore[attr-defined]
    if any("cache" in ast.unparse(one) for one in decorators) and any(
        lines.has_path(lines.at(value), at, {name}) for at in lines.writes.get(name, ())
    ):
        problem = f"`{name}` is in the cache of `{unit.name}`, and is written to"  # type: ignore[union-attr]
        raise code.refusal(value, problem, "use .copy()")


def _refuse_swapped(code: Any, target: ast.expr, value: ast.Tuple | ast.List) -> None:
    """Refuse `x[i], x[j] = x[j], x[i]` of rows: they are views, and NumPy overwrites `x[i]` before it reads it."""
    written: set[str] = set()
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    for one, part in zip(targets, value.elts, strict=False):
        if code.is_tensor(part) and code.rank(part) and viewed(code, part) & written:
            problem = f"`{ast.unparse(part)}` is a view of an array that the same statement has written to"
            raise code.refusal(part, problem, "use .copy()")
        root = without_keys(one)
        written |= {root.id} if root is not one and isinstance(root, ast.Name) else set()


def _refuse_rows_ahead(code: Any, lines: Lines, loop: ast.For) -> None:
    """Refuse a loop over the rows of an array that writes to later rows: a port reads all rows before the loop."""
    is_counted = isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name)
    counter = loop.target.elts[0] if is_counted and isinstance(loop.target, ast.Tuple) else None
    several = loop.iter.args if is_counted else [loop.iter]  # type: ignore[attr-defined]  # `zip`, `enumerate`
    arrays = {name for one in several if code.is_tensor(one) for name in viewed(code, one)}
    arrays |= {name for one in several if isinstance(one, ast.GeneratorExp) for name in _read_late(code, one)}
    of_this_iteration = set()
    for one in ast.walk(loop):
        if counter is not None and isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
            key = one.slice.elts[0] if isinstance(one.slice, ast.Tuple) else one.slice
            if ast.unparse(key) == ast.unparse(counter):
                of_this_iteration.add(lines.at(one))
    begin, end = lines.span([loop])
    for name in sorted(arrays):
        if any(begin < at <= end and at not in of_this_iteration for at in lines.writes.get(name, ())):
            raise code.refusal(loop, f"`{name}` is written to in a loop over its rows", "loop over a .copy() of it")


def lines_of(code: Any) -> Lines:
    """Return the lines of the function whose port is being written."""
    known: dict[int, Lines] = code.__dict__.setdefault("lines_of_memory", {})
    function = code.unit.node
    if id(function) not in known:
        known[id(function)] = Lines(code, function)
    return known[id(function)]


def _is_item_replaced(code: Any, statement: ast.AST, name: str) -> bool:
    """Does a statement replace items of a list or a dict, without writing to any array?"""
    parts = [one for one in ast.walk(statement) if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)]
    if isinstance(statement, ast.AugAssign):
        return False  # `items[0] *= 2` writes to the array that is the item
    roots = [one.value for one in parts if isinstance(one.value, ast.Name) and one.value.id == name]
    return bool(roots) and not any(_is_array(code, one) or not code.seen(one) for one in roots)


def _may_be_shared(code: Any, node: ast.AST) -> bool:
    return any(
        (one.kind in (TENSOR, ARRAY) and one.rank) or one.kind not in (TENSOR, ARRAY, "number")
        for one in code.seen(node)
    )


def _arrays_of_callers(code: Any) -> set[str]:
    """Return the parameters of the function if another one calls it; empty if none does."""
    function = code.unit.node
    names = [one for unit in code.units.in_order() for one in ast.walk(unit.node) if isinstance(one, ast.Name)]
    is_called = any(one.id == code.unit.name and isinstance(one.ctx, ast.Load) for one in names)
    return set(parameters_of(function)) if is_called else set()


Binding = tuple[str, ast.expr, int | None]
"""A name, the value it is bound to, and the index of the item that it gets; None for the whole, or if unknown."""


def _bindings(statement: ast.AST) -> Iterator[Binding]:
    """Yield the names that a statement binds, and those of lists and dicts that it adds to."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _paired(target, statement.value)
        for target in statement.targets[1:]:
            yield from _paired(target, statement.targets[0])
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value is not None:
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Subscript):
            yield from _paired(statement.target, statement.value)
    elif isinstance(statement, ast.For):
        yield from _of_loop(statement.target, statement.iter)
    for call in calls_in(statement):
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in ADDING and isinstance(function.value, ast.Name):
            name = function.value.id
            yield from ((name, one, None) for one in (*call.args, *(each.value for each in call.keywords)))


def _of_loop(target: ast.expr, items: ast.expr) -> Iterator[Binding]:
    function = items.func.id if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) else ""
    if function in ("zip", "enumerate") and isinstance(target, ast.Tuple):
        several = items.args if function == "zip" else [ast.Constant(0), *items.args[:1]]  # type: ignore[attr-defined]
        for one, part in zip(target.elts, several, strict=False):
            yield from _of_loop(one, part)
    elif isinstance(items, ast.Tuple | ast.List):
        for part in items.elts:
            yield from _paired(target, part)
    elif isinstance(items, ast.GeneratorExp):
        yield from _paired(target, items, 0)  # an element, and not the generator
    else:
        yield from _paired(target, items)


def _paired(target: ast.expr, value: ast.expr, place: int | None = None) -> Iterator[Binding]:
    if isinstance(target, ast.Starred):
        yield from _paired(target.value, value)
    elif isinstance(target, ast.Tuple | ast.List):
        is_paired = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        for number, one in enumerate(target.elts):
            part = value.elts[number] if is_paired else value  # type: ignore[attr-defined]
            yield from _paired(one, part, None if is_paired else number)
    elif isinstance(target, ast.Name):
        yield target.id, value, place
    elif isinstance(target, ast.Subscript | ast.Attribute):  # not of an array: a write to one copies the values
        root = root_of(target, ast.Subscript | ast.Attribute)
        if isinstance(root, ast.Name):
            yield root.id, value, place


def _is_written_to(code: Any, statement: ast.stmt, name: str) -> bool:
    """Does a statement write to elements of an array of that name? Such a write copies the values."""
    roots = [one for one in ast.walk(statement) if isinstance(one, ast.Name) and one.id == name]
    is_array = any(seen.kind in (TENSOR, ARRAY) for one in roots for seen in code.seen(one))
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    is_part = any(
        isinstance(one, ast.Subscript | ast.Attribute) for target in targets if target for one in ast.walk(target)
    )
    return is_array and (is_part or isinstance(statement, ast.AugAssign))


def _sharing(code: Any, name: str, value: ast.expr, place: int | None, statement: ast.stmt) -> set[str]:
    """Return the names that may share memory with a name that is bound to a value."""
    if _is_written_to(code, statement, name):
        return set()
    lines = lines_of(code)
    line = lines.at(statement)
    roots = _origins(code, viewed(code, value, place), line)
    found = set(roots)
    for other, its_value, its_place, at in lines.bindings:
        if other in found or other == name or at == line or not lines.has_path(at, line, {other}):
            continue
        if other not in lines.arrays or _are_disjoint(value, its_value):
            continue
        if _origins(code, viewed(code, its_value, its_place), at) & roots:
            found.add(other)
    return found - {name}


def _origins(code: Any, names: set[str], line: int) -> set[str]:
    """Return some names, with all others whose memory they may share at a line."""
    lines, found = lines_of(code), set(names)
    waiting = [(one, line) for one in names]
    while waiting:
        name, seen_at = waiting.pop()
        for bound, value, place, at in lines.bindings:
            if bound != name or at == seen_at or not lines.has_path(at, seen_at, {name}):
                continue
            new = {one for one in viewed(code, value, place) - found if lines.has_path(at, seen_at, {one})}
            found |= new
            waiting += [(one, at) for one in new]
    return found


def _are_disjoint(one: ast.expr, other: ast.expr) -> bool:
    """Do two keys of one variable select disjoint parts, such as `x[:, 0]` and `x[:, 1]`, or `x[:2]` and `x[2:]`?"""
    if not isinstance(one, ast.Subscript) or not isinstance(other, ast.Subscript):
        return False
    if ast.unparse(one.value) != ast.unparse(other.value):
        return False
    keys = [each.slice.elts if isinstance(each.slice, ast.Tuple) else [each.slice] for each in (one, other)]
    for key, its in zip(*keys, strict=False):
        if isinstance(key, ast.Constant) and key.value is Ellipsis and len(keys[0]) != len(keys[1]):
            return False
        spans = [_span(key), _span(its)]
        if None not in spans and (spans[0][1] <= spans[1][0] or spans[1][1] <= spans[0][0]):  # type: ignore[index]
            return True
    return False


def _span(key: ast.expr) -> tuple[float, float] | None:
    """Return the first index that a key selects and the one after the last; None unless both are known constants."""
    if isinstance(key, ast.Constant) and type(key.value) is int:
        return key.value, key.value + 1
    if not isinstance(key, ast.Slice) or key.step is not None:
        return None
    ends = [one.value if isinstance(one, ast.Constant) else None for one in (key.lower, key.upper)]
    first = 0 if key.lower is None else ends[0]
    last = float("inf") if key.upper is None else ends[1]
    return (first, last) if isinstance(first, int) and isinstance(last, int | float) else None


def viewed(code: Any, value: ast.AST, place: int | None = None) -> set[str]:
    """Return the names of the arrays that a value may be, may be a view of, or may contain.

    Args:
        code: the writer.
        value: the value.
        place: index of the item of the value that is used; None for the whole value.
    """
    seen = code.seen(value)
    if seen and not _may_be_shared(code, value):
        return set()
    parts: Sequence[ast.AST] = ()
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    elif isinstance(value, ast.BoolOp | ast.Dict):
        parts = value.values
    elif isinstance(value, ast.Tuple | ast.List):
        parts = value.elts if place is None or place >= len(value.elts) else [value.elts[place]]
    elif isinstance(value, ast.Starred | ast.NamedExpr):
        parts = [value.value]
    elif isinstance(value, ast.BinOp) and not _is_array(code, value) and {one.kind for one in seen} != {"number"}:
        parts = [value.left, value.right]
    elif isinstance(value, ast.ListComp | ast.GeneratorExp):
        of_element = viewed(code, value.elt)
        for one in value.generators:
            targets = every_name(one.target)
            if targets & of_element:
                of_element = of_element - targets | viewed(code, one.iter)
        if isinstance(value, ast.GeneratorExp) and place is None:
            of_element |= _read_late(code, value)
        return of_element
    elif isinstance(value, ast.Subscript):
        is_copy = any(entry.is_copied for entry in entries_of(code, value.slice))
        parts = [] if is_copy and _is_array(code, value.value) else [value.value]
    elif isinstance(value, ast.Attribute):
        is_view = value.attr in ("T", "mT", "real", "imag") or not _is_array(code, value.value)
        parts = [value.value] if is_view and not _is_global(code, value) else []
    elif isinstance(value, ast.Call):
        return _of_call(code, value, place)
    return set().union(*(viewed(code, one) for one in parts))


def _read_late(code: Any, generator: ast.GeneratorExp) -> set[str]:
    """Return the arrays that a generator reads while something iterates over it."""
    names = [one for one in ast.walk(generator) if isinstance(one, ast.Name)]
    own = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    return {one.id for one in names if one.id not in own and _may_be_shared(code, one) and not _is_global(code, one)}


def _is_array(code: Any, node: ast.AST) -> bool:
    return any(one.kind in (TENSOR, ARRAY) for one in code.seen(node))


def _is_global(code: Any, node: ast.expr) -> bool:
    """Is it a value of the module, not of the function?"""
    return code.value_of(node) is not None


def _of_call(code: Any, call: ast.Call, place: int | None) -> set[str]:
    function = call.func
    parts: list[ast.expr] = []
    if isinstance(function, ast.Attribute):
        is_kept = any(one.arg == "copy" and ast.unparse(one.value) != "True" for one in call.keywords)
        is_method = _is_array(code, function.value)
        if function.attr in VIEWS or (function.attr in ("array", "astype", "meshgrid", "nan_to_num") and is_kept):
            several = call.args if function.attr in OF_SEVERAL else call.args[:1]
            parts = [function.value] if is_method else several
        elif function.attr in ("conj", "conjugate") and is_method:
            parts = [function.value]  # of real numbers, it is the array itself
        elif function.attr in ("diag", "einsum") and not is_method:
            parts = _of_diagonal(code, call)
        elif function.attr in RETURNING and not is_method and isinstance(function.value, ast.Name):
            parts = [function.value, *call.args[-1:]] if not _is_global(code, function.value) else []
    elif isinstance(function, ast.Name) and function.id in COLLECTING and function.id not in code.units.by_name:
        if function.id in AT_ONCE and call.args and isinstance(call.args[0], ast.GeneratorExp):
            return viewed(code, call.args[0], 0)
        parts = call.args
    elif isinstance(function, ast.Name) and function.id in ("map", "filter") and call.args:
        parts = call.args[1:] if function.id == "filter" or _may_return_argument(code, call.args[0]) else []
    elif isinstance(code.value_of(function), type) and not name_of(code.value_of(function)).startswith("np."):
        parts = [*call.args, *(one.value for one in call.keywords)]  # an object that keeps its arguments
    output = output_of(call)
    found = set().union(*(viewed(code, one) for one in [*parts, *([output] if output is not None else [])]))
    local, unit = _local(code, function), unit_of(code, code.unit, function)
    if local is not None:
        names = _returned(code, local, place)
        given = [*arguments_of(local, call), *defaults_of(local.args).items()]
        found |= (names - {*parameters_of(local)}) | set().union(
            *(viewed(code, one) for name, one in given if name in names)
        )
    elif unit is not None:
        names = _returned_by_unit(code, unit, place)
        found |= set().union(*(viewed(code, one) for name, one in arguments_of(unit.node, call) if name in names))
    return found


def _of_diagonal(code: Any, call: ast.Call) -> list[ast.expr]:
    """Return the array of which `np.diag` or `np.einsum` returns a view; empty if the call returns a copy."""
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Constant):
        return [first] if first is not None and code.rank(first) > 1 else []
    before, arrow, behind = str(first.value).replace(" ", "").partition("->")
    return call.args[1:2] if len(call.args) == 2 and (not arrow or set(before) == set(behind)) else []


def _may_return_argument(code: Any, function: ast.expr) -> bool:
    """May a function return one of its arguments, or a view of it?"""
    local, unit = _local(code, function), unit_of(code, code.unit, function)
    if local is not None:
        return bool(_returned(code, local, None) & {*parameters_of(local)})
    if unit is not None:
        return bool(_returned_by_unit(code, unit, None) & {*parameters_of(unit.node)})
    return isinstance(function, ast.Attribute) and function.attr in VIEWS


def _local(code: Any, function: ast.expr) -> ast.FunctionDef | ast.Lambda | None:
    """Return the definition of a nested function or a lambda; None for any other function."""
    if isinstance(function, ast.Lambda):
        return function
    if not isinstance(function, ast.Name):
        return None
    for one in ast.walk(code.unit.node):
        if isinstance(one, ast.FunctionDef) and one is not code.unit.node and one.name == function.id:
            return one
        names = [each.id for each in one.targets if isinstance(each, ast.Name)] if isinstance(one, ast.Assign) else []
        if isinstance(getattr(one, "value", None), ast.Lambda) and function.id in names:
            return one.value  # type: ignore[attr-defined, no-any-return]
    return None


def _returned_by_unit(code: Any, unit: Unit, place: int | None) -> set[str]:
    around = code.source, code.unit
    code.source, code.unit = unit.source, unit
    try:
        return _returned(code, unit.node, place)
    finally:
        code.source, code.unit = around


def _returned(code: Any, function: ast.AST, place: int | None) -> set[str]:
    """Return the names in a function whose memory its result may share."""
    known: dict[tuple[int, int | None], set[str]] = code.__dict__.setdefault("returned_memory", {})
    key = id(function), place
    if key not in known:
        known[key] = set()  # for a function that calls itself
        values = [function.body] if isinstance(function, ast.Lambda) else []
        results = [one for one in ast.walk(function) if isinstance(one, ast.Return | ast.Yield | ast.YieldFrom)]
        values += [one.value for one in results if one.value is not None]
        lines = lines_of(code)
        known[key] = set().union(*(_origins(code, viewed(code, one, place), lines.at(one)) for one in values))
    return known[key]
