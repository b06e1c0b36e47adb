"""Operators, indices, comparisons and truth of text and lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopbench.model.function_source import every_name
from pyopbench.ports.arrays import STRING
from pyopbench.ports.porting import operators
from pyopbench.ports.porting.kinds import NUMBERS, dtype_of_kind
from pyopbench.ports.text import methods
from pyopbench.ports.text.patterns import literal

if TYPE_CHECKING:
    from pyopbench.ports.text.code import TextCode


NOT_COMPARED = ("set", "dict", "counter", "none", "other")


def write_binary(code: TextCode, node: ast.BinOp) -> str | None:
    """Return `a + b` of text or lists, `[x] * n`, and `text % values`."""
    left, right = code.kind(node.left), code.kind(node.right)
    if left is None or right is None:
        return None
    if left.is_text or right.is_text:
        if isinstance(node.op, ast.Add):
            return code.as_it_stands(node)
        if isinstance(node.op, ast.Mod):
            return _percent(code, node)
        raise code.refusal(node, f"`{ast.unparse(node)}` of text is not supported", "use join")
    if left.is_sequence or right.is_sequence:
        return _of_lists(code, node)
    if isinstance(node.op, ast.Div) and code.depends(node.right) and {left.name, right.name} <= {"int", "float"}:
        return _quotient(code, node)
    if isinstance(node.op, ast.LShift | ast.RShift) and code.leaf_dtype(node) == "int64":
        sides = ", ".join(code.item(one, "int64") for one in (node.left, node.right))
        return f"tf.bitwise.{'left' if isinstance(node.op, ast.LShift) else 'right'}_shift({sides})"
    if "set" in (left.name, right.name) or "counter" in (left.name, right.name):
        raise code.refusal(node, f"`{ast.unparse(node)}` of sets is not supported", "compare the lists")
    return operators.write_binary(code, node)


def _quotient(code: TextCode, node: ast.BinOp) -> str:
    """Return a quotient of Python's numbers, which raises an error where that does."""
    sides = [
        f"tf.cast({code.write(one)}, tf.float64)" if code.depends(one) else code.write(one)
        for one in (node.left, node.right)
    ]
    is_largest = isinstance(node.right, ast.Call) and code.named(node.right.func) == "max"
    given = node.right.args if is_largest and isinstance(node.right, ast.Call) else []
    bounds = [one.value for one in given if isinstance(one, ast.Constant)]
    is_positive = any(isinstance(one, int | float) and one > 0 for one in bounds)
    divisor = sides[1] if is_positive else f"{code.use('_not_zero')}({sides[1]})"
    return (
        f"{_bracketed(node.left, sides[0])} / {divisor}"
        if code.depends(node.left)
        else (f"tf.constant({sides[0]}, tf.float64) / {divisor}")
    )


def _of_lists(code: TextCode, node: ast.BinOp) -> str | None:
    kinds = [code.kind(node.left), code.kind(node.right)]
    if not all(one is not None and (one.is_sequence or one.name in NUMBERS) for one in kinds):
        return operators.write_binary(code, node)  # an array and a list
    if not code.is_dynamic(node):
        return None
    several, times = (
        (node.left, node.right) if kinds[0] is not None and kinds[0].is_sequence else (node.right, node.left)
    )
    known = [
        found
        for one in (node, node.left, node.right)
        if (kind := code.kind(one)) is not None and kind.is_sequence and (found := dtype_of_kind(kind.leaf))
    ]
    dtype = known[0] if known else code.leaf_dtype(node)
    if isinstance(node.op, ast.Add):
        parts = ", ".join(code.listed(one, dtype) for one in _summands(code, node))
        return f"tf.concat([{parts}], 0)"
    # A count below 0 is one of 0.
    count = f"tf.maximum({code.write(times)}, 0)" if code.depends(times) else code.write(times)
    if isinstance(several, ast.List) and len(several.elts) == 1:
        return f"tf.fill([{count}], {code.item(several.elts[0], dtype)})"
    return f"tf.tile({code.listed(several, dtype)}, [{count}])"


def _summands(code: TextCode, node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_summands(code, node.left), *_summands(code, node.right)]
    return [node]


# Formatting.


