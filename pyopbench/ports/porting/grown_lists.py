"""Lists that grow where values decide, as `tf.TensorArray`: `append` writes an element, and reading stacks them."""

from __future__ import annotations

import ast
from typing import Any

from pyopbench.model.function_source import every_name
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.observe import TENSOR

DECIDING = (ast.If, ast.For, ast.While)
CHANGING = ("extend", "insert", "pop", "remove", "clear", "sort", "reverse")
REDUCED = {
    "sum": "tf.reduce_sum",
    "max": "tf.reduce_max",
    "min": "tf.reduce_min",
    "any": "tf.reduce_any",
    "all": "tf.reduce_all",
}
STACKING = ("np.array", "np.asarray", "np.stack")


def is_grown(code: Any, node: ast.AST | None) -> bool:
    """Is it the name of a list that values decide how much is appended to?"""
    return isinstance(node, ast.Name) and code.unit is not None and node.id in grown_names(code)


def grown_names(code: Any) -> set[str]:
    """Return the names of the lists of a function that grow where values decide."""
    assert code.unit is not None
    known: dict[int, set[str]] = code.__dict__.setdefault("grown", {})
    function = code.unit.node
    if id(function) not in known:
        known[id(function)] = set()  # which is asked for while it is made
        names = {name for name in _appended(function, {}) if _grows(code, function, name)}
        known[id(function)] = names | {name for name, _ in _comprehended(code, function)}
    return known[id(function)]


def _comprehended(code: Any, function: ast.AST) -> list[tuple[str, ast.ListComp]]:
    """Return the names that are bound to a comprehension whose length depends on values."""
    return [
        (one.targets[0].id, one.value)
        for one in ast.walk(function)
        if isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Name)
        and isinstance(one.value, ast.ListComp)
        and code.observed.decides(code.source, one.value)
    ]


def _appended(function: ast.AST, found: dict[str, None]) -> list[str]:
    for one in ast.walk(function):
        name = _appended_to(one)
        if name:
            found[name] = None
    return list(found)


def _appended_to(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
        return node.func.value.id if isinstance(node.func.value, ast.Name) else ""
    return ""


def _grows(code: Any, function: ast.AST, name: str) -> bool:
    """Is something appended in a statement that values decide, which the list is made before?"""
    for statement in ast.walk(function):
        if not isinstance(statement, DECIDING) or not code.observed.decides(code.source, statement):
            continue
        inside = list(ast.walk(statement))
        is_made = any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in inside)
        if not is_made and any(_appended_to(one) == name for one in inside):
            return True
    return False


def _element(code: Any, name: str) -> tuple[str, list[int | None]]:
    """Return the dtype and the shape of what is appended to a list."""
    assert code.unit is not None
    values = [
        one.args[0] for one in ast.walk(code.unit.node) if isinstance(one, ast.Call) and _appended_to(one) == name
    ]
    values += [one.elt for other, one in _comprehended(code, code.unit.node) if other == name]
    return _of_values(code, name, [one for one in values if code.seen(one)])


def _of_values(code: Any, name: str, values: list[ast.expr]) -> tuple[str, list[int | None]]:
    assert code.unit is not None
    if not values:
        raise code.refusal(
            code.unit.node, f"nothing is appended to `{name}` in any example", "add an example that does"
        )
    dtypes = {code.dtype(one) for one in values}
    dtype = code.loop_dtype(*values) if len(dtypes) > 1 else dtypes.pop()
    shapes = set()
    for value in values:
        for one in code.seen(value):
            shapes.add(one.shape if one.kind == TENSOR else (None,) * one.rank)
    ranks = {len(one) for one in shapes}
    if len(ranks) > 1:
        raise code.refusal(values[0], f"what is appended to `{name}` has different numbers of axes")
    sizes = [next(iter(several)) if len(several) == 1 else None for several in map(set, zip(*shapes, strict=True))]
    return dtype, sizes


