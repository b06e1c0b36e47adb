"""Methods of text, regular expressions and tables in TensorFlow's string ops."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopbench.ports.arrays import STRING
from pyopbench.ports.porting.kinds import NUMBERS
from pyopbench.ports.text.patterns import (
    MARK,
    SPACES,
    NotInRE2,
    escaped,
    helpers_of,
    in_class,
    literal,
    pattern_of,
    source_of,
    template_of,
)

if TYPE_CHECKING:
    from pyopbench.ports.text.code import TextCode

SPACES_OF_BYTES = r"\t-\r "
TESTS = {
    "isdigit": ("0-9", "isdigit"), "isalpha": ("A-Za-z", "isalpha"), "isalnum": ("0-9A-Za-z", "isalnum"),
    "isspace": (SPACES_OF_BYTES, "isspace"), "isdecimal": ("", "isdecimal"), "isnumeric": ("", "isnumeric"),
}  # fmt: skip
"""Of what all characters of a text have to be one: ranges of bytes, and the method of `str`."""

UTF8 = ("utf-8", "utf8", "utf_8", "u8")
ASCII, LATIN = ("ascii", "us-ascii"), ("latin-1", "latin1", "iso-8859-1", "l1")

ELEMENTWISE = {
    "lower", "upper", "strip", "lstrip", "rstrip", "replace", "startswith", "endswith", "decode", "encode", *TESTS,
}  # fmt: skip


def write_method(code: TextCode, node: ast.Call, receiver: ast.expr, name: str, arguments: list[ast.expr]) -> str:
    """Return a method of text, or a function of `np.char` of arrays of it."""
    write = METHODS.get(name)
    if node.keywords and name not in ("split", "decode", "encode"):
        raise code.refusal(node, f"`{ast.unparse(node)}` has an argument by name", "give it by position")
    if write is None:
        raise code.refusal(node, f"`.{name}()` of text has no counterpart in TensorFlow")
    return write(code, node, receiver, arguments)


def of_bytes(code: TextCode, node: ast.expr) -> bool:
    """Is it text of bytes?"""
    return code.text_kind(node) == "bytes"


def _required(code: TextCode, node: ast.expr, argument: ast.expr, what: str) -> str:
    """Return an argument that has to be known while this is written, as text."""
    value = code.constant(argument)
    if value is ... or not isinstance(value, str | bytes):
        raise code.refusal(
            node,
            f"`{ast.unparse(argument)}` is {what}, and not known when the port is written",
            "define it at the top level of the file",
        )
    return text_of(code, node, value)


def text_of(code: TextCode, node: ast.expr, value: str | bytes) -> str:
    """Return text, of bytes too, as a text of characters."""
    try:
        return value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        raise code.refusal(node, f"`{value!r}` is not UTF-8") from None


def pattern(code: TextCode, text: str) -> str:
    """Return the source of a pattern that is written here, and have written what it reads."""
    for one in helpers_of(text):
        code.use(one)
    return source_of(text)


def any_of(code: TextCode, node: ast.expr) -> str:
    """Return a pattern of any text: of bytes each may be anything, of `str` there are characters."""
    return r"\C*" if of_bytes(code, node) else "(?s:.*)"


def matches(code: TextCode, node: ast.expr, before: str, value: Any, behind: str) -> str:
    """Return whether a text is one with others around it."""
    try:
        text = before + escaped(text_of(code, node, value)) + behind
    except NotInRE2 as error:
        raise code.refusal(node, str(error)) from None
    return f"tf.strings.regex_full_match({code.write(node)}, {pattern(code, text)})"


def _in_case(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    name = getattr(node.func, "attr", "lower")
    function = f"tf.strings.{'lower' if name in ('lower', 'casefold') else 'upper'}"
    if of_bytes(code, receiver):
        return f"{function}({code.write(receiver)})"
    return f"{code.use('_in_case')}({code.write(receiver)}, {function})"


def _strip(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    name = getattr(node.func, "attr", "strip")
    text = code.write(receiver)
    value = code.constant(arguments[0]) if arguments else None
    if value is None:
        if of_bytes(code, receiver) and name == "strip":
            return f"tf.strings.strip({text})"
        inside = SPACES_OF_BYTES if of_bytes(code, receiver) else f"{MARK}{SPACES}{MARK}"
    else:
        chars = _required(code, node, arguments[0], "what is stripped")
        if not chars:
            return text
        if of_bytes(code, receiver) and not chars.isascii():
            raise code.refusal(node, "bytes outside ASCII are stripped one by one", "decode the bytes first")
        inside = "".join(in_class(ord(one)) for one in dict.fromkeys(chars))
    ends = {"strip": rf"\A[{inside}]+|[{inside}]+\z", "lstrip": rf"\A[{inside}]+", "rstrip": rf"[{inside}]+\z"}
    return f'tf.strings.regex_replace({text}, {pattern(code, ends[name])}, "")'


def _split(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    text = code.write(receiver)
    options = {one.arg: one.value for one in node.keywords}
    separator = arguments[0] if arguments else options.get("sep")
    most = arguments[1] if len(arguments) > 1 else options.get("maxsplit")
    limit = ""
    if most is not None:
        count = code.constant(most)
        if not isinstance(count, int):
            raise code.refusal(node, "`maxsplit` is not known when the port is written")
        limit = f", maxsplit={count}" if count >= 0 else ""
        if count == 0:
            raise code.refusal(node, "`maxsplit=0` is not supported")
    value = code.constant(separator) if separator is not None else None
    if getattr(node.func, "attr", "") == "rsplit" and limit:
        raise code.refusal(node, "`rsplit` with a limit is not supported", "split, and join all but the last")
    if value is None:
        if of_bytes(code, receiver):
            return f"tf.strings.split({text}{limit})"
        if limit:
            raise code.refusal(node, "`split(None, n)` of `str` is not supported", "split bytes, or by one character")
        return f'tf.strings.split(tf.strings.regex_replace({text}, {pattern(code, f"[{MARK}{SPACES}{MARK}]+")}, " "))'
    if value is ...:
        assert separator is not None
        kind = code.kind(separator)
        if kind is None or not kind.is_text:  # one that may be None
            raise code.refusal(node, f"`{ast.unparse(separator)}` is not known when the port is written")
        return f"tf.strings.split({text}, {code.write(separator)}{limit})"
    if not value:
        raise code.refusal(node, "an empty separator raises an error")
    return f"tf.strings.split({text}, {literal(text_of(code, node, value))}{limit})"


def _starts(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    name = getattr(node.func, "attr", "startswith")
    if len(arguments) != 1:
        raise code.refusal(node, f"`.{name}` with a start position is not supported", "take a slice first")
    (given,) = arguments
    value = code.constant(given)
    rest = any_of(code, receiver)
    if value is ...:
        if name == "endswith":
            raise code.refusal(node, "`.endswith` of a value that is not known when the port is written")
        part = code.write(given)
        return f"tf.equal(tf.strings.substr({code.write(receiver)}, 0, tf.strings.length({part})), {part})"
    several = value if isinstance(value, tuple) else (value,)
    try:
        texts = [escaped(text_of(code, node, one)) for one in several]
    except NotInRE2 as error:
        raise code.refusal(node, str(error)) from None
    inner = texts[0] if len(texts) == 1 else f"(?:{'|'.join(texts)})"
    text = inner + rest if name == "startswith" else rest + inner
    return f"tf.strings.regex_full_match({code.write(receiver)}, {pattern(code, text)})"


def _replace(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    if len(arguments) < 2:
        raise code.refusal(node, "`.replace` without two texts")
    old = _required(code, node, arguments[0], "what is replaced")
    new = _required(code, node, arguments[1], "what replaces it").replace("\\", "\\\\")
    count = code.constant(arguments[2]) if len(arguments) > 2 else -1
    if not old or count not in (-1, 1):
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "replace every occurrence")
    once = ", replace_global=False" if count == 1 else ""
    try:
        source = pattern(code, escaped(old))
    except NotInRE2 as error:
        raise code.refusal(node, str(error)) from None
    return f"tf.strings.regex_replace({code.write(receiver)}, {source}, {literal(new)}{once})"


def _test(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    ranges, method = TESTS[getattr(node.func, "attr", "")]
    if not of_bytes(code, receiver):
        ranges = f"{MARK}{SPACES}{MARK}" if method == "isspace" else f"{MARK}_characters({method!r}){MARK}"
    return f"tf.strings.regex_full_match({code.write(receiver)}, {pattern(code, f'[{ranges}]+')})"


def _encoding(code: TextCode, node: ast.Call, arguments: list[ast.expr]) -> tuple[str, str]:
    options = {one.arg: one.value for one in node.keywords}
    given = [*arguments, *[None] * (2 - len(arguments))]
    values = []
    for argument, name, usual in ((given[0], "encoding", "utf-8"), (given[1], "errors", "strict")):
        found = argument if argument is not None else options.get(name)
        value = usual if found is None else code.constant(found)
        if not isinstance(value, str):
            raise code.refusal(node, f"the {name} is not known when the port is written")
        values.append(value.lower())
    return values[0], values[1]


def _decode(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    encoding, errors = _encoding(code, node, arguments)
    text = code.write(receiver)
    names = {**dict.fromkeys(UTF8, "UTF-8"), **dict.fromkeys(ASCII, "US-ASCII"), **dict.fromkeys(LATIN, "ISO-8859-1")}
    if encoding not in names or errors not in ("strict", "ignore", "replace"):
        raise code.refusal(node, f"decoding from {encoding} with errors={errors!r} is not supported", "decode UTF-8")
    if names[encoding] == "US-ASCII" and errors != "strict":
        raise code.refusal(node, "decoding from ASCII with an error handler is not supported", "decode UTF-8")
    return f'tf.strings.unicode_transcode({text}, "{names[encoding]}", "UTF-8", errors="{errors}")'


def _encode(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    encoding, errors = _encoding(code, node, arguments)
    text = code.write(receiver)
    if encoding in UTF8:
        return text
    if encoding in ASCII and errors == "ignore":
        return f'tf.strings.regex_replace({text}, r"[^\\x{{0}}-\\x{{7f}}]", "")'
    if encoding in ASCII and errors == "strict":
        return f'tf.strings.unicode_transcode({text}, "US-ASCII", "UTF-8", errors="strict")'
    raise code.refusal(node, f"encoding in {encoding} with errors={errors!r} is not supported", "encode in UTF-8")


def _join(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    separator = literal(_required(code, node, receiver, "what joins texts"))
    (items,) = arguments
    if isinstance(items, ast.GeneratorExp | ast.ListComp) and code.chooses(items):
        text = code.comprehension(items)
    elif code.is_long(items):
        text = code.items_of(items)
    else:
        text = code.write(items)
        text = f"list({text})" if isinstance(items, ast.GeneratorExp) else text
        return f"tf.strings.join({text}, separator={separator})"
    return (
        f"tf.strings.reduce_join({text}, separator={separator})"
        if separator != '""'
        else (f"tf.strings.reduce_join({text})")
    )


def _find(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    if len(arguments) != 1:
        raise code.refusal(node, "`.find` with a start position is not supported", "take a slice first")
    part = _required(code, node, arguments[0], "what is looked for")
    if not part:
        raise code.refusal(node, "`.find` of an empty text is not supported")
    return f'{code.use("_find")}({code.write(receiver)}, {literal(part)}, "{code.unit_of(receiver)}")'


def _count(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    if len(arguments) != 1:
        raise code.refusal(node, "`.count` with a start position is not supported", "take a slice first")
    part = _required(code, node, arguments[0], "what is counted")
    if not part:
        raise code.refusal(node, "`.count` of an empty text is not supported")
    return f"(tf.size(tf.strings.split({code.write(receiver)}, {literal(part)}), tf.int64) - 1)"


def _partition(code: TextCode, node: ast.Call, receiver: ast.expr, arguments: list[ast.expr]) -> str:
    separator = literal(_required(code, node, arguments[0], "the separator"))
    text = code.write(receiver)
    if not text.isidentifier():
        text = code.named_before("text", text)
    code.use("_part")
    return f"({', '.join(f'_part({text}, {separator}, {place})' for place in range(3))})"


METHODS: dict[str, Callable[[Any, ast.Call, ast.expr, list[ast.expr]], str]] = {
    "lower": _in_case, "upper": _in_case, "strip": _strip, "lstrip": _strip, "rstrip": _strip, "split": _split,
    "rsplit": _split, "startswith": _starts, "endswith": _starts, "replace": _replace, "decode": _decode,
    "encode": _encode, "join": _join, "find": _find, "count": _count, "partition": _partition,
    **dict.fromkeys(TESTS, _test),
}  # fmt: skip


# Regular expressions.


def write_regular(code: TextCode, node: ast.Call, name: str, compiled: Any, arguments: list[ast.expr]) -> str:
    """Return a function of `re`.

    Args:
        code: the writer.
        node: the call.
        name: of the function.
        compiled: the pattern.
        arguments: what is given to it behind the pattern.
    """
    text = arguments[1 if name == "sub" and len(arguments) > 1 else 0] if arguments else node
    expected = str if isinstance(compiled.pattern, str) else bytes
    if code.text_kind(text) != expected.__name__:
        raise code.refusal(node, "a pattern of text is used on bytes, or one of bytes on text", "decode the bytes")
    more = 2 if name == "sub" else 1
    if len(arguments) != more or any(one.arg != "flags" for one in node.keywords):
        raise code.refusal(node, f"`{ast.unparse(node)}` with a count is not supported", "leave it out")
    try:
        if name == "sub":
            return _substituted(code, node, compiled, arguments)
        found = pattern_of(compiled)
        for one in found.helpers:
            code.use(one)
        if expected is bytes:
            raise code.refusal(node, f"`re.{name}` of bytes is not supported", "decode the bytes")
        written = code.write(text)
        if name == "split" and not compiled.groups:
            # A byte that no text of UTF-8 has.
            marked = f'tf.strings.regex_replace({written}, {found.source}, b"\\xff")'
            return f'tf.strings.split({marked}, b"\\xff")'
        if name == "findall" and compiled.groups < 2:
            marked = f'tf.strings.regex_replace({written}, {found.source}, b"\\xff\\\\{compiled.groups}\\xfe")'
            parts = f'tf.strings.split({marked}, b"\\xff")[1:]'
            return f'tf.strings.split({parts}, b"\\xfe")[:, :1].flat_values'
        raise code.refusal(node, f"`{ast.unparse(node)}` with groups is not supported", "write (?:...)")
    except NotInRE2 as error:
        raise code.refusal(node, f"the pattern has no equivalent in TensorFlow's RE2: {error}") from None


def _substituted(code: TextCode, node: ast.Call, compiled: Any, arguments: list[ast.expr]) -> str:
    value = code.constant(arguments[0])
    if not isinstance(value, str | bytes):
        raise code.refusal(
            node, "the replacement is a function, or is not known when the port is written", "write a text"
        )
    found, template = pattern_of(compiled), template_of(value, compiled)
    for one in found.helpers:
        code.use(one)
    return f"tf.strings.regex_replace({code.write(arguments[1])}, {found.source}, {literal(template)})"


def matched(code: TextCode, node: ast.Call) -> str | None:
    """Return whether `re.match` and its like find something; None for any other call."""
    found = regular(code, node)
    if found is None or found[0] not in ("match", "search", "fullmatch"):
        return None
    name, compiled, arguments = found
    if len(arguments) != 1 or any(one.arg != "flags" for one in node.keywords):
        raise code.refusal(node, f"`{ast.unparse(node)}` with a start position is not supported", "take a slice first")
    (text,) = arguments
    expected = "str" if isinstance(compiled.pattern, str) else "bytes"
    if code.text_kind(text) != expected:
        raise code.refusal(node, "a pattern of text is used on bytes, or one of bytes on text", "decode the bytes")
    rest = any_of(code, text)
    around = {"match": ("", rest), "search": (rest, rest), "fullmatch": ("", "")}[name]
    if name == "fullmatch":
        around = ("", r"\z")
    try:
        source = pattern_of(compiled, may_be_empty=True, around=around)
    except NotInRE2 as error:
        raise code.refusal(node, f"the pattern has no equivalent in TensorFlow's RE2: {error}") from None
    for one in source.helpers:
        code.use(one)
    return f"tf.strings.regex_full_match({code.write(text)}, {source.source})"


def regular(code: TextCode, node: ast.Call) -> tuple[str, Any, list[ast.expr]] | None:
    """Return the name, the pattern and the other arguments of a call of `re`; None for any other call."""
    function = node.func
    if not isinstance(function, ast.Attribute):
        return None
    home = code.value_of(function.value)
    options = {one.arg: one.value for one in node.keywords}
    if home is re:
        given = list(node.args)
        if not given:
            return None
        if function.attr not in ("sub", "split", "findall", "match", "search", "fullmatch", "compile"):
            raise code.refusal(node, f"`re.{function.attr}` has no counterpart in TensorFlow")
        value = code.constant(given[0])
        flags = code.constant(options["flags"]) if "flags" in options else 0
        position = {"sub": 4, "split": 3}.get(function.attr, 2)
        if len(given) > position:
            flags = code.constant(given.pop(position))
        if isinstance(value, re.Pattern):
            return function.attr, value, given[1:]
        if value is ... or flags is ...:
            raise code.refusal(
                node, "the pattern is not known when the port is written", "define it at the top level of the file"
            )
        try:
            return function.attr, re.compile(value, flags), given[1:]
        except re.error as error:
            raise code.refusal(node, f"the pattern is not valid: {error}") from None
    if isinstance(home, re.Pattern):
        return function.attr, home, list(node.args)
    if isinstance(function.value, ast.Call) and isinstance(function.value.func, ast.Attribute):
        inner = regular(code, function.value) if code.value_of(function.value.func.value) is re else None
        if inner is not None and inner[0] == "compile":
            return function.attr, inner[1], list(node.args)
    return None


# Tables.


def places_table(code: TextCode, node: ast.expr) -> str:
    """Return the name of a table that has the place of each word of a list of the file's, or key of a dict."""
    text = code.write(node)
    name = _table_name(code, node, "PLACES")
    code.use("_places_of")
    code.tables[name] = f"{name} = _places_of({text})"
    return name