def write_joined(code: TextCode, node: ast.JoinedStr) -> str:
    """Return an f-string of simple values."""
    parts = []
    for one in node.values:
        if isinstance(one, ast.Constant):
            parts.append(literal(str(one.value)))
            continue
        assert isinstance(one, ast.FormattedValue)
        specification = ""
        if one.format_spec is not None:
            found = one.format_spec
            if not (isinstance(found, ast.JoinedStr) and all(isinstance(part, ast.Constant) for part in found.values)):
                raise code.refusal(node, "an f-string with a width that is computed is not supported")
            specification = "".join(str(part.value) for part in found.values)  # type: ignore[attr-defined]
        if one.conversion != -1:
            raise code.refusal(node, "an f-string with `!r` is not supported")
        parts.append(_formatted(code, node, _placed(code, node, one.value), specification))
    return f"tf.strings.join([{', '.join(parts)}])"


def _placed(code: TextCode, node: ast.JoinedStr, value: ast.expr) -> ast.expr:
    """Return a value of an f-string: before Python 3.12 the tree does not say where it stands."""
    if isinstance(value, ast.Name):
        return value
    raise code.refusal(node, f"an f-string with `{ast.unparse(value)}` is not supported", "give it a name before")


def _percent(code: TextCode, node: ast.BinOp) -> str:
    template = code.constant(node.left)
    if not isinstance(template, str):
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "use an f-string")
    values = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
    parts = []
    position = 0
    for found in re.finditer(r"%(%|s|d|i|0\d+d|\.\d+f)|%", template):
        if found[1] is None:
            raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "use an f-string")
        if found.start() > position:
            parts.append(literal(template[position : found.start()]))
        position = found.end()
        if found[1] == "%":
            parts.append('"%"')
        elif values:
            specification = "" if found[1] == "s" else found[1].replace("i", "d")
            parts.append(_formatted(code, node, values.pop(0), specification))
    if position < len(template):
        parts.append(literal(template[position:]))
    return f"tf.strings.join([{', '.join(parts)}])"


def _formatted(code: TextCode, node: ast.expr, value: ast.expr, specification: str) -> str:
    """Return a value as it is formatted, as a tensor of text."""
    kind = _kind_in_text(code, value)
    if not code.depends(value) and not (isinstance(value, ast.Name) and code.name_depends(value.id)):
        return f'format({ast.unparse(value)}, "{specification}")'
    text = value.id if isinstance(value, ast.Name) else code.write(value)
    if kind == "str" and specification in ("", "s"):
        return text
    if kind in ("int", "array") and specification in ("", "d"):
        return f"tf.strings.as_string({text})"
    digits = specification.removeprefix("0").removesuffix("d")
    if kind == "int" and specification.startswith("0") and specification.endswith("d") and digits.isdigit():
        return f'tf.strings.as_string({text}, width={digits}, fill="0")'
    digits = specification.removeprefix(".").removesuffix("f")
    if kind == "float" and specification.startswith(".") and specification.endswith("f") and digits.isdigit():
        return f"{code.use('_decimals')}({text}, {digits})"
    if kind == "bool" and not specification:
        return f'tf.where({text}, "True", "False")'
    fix = "give a number of digits: {x:.3f}" if kind == "float" else ""
    raise code.refusal(node, f"`{ast.unparse(value)}` of {kind or 'an unknown kind'} as text is not supported", fix)


def _kind_in_text(code: TextCode, value: ast.expr) -> str:
    kind = code.kind(value)
    if kind is None and isinstance(value, ast.Name) and code.unit is not None:
        found = {
            one.name
            for node in ast.walk(code.unit.node)
            if isinstance(node, ast.Name) and node.id == value.id and (one := code.kind(node)) is not None
        }
        return found.pop() if len(found) == 1 else ""
    if kind is not None and kind.name == "array" and (kind.rank or not kind.dtype.startswith(("int", "uint"))):
        return "an array"
    return "" if kind is None else kind.name


# Comparisons.