def write_list(code: Any, target: ast.expr, value: ast.expr) -> str | None:
    """Return `name = [...]` of a list that grows."""
    if not is_grown(code, target):
        return None
    assert isinstance(target, ast.Name)
    if isinstance(value, ast.ListComp) and code.observed.decides(code.source, value):
        return _loop_of(code, value, target.id, value)
    if not isinstance(value, ast.List):
        raise code.refusal(
            value,
            f"`{target.id}` grows under a condition on values, and something else is assigned to it",
            "start with []",
        )
    _refuse_compiled(code, value)
    dtype, shape = _element(code, target.id)
    text = _array_of(dtype, shape, len(value.elts))
    if value.elts:
        text += f".unstack({code.tensor(value, dtype)})"
    return f"{target.id} = {text}"


def _refuse_compiled(code: Any, node: ast.expr) -> None:
    """Refuse a list that grows where XLA compiles it: in TensorFlow 2.21 it stays empty there."""
    if code.is_compiled:
        raise code.refusal(node, "compiled by XLA, a list that grows in a loop stays empty", "port it to traced")


def _array_of(dtype: str, shape: list[int | None], size: int) -> str:
    options = f"size={size}, dynamic_size=True, clear_after_read=False, element_shape={shape}"
    return f"tf.TensorArray(tf.{dtype}, {options}{', infer_shape=False' if None in shape else ''})"


def write_comprehension(code: Any, node: ast.ListComp | ast.GeneratorExp) -> str:
    """Return the tensor of a comprehension whose length depends on values, of a loop before the statement."""
    name = code.fresh("items")
    code.hoisted.append(_loop_of(code, node, name, node))
    return f"{name}.stack()"


def _loop_of(code: Any, node: ast.ListComp | ast.GeneratorExp, name: str, place: ast.expr) -> str:
    """Return the loop that a comprehension is."""
    statement = next(each for each in ast.walk(code.unit.node) if isinstance(each, ast.stmt) and _holds(each, place))
    bound = set().union(*(every_name(one.target) for one in node.generators))
    if isinstance(statement, ast.While) or bound & _bound_outside(code):
        raise code.refusal(node, "a comprehension whose length depends on values", "write it as a loop")
    _refuse_compiled(code, node)
    dtype, shape = _of_values(code, name, [node.elt] if code.seen(node.elt) else [])
    lines = [f"{name} = {_array_of(dtype, shape, 0)}"]
    around, code.hoisted = code.hoisted, []
    indent = ""
    for one in node.generators:
        iterable, target, first = _over(code, node, one)
        lines += _behind_hoisted(code, indent, f"for {target} in {iterable}:")
        lines += [f"{indent}    {each}" for each in first]
        indent += "    "
        for condition in one.ifs:
            lines += _behind_hoisted(code, indent, f"if {code.truth(condition)}:")
            indent += "    "
    value = code.tensor(node.elt, dtype)
    lines += _behind_hoisted(code, indent, f"{name} = {name}.write({name}.size(), {value})")
    code.hoisted = around
    return ("\n" + " " * statement.col_offset).join(lines)


def _behind_hoisted(code: Any, indent: str, line: str) -> list[str]:
    """Return a line of a loop after those that its expressions need."""
    several, code.hoisted = [*code.hoisted, line], []
    return [f"{indent}{each}" for each in several]


def _over(code: Any, node: ast.expr, one: ast.comprehension) -> tuple[str, str, list[str]]:
    """Return what the loop of a comprehension iterates over, its target, and the lines that bind the user's target."""
    target = code.source.text(*code.source.span(one.target))
    is_of_graph = any(each.kind == TENSOR for each in code.seen(one.iter)) or any(
        each.kind == TENSOR for part in ast.walk(one.target) for each in code.seen(part)
    )
    is_of_values = isinstance(one.iter, ast.Call) and any(map(code.holds_tensors, one.iter.args))
    if not is_of_graph and not is_of_values:
        return code.write(one.iter), target, []
    iterable, other, first = code.over(ast.copy_location(ast.For(one.target, one.iter, [], []), node))
    return iterable, other or target, first


def _holds(statement: ast.stmt, node: ast.expr) -> bool:
    """Is an expression in a statement, and in none inside of it?"""
    parts = [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.expr)]
    return any(node is one for part in parts for one in ast.walk(part))