def _table_name(code: TextCode, node: ast.expr, what: str) -> str:
    name = code.write(node).rpartition(".")[2].upper().lstrip("_")
    name = f"{name}_{what}"
    taken = {one for unit in code.units.in_order() for one in unit.reads | {unit.name}} | set(code.units.imports)
    while name in taken and name not in code.tables:
        name += "_"
    return name


def looked_up(code: TextCode, node: ast.expr, table: ast.expr, key: ast.expr, default: ast.expr | None) -> str:
    """Return `table[key]`, or `table.get(key, default)`."""
    value = code.constant(table)
    if not isinstance(value, dict) or not isinstance(table, ast.Name | ast.Attribute):
        raise code.refusal(
            node,
            f"`{ast.unparse(table)}` is not a dict at the top level of the file",
            "define it at the top level of the file",
        )
    if hasattr(type(value), "__missing__"):
        raise code.refusal(node, f"`{ast.unparse(table)}` creates missing values", "use .get with a default")
    keys = {type(one).__name__ for one in value}
    values = {type(one).__name__ for one in value.values()}
    given = code.kind(key)
    name = given.name if given is not None else ""
    name = "int" if given is not None and given.name == "array" and not given.rank else name
    if not value or keys != {name}:
        raise code.refusal(
            node,
            f"`{ast.unparse(key)}` is of {name or 'an unknown kind'}, and the keys are of "
            f"{' and '.join(sorted(keys)) or 'none'}",
            "decode the bytes, or give the dict keys of one kind",
        )
    dtypes = {**NUMBERS, "str": "string", "bytes": "string", "int64": "int64", "float32": "float32", "int32": "int32"}
    rows = _dtype_of_rows(list(value.values())) if values & {"list", "tuple", "ndarray"} else ""
    if not rows and (len(values) != 1 or not values <= dtypes.keys()):
        raise code.refusal(
            node,
            f"the values of `{ast.unparse(table)}` are of {' and '.join(sorted(values))}",
            "give it values of one kind of number or text, or arrays or lists of one shape",
        )
    if rows and default is not None:
        raise code.refusal(node, f"`{ast.unparse(node)}` has a default, and arrays as values", "test for the key first")
    dtype = rows or dtypes[values.pop()]
    text = code.write(table)
    if default is None:
        code.use("_present")
        places = places_table(code, table)
        found = _key(code, key)
        if not found.isidentifier():
            found = found if code.vectors else code.named_before("key", found)
        whole = f"list({text}.values())"
        what = f"tf.constant(np.array({whole}), tf.{dtype})" if rows else f"tf.constant({whole}, tf.{dtype})"
        return f"tf.gather({what}, _present({places}.lookup({found}), {found}))"
    fallback = code.constant(default)
    if isinstance(default, ast.Constant | ast.UnaryOp) and type(fallback) in (int, float, str, bytes, bool):
        fallback_dtype = dtypes[type(fallback).__name__]
        if fallback_dtype != dtype:
            raise code.refusal(
                node,
                f"the default of `{ast.unparse(node)}` is of another kind than the values",
                "give it one of the same kind",
            )
        suffix = re.sub(r"\W", "_", f"{fallback}")
        name = _table_name(code, table, "TABLE")
        key_dtype = "int64" if keys == {"int"} else "string"
        entry = _table(name, text, (key_dtype, dtype), code.write(default))
        if code.tables.get(name, entry) != entry:
            name = f"{name}_{suffix}"
            entry = _table(name, text, (key_dtype, dtype), code.write(default))
        code.tables[name] = entry
        return f"{name}.lookup({_key(code, key)})"
    places = places_table(code, table)
    found = _key(code, key)
    if code.vectors:
        raise code.refusal(
            node, f"the default of `{ast.unparse(node)}` is not known when the port is written", "write it as a number"
        )
    name = code.named_before("place", f"{places}.lookup({found})")
    what = f"tf.gather(tf.constant(list({text}.values()), tf.{dtype}), tf.maximum({name}, 0))"
    return f"tf.where({name} < 0, {code.item(default, dtype)}, {what})"