def write_comparison(code: TextCode, node: ast.Compare) -> str | None:
    """Return a comparison of text or lists."""
    if len(node.ops) > 1:
        if any(map(code.text_kind, (node.left, *node.comparators))):
            raise code.refusal(node, f"`{ast.unparse(node)}` has no counterpart in TensorFlow", "write it with `and`")
        return operators.write_comparison(code, node)
    (operator,), (right,) = node.ops, node.comparators
    if isinstance(operator, ast.In | ast.NotIn):
        found = contains(code, node, node.left, right)
        return found if isinstance(operator, ast.In) else f"tf.logical_not({found})"
    if isinstance(operator, ast.Is | ast.IsNot):
        return None
    kinds = [code.kind(one) for one in (node.left, right)]
    if any(one is None for one in kinds):
        return None
    left, other = kinds
    assert left is not None
    assert other is not None
    if left.name in NOT_COMPARED or other.name in NOT_COMPARED:
        raise code.refusal(node, f"`{ast.unparse(node)}` compares sets or dicts, which is not supported")
    texts = {code.text_kind(node.left), code.text_kind(right)}
    if texts != {""}:
        if "" in texts or len(texts) > 1:
            raise code.refusal(
                node,
                f"`{ast.unparse(node)}` compares text with another kind of value, which is never equal",
                "decode the bytes",
            )
        if not isinstance(operator, ast.Eq | ast.NotEq):
            raise code.refusal(
                node, f"`{ast.unparse(node)}` compares the order of texts, and TensorFlow does not order text"
            )
        return _equal(code, node, right)
    if left.is_sequence or other.is_sequence:
        raise code.refusal(node, f"`{ast.unparse(node)}` compares lists, which is not supported")
    return operators.write_comparison(code, node)


def _equal(code: TextCode, node: ast.Compare, right: ast.expr) -> str:
    kinds = [code.kind(node.left), code.kind(right)]
    if any(one is not None and one.is_sequence for one in kinds):
        raise code.refusal(node, f"`{ast.unparse(node)}` compares lists, which is not supported", "compare each item")
    sides = [code.write(one) for one in (node.left, right)]
    return f"tf.{'equal' if isinstance(node.ops[0], ast.Eq) else 'not_equal'}({', '.join(sides)})"


def _bracketed(node: ast.expr, text: str) -> str:
    return text if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Subscript) else f"({text})"


def _is_number(code: TextCode, node: ast.expr) -> bool:
    kind = code.kind(node)
    return kind is not None and (kind.name in NUMBERS or (kind.name == "array" and kind.dtype != STRING))


def contains(code: TextCode, node: ast.expr, part: ast.expr, whole: ast.expr) -> str:
    """Return whether a text is a part of another, or an item of a list or a key of a dict."""
    kind = code.kind(whole)
    if kind is not None and kind.is_text:
        return _in_text(code, node, part, whole)
    if not code.depends(whole):
        return _in_constant(code, node, part, whole)
    if kind is not None and kind.name == "set" and kind.leaf is not None and kind.leaf.name in ("str", "bytes", "int"):
        same = code.kind(part)
        _require_same_kind(code, node, same.name if same is not None else "", kind.leaf.name)
        return f"tf.reduce_any(tf.equal({code.write(whole)}, {code.write(part)}))"
    if kind is None or not (kind.is_sequence or kind.name == "array"):
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "look it up in a list")
    text = code.listed(whole) if kind.is_sequence else code.write(whole)
    if kind.is_sequence and dtype_of_kind(kind.leaf) == STRING:
        _require_same_kind(code, node, code.text_kind(part), code.text_kind(whole))
    elif kind.is_sequence and _is_number(code, part):
        return f"tf.reduce_any(tf.equal({text}, {code.tensor(part, dtype_of_kind(kind.leaf))}))"
    return f"tf.reduce_any(tf.equal({text}, {code.write(part)}))"


def _in_text(code: TextCode, node: ast.expr, part: ast.expr, whole: ast.expr) -> str:
    of_whole = code.kind(whole)
    of_part = code.kind(part)
    if of_part is None or of_whole is None or of_part.name != of_whole.name:
        raise code.refusal(
            node, f"`{ast.unparse(node)}` looks for something that is not text of the same kind", "decode the bytes"
        )
    value = code.constant(part)
    if value is not ...:
        return methods.matches(code, whole, methods.any_of(code, whole), value, methods.any_of(code, whole))
    return f"{code.use('_contains')}({code.write(whole)}, {code.write(part)})"