def _bound_outside(code: Any) -> set[str]:
    """Return the names of a function that its comprehension hides, which a loop would bind."""
    function = code.unit.node
    hidden = {
        id(one)
        for each in ast.walk(function)
        if isinstance(each, ast.ListComp | ast.GeneratorExp)
        for one in ast.walk(each)
    }
    others = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and id(one) not in hidden}
    return others | {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)}


def write_append(code: Any, call: ast.Call) -> str | None:
    """Return `name.append(value)` of such a list; None for any other call."""
    function = call.func
    if not isinstance(function, ast.Attribute) or not is_grown(code, function.value):
        return None
    assert isinstance(function.value, ast.Name)
    name = function.value.id
    if function.attr in CHANGING:
        raise code.refusal(call, f"`{name}.{function.attr}` of a list whose length depends on values", "use append")
    dtype, _ = _element(code, name)
    return f"{name} = {name}.write({name}.size(), {code.tensor(call.args[0], dtype)})"


def stacked(code: Any, node: ast.expr, dtype: str = "") -> str:
    """Return such a list as a tensor."""
    assert isinstance(node, ast.Name)
    own, _ = _element(code, node.id)
    return f"{node.id}.stack()" if dtype in ("", own) else f"tf.cast({node.id}.stack(), tf.{dtype})"


def write_call_of_list(code: Any, node: ast.Call) -> str | None:
    """Return a call that is given such a list; None for one that has no rule."""
    name = name_of(code.value_of(node.func))
    is_reduced = name in REDUCED and len(node.args) == 1 and not node.keywords
    if is_reduced and isinstance(node.args[0], ast.ListComp) and code.observed.decides(code.source, node.args[0]):
        return f"{_reducing(code, name, node)}({code.write(node.args[0])})"
    if not node.args or not is_grown(code, node.args[0]):
        return None
    first = node.args[0]
    assert isinstance(first, ast.Name)
    if name == "len":
        return f"tf.cast({first.id}.size(), tf.int64)"
    if name in STACKING and (name != "np.stack" or len(node.args) + len(node.keywords) == 1):
        return stacked(code, first, code.dtype(node))
    if is_reduced:
        return f"{_reducing(code, name, node)}({first.id}.stack())"
    if name == "np.concatenate" and len(node.args) + len(node.keywords) == 1:
        return f"{first.id}.concat()"
    if name == "np.vstack" and len(_element(code, first.id)[1]) == 1:
        return f"{first.id}.stack()"
    if name == "list":
        return str(code.write(first))
    return None


def _reducing(code: Any, name: str, node: ast.Call) -> str:
    """Return the function that reduces a list as one of Python's does, also if it contains NaN."""
    is_extreme = name in ("max", "min") and code.dtype(node).startswith("float")
    return code.use(f"python_{name}_of") if is_extreme else REDUCED[name]


def write_item_of_list(code: Any, node: ast.Subscript) -> str | None:
    """Return `name[place]` of such a list."""
    if not is_grown(code, node.value):
        return None
    assert isinstance(node.value, ast.Name)
    name = node.value.id
    if isinstance(node.slice, ast.Slice) or code.rank(node.slice):
        return f"{name}.stack()[{code.write(node.slice)}]"
    if isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.operand, ast.Constant):
        return f"{name}.read({name}.size() - {node.slice.operand.value!r})"
    if code.is_tensor(node.slice):
        return f"{name}.read(tf.cast({code.write(node.slice)}, tf.int32))"
    return f"{name}.read({code.write(node.slice)})"


def refuse_lost(code: Any, node: ast.AugAssign) -> None:
    """Refuse `name += [...]` of such a list."""
    if is_grown(code, node.target):
        raise code.refusal(node, f"`{ast.unparse(node)}` of a list whose length depends on values", "use append")


def is_empty_test(code: Any, node: ast.expr) -> str:
    """Return the text of a condition on such a list; empty for any other."""
    return f"{node.id}.size() > 0" if is_grown(code, node) and isinstance(node, ast.Name) else ""