def _dtype_of_rows(values: Sequence[Any]) -> str:
    """Return the dtype of arrays, or lists of numbers, that are of one shape and dtype; empty for others."""
    try:
        arrays = [np.asarray(one) for one in values]
    except ValueError:  # rows of several lengths
        return ""
    kinds = {(one.shape, one.dtype) for one in arrays}
    (_, dtype), *others = kinds
    return "" if others or dtype.kind not in "biuf" else str(dtype.name)


def _key(code: TextCode, node: ast.expr) -> str:
    """Return a key as the tables have it, which hold whole numbers as int64."""
    kind = code.kind(node)
    is_narrow = kind is not None and kind.name == "array" and kind.dtype not in (STRING, "int64")
    return f"tf.cast({code.write(node)}, tf.int64)" if is_narrow else code.write(node)


def _table(name: str, text: str, dtypes: tuple[str, str], default: str) -> str:
    keys, values = f"tf.constant(list({text}), tf.{dtypes[0]})", f"tf.constant(list({text}.values()), tf.{dtypes[1]})"
    initializer = f"tf.lookup.KeyValueTensorInitializer({keys}, {values})"
    return f"{name} = tf.lookup.StaticHashTable({initializer}, {default})"


# What is the same for each item.


def is_elementwise(code: TextCode, node: ast.Call, inside: Callable[[ast.expr], bool]) -> bool:
    """Can a call be written for all items at once? `inside` says so of its parts."""
    function, arguments = node.func, list(node.args)
    free = all(code.constant(one) is not ... for one in [*arguments, *(one.value for one in node.keywords)])
    if isinstance(function, ast.Attribute):
        pattern_call = regular(code, node)
        if pattern_call is not None:
            name, _, texts = pattern_call
            return name == "sub" and len(texts) == 2 and code.constant(texts[0]) is not ... and inside(texts[1])
        kind = code.kind(function.value)
        if kind is not None and kind.is_text and function.attr in ELEMENTWISE:
            return free and inside(function.value)
        if kind is not None and kind.name == "dict" and function.attr == "get" and not code.depends(function.value):
            default = arguments[1] if len(arguments) == 2 else None
            return isinstance(default, ast.Constant | ast.UnaryOp) and inside(arguments[0])
        return False
    name = code.named(function)
    kind = code.kind(arguments[0]) if arguments else None
    if name in ("int", "float", "len", "np.float32", "np.int64", "np.int32", "np.float64") and len(arguments) == 1:
        of_text = kind is not None and (kind.is_text or (kind.name in NUMBERS and name != "len"))
        return of_text and not node.keywords and inside(arguments[0])
    return False