def _in_constant(code: TextCode, node: ast.expr, part: ast.expr, whole: ast.expr) -> str:
    value = code.constant(whole)
    words = list(value) if value is not ... and isinstance(value, list | tuple | set | frozenset | dict) else None
    if words is None and isinstance(value, np.ndarray) and value.ndim == 1:
        words = value.tolist()
    if words is None and isinstance(value, str | bytes):
        raise code.refusal(
            node,
            f"`{ast.unparse(node)}` looks in a constant for a value that depends on an input",
            "use a list of its characters",
        )
    if words is None:
        raise code.refusal(
            node,
            f"`{ast.unparse(whole)}` is not known when the port is written",
            "define it at the top level of the file",
        )
    kinds = {type(one).__name__ for one in words}
    of_part = code.kind(part)
    if not words:
        raise code.refusal(node, f"`{ast.unparse(whole)}` is empty")
    if of_part is None or kinds != {of_part.name}:
        raise code.refusal(
            node,
            f"`{ast.unparse(node)}` asks for {of_part.name if of_part else 'what'} among "
            f"{' and '.join(sorted(kinds))}, which is never there",
            "decode the bytes",
        )
    if isinstance(whole, ast.Name | ast.Attribute) and of_part.name in ("str", "bytes"):
        return f"{methods.places_table(code, whole)}.lookup({code.write(part)}) >= 0"
    text = code.write(part)
    if isinstance(whole, ast.List | ast.Tuple | ast.Set) and len(words) <= 4:
        return " | ".join(f"tf.equal({text}, {code.write(one)})" for one in whole.elts)
    if code.vectors:
        raise code.refusal(node, f"`{ast.unparse(whole)}` is not at the top level of the file", "define it there")
    return f"tf.reduce_any(tf.equal({text}, {sorted(set(words))!r}))"


def _require_same_kind(code: TextCode, node: ast.expr, one: str, other: str) -> None:
    if one != other:
        raise code.refusal(
            node,
            f"`{ast.unparse(node)}` compares {one or 'something that is not text'} with {other}, which are never equal",
            "decode the bytes",
        )


# Truth.


def truth_of(code: TextCode, node: ast.expr) -> str | None:
    """Return the truth of text, a list or a match of a pattern; None for anything else."""
    if isinstance(node, ast.BoolOp) or not code.depends(node):
        return None
    kind = code.kind(node)
    if kind is None:
        return None
    if isinstance(node, ast.Call) and (found := methods.matched(code, node)) is not None:
        return found
    if kind.is_text:
        return f'tf.not_equal({code.write(node)}, "")'
    if code.is_dynamic(node):
        return f"(tf.shape({code.write(node)})[0] > 0)"
    if kind.is_sequence:
        return f"bool({code.write(node)})"
    if kind.name in NUMBERS or kind.name == "array":
        return None
    raise code.refusal(node, f"`{ast.unparse(node)}` is used as a truth value, which is not supported")


def write_all(code: TextCode, node: ast.BoolOp) -> str:
    """Return `a and b` for all items at once."""
    sign = " & " if isinstance(node.op, ast.And) else " | "
    return sign.join(f"({code.truth(one)})" for one in node.values)


def write_choices(code: TextCode, node: ast.IfExp) -> str:
    """Return `a if x else b` for all items at once."""
    dtype = code.leaf_dtype(node)
    return f"tf.where({code.truth(node.test)}, {code.item(node.body, dtype)}, {code.item(node.orelse, dtype)})"


# Indices.


def write_subscript(code: TextCode, node: ast.Subscript) -> str | None:
    """Return `text[i]`, `text[a:b]` and the like of lists; and `table[key]`."""
    kind = code.kind(node.value)
    if kind is None:
        return None
    if kind.name in ("dict", "counter"):
        return methods.looked_up(code, node, node.value, node.slice, None)
    if kind.is_text:
        return _of_text(code, node)
    if kind.is_sequence:
        return _of_list(code, node)
    if kind.name == "array" and kind.dtype == STRING and not code.depends(node.value):
        return _of_list(code, node)
    return None


def _of_text(code: TextCode, node: ast.Subscript) -> str:
    text, unit = code.write(node.value), code.unit_of(node.value)
    key = node.slice
    if not isinstance(key, ast.Slice):
        place = code.write(key)
        if code.text_kind(node.value) == "bytes":
            return f"tf.cast(tf.io.decode_raw({text}, tf.uint8)[{place}], tf.int64)"
        return f"{code.use('_character')}({text}, {place})"
    bounds = [code.constant(one) if one is not None else None for one in (key.lower, key.upper, key.step)]
    if bounds[2] == -1 and bounds[:2] == [None, None]:
        split = "tf.strings.bytes_split" if unit == "BYTE" else "tf.strings.unicode_split"
        encoding = "" if unit == "BYTE" else ', "UTF-8"'
        return f"tf.strings.reduce_join(tf.reverse({split}({text}{encoding}), [0]))"
    if bounds[2] not in (None, 1):
        raise code.refusal(node, f"`{ast.unparse(node)}` has a step", "slice without a step")
    counted = "" if unit == "BYTE" else f', unit="{unit}"'
    if bounds[0] in (None, 0) and isinstance(bounds[1], int) and bounds[1] >= 0:
        return f"tf.strings.substr({text}, 0, {bounds[1]}{counted})"
    lower = "0" if key.lower is None else code.write(key.lower)
    upper = "None" if key.upper is None else code.write(key.upper)
    return f'{code.use("_slice")}({text}, {lower}, {upper}, "{unit}")'


def _of_list(code: TextCode, node: ast.Subscript) -> str | None:
    key = node.slice
    if isinstance(key, ast.Slice):
        if not code.is_dynamic(node):
            return None
        text = code.atom(node.value) if code.is_dynamic(node.value) else code.listed(node.value)
        return f"{text}[{_slice(code, key)}]"
    if code.is_dynamic(node.value):
        return f"{code.atom(node.value)}[{code.write(key)}]"
    if not code.depends(key):
        return None
    kind = code.kind(node.value)
    dtype = kind.dtype if kind is not None and kind.name == "array" else dtype_of_kind(kind.leaf if kind else None)
    if not dtype or (kind is not None and kind.depth != 1):
        raise code.refusal(node, f"`{ast.unparse(node)}` selects among values that are neither numbers nor text")
    text = code.listed(node.value) if code.depends(node.value) else f"tf.constant({code.write(node.value)}, tf.{dtype})"
    return f"{text}[{code.write(key)}]"


def _slice(code: TextCode, key: ast.Slice) -> str:
    parts = ["" if one is None else code.write(one) for one in (key.lower, key.upper)]
    return ":".join(parts) + ("" if key.step is None else f":{code.write(key.step)}")


# What is the same for each item.


def is_elementwise(code: TextCode, nodes: Sequence[ast.expr], names: set[str]) -> bool:
    """Can expressions of names be written for all items at once?"""
    return all(_is_elementwise(code, one, names) for one in nodes)


def _may_raise(code: TextCode, node: ast.expr) -> bool:
    """May an expression raise an error for some text?"""
    return any(
        isinstance(one, ast.Subscript) or (isinstance(one, ast.Call) and code.named(one.func) in ("int", "float"))
        for one in ast.walk(node)
    )


def _is_elementwise(code: TextCode, node: Any, names: set[str]) -> bool:
    own = every_name(node) & names
    if not own:
        # Another tensor of text would be broadcast against all items, which is right for what has no axes.
        kind = code.kind(node)
        return kind is not None and not code.depends(node)
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.BinOp):
        kinds = [code.kind(one) for one in (node.left, node.right)]
        if any(one is None or not (one.is_text or one.name in NUMBERS) for one in kinds):
            return False
        plain = isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div)
        return plain and all(_is_elementwise(code, one, names) for one in (node.left, node.right))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        (operator,), (right,) = node.ops, node.comparators
        if isinstance(operator, ast.In | ast.NotIn):
            kind = code.kind(right)
            if kind is not None and kind.is_text:
                return _is_elementwise(code, right, names) and code.constant(node.left) is not ...
            few = isinstance(right, ast.List | ast.Tuple | ast.Set) and len(right.elts) <= 4
            return (
                not code.depends(right)
                and _is_elementwise(code, node.left, names)
                and (few or isinstance(right, ast.Name | ast.Attribute))
            )
        return all(_is_elementwise(code, one, names) for one in (node.left, right))
    if isinstance(node, ast.UnaryOp):
        return _is_elementwise(code, node.operand, names)
    if isinstance(node, ast.BoolOp):
        # All of them are computed, so that none but the first may raise.
        raises = any(_may_raise(code, one) for one in node.values[1:])
        return not raises and all(_is_elementwise(code, one, names) for one in node.values)
    if isinstance(node, ast.IfExp):
        # Both sides are computed, so that neither may raise.
        sides = all(isinstance(one, ast.Name | ast.Constant) for one in (node.body, node.orelse))
        return sides and all(_is_elementwise(code, one, names) for one in (node.test, node.body, node.orelse))
    if isinstance(node, ast.Subscript):
        kind = code.kind(node.value)
        if kind is not None and kind.name == "dict":
            return _is_elementwise(code, node.slice, names)
        upper = code.constant(node.slice.upper) if isinstance(node.slice, ast.Slice) else ...
        is_head = isinstance(node.slice, ast.Slice) and node.slice.lower is None and node.slice.step is None
        return (
            kind is not None
            and kind.is_text
            and is_head
            and isinstance(upper, int)
            and upper >= 0
            and _is_elementwise(code, node.value, names)
        )
    if isinstance(node, ast.Call):
        return methods.is_elementwise(code, node, lambda one: _is_elementwise(code, one, names))
    return False
