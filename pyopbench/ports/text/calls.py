"""Calls in bodies on text: Python's functions, NumPy's of text, paths, and methods of lists and tables."""

from __future__ import annotations

import ast
import collections
import hashlib
import os
import posixpath
import types
import unicodedata
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopbench.model.function_source import has_unpacked
from pyopbench.ports.arrays import STRING
from pyopbench.ports.conversions import conversion_of
from pyopbench.ports.porting.grown_lists import REDUCED
from pyopbench.ports.porting.kinds import NUMBERS, Kind, dtype_of_kind
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.units import Unit
from pyopbench.ports.porting.watching import parameters_of
from pyopbench.ports.porting.writing_functions import unit_of
from pyopbench.ports.text import methods, operations
from pyopbench.ports.text.patterns import literal

if TYPE_CHECKING:
    from pyopbench.ports.text.code import TextCode

ARRAYS = ("np.array", "np.asarray", "np.asanyarray", "np.ascontiguousarray")
OF_CHAR = ("str_len", "add", "equal", "not_equal")
"""Functions of `np.char` that are no methods of text."""


def name_of_function(code: TextCode, node: ast.expr) -> str:
    """Return the name of a function of Python's or NumPy's, as tables have it; empty for anything else."""
    if isinstance(node, ast.Name) and not code.is_global(node):
        return ""
    value = code.value_of(node)
    return "" if value is None else name_of(value)


def write_call(code: TextCode, node: ast.Call) -> str | None:
    """Return a call of which something depends on an input and is text or a list; None for any other."""
    arguments = [one.value if isinstance(one, ast.Starred) else one for one in node.args]
    arguments += [one.value for one in node.keywords]
    function = node.func
    receiver = function.value if isinstance(function, ast.Attribute) else None
    if name_of_function(code, function) == "isinstance":
        return _isinstance(code, node)
    if not any(map(code._parts_depend, [*arguments, *([receiver] if receiver is not None else [])])):
        return None
    conversion = conversion_of(node, code.value_of)
    if conversion is not None:
        value, dtype = conversion
        return _as_array(code, node, value, dtype)
    _refuse_known(code, node)
    found = methods.regular(code, node)
    if found is not None:
        return methods.write_regular(code, node, *found)
    value = code.value_of(function)
    if value is not None and getattr(value, "__module__", "") in ("posixpath", "genericpath", "ntpath", "os"):
        return _path(code, node, value)
    called = None if code.unit is None else unit_of(code, code.unit, function)
    if called is not None:
        return _own_function(code, node, called)
    name = name_of_function(code, function)
    if name and not _is_of_char(value):
        return _named(code, node, name)
    if _is_of_char(value):
        if not isinstance(function, ast.Attribute) or value.__name__ not in (*methods.ELEMENTWISE, *OF_CHAR):
            raise code.refusal(node, f"`{ast.unparse(function)}` has no counterpart in TensorFlow", "call np.char.NAME")
        if value.__name__ in OF_CHAR:
            return _of_char(code, node, value.__name__)
        return methods.write_method(code, node, node.args[0], value.__name__, list(node.args[1:]))
    if isinstance(function, ast.Attribute):
        home = code.value_of(function.value)
        if not isinstance(home, types.ModuleType | type):
            return _method(code, node, function.value, function.attr)
    if value is not None:
        return _other(code, node, value)
    raise code.refusal(node, f"`{ast.unparse(function)}(...)` of a value that depends on an input is not supported")


def _is_of_char(value: Any) -> bool:
    return value is not None and (getattr(np.char, str(getattr(value, "__name__", "")), None) is value)


def _of_char(code: TextCode, node: ast.Call, name: str) -> str:
    if name == "str_len":
        unit = "" if code.text_kind(node.args[0]) == "str" else ', "BYTE"'
        return f"{code.use('_length')}({code.write(node.args[0])}{unit})"
    left, right = (code.write(one) for one in node.args)
    function = {"add": "tf.add", "equal": "tf.equal", "not_equal": "tf.not_equal"}[name]
    return f"{function}({left}, {right})"


def _refuse_known(code: TextCode, node: ast.Call) -> None:
    """Refuse functions that are known to have no equal, with the reason."""
    value = code.value_of(node.func)
    if value is hash:
        raise code.refusal(node, "`hash` of text differs from process to process", "use tf.strings.to_hash_bucket_fast")
    home = str(getattr(value, "__module__", "") or "")
    if value is not None and (
        home in ("hashlib", "_hashlib", "_md5", "_sha1", "_sha2", "_blake2")
        or any(value is getattr(hashlib, one, None) for one in hashlib.algorithms_guaranteed)
    ):
        raise code.refusal(
            node,
            f"`{ast.unparse(node.func)}` has no equivalent in TensorFlow",
            "hash the text before it becomes a tensor",
        )
    if value is unicodedata.normalize:
        raise code.refusal(
            node,
            "`unicodedata.normalize` has no equivalent in TensorFlow, only in the package tensorflow_text",
            "normalize the text before it becomes a tensor",
        )


def _isinstance(code: TextCode, node: ast.Call) -> str | None:
    kind = code.kind(node.args[0])
    wanted = code.value_of(node.args[1])
    several = [code.value_of(one) for one in node.args[1].elts] if isinstance(node.args[1], ast.Tuple) else [wanted]
    if kind is None or not code._parts_depend(node.args[0]):
        return None
    types: dict[str, Any] = {"str": str, "bytes": bytes, "int": int, "float": float, "bool": bool, "list": list,
                             "tuple": tuple, "array": np.ndarray}  # fmt: skip
    if kind.name not in types or any(one is None for one in several):
        raise code.refusal(node, f"`{ast.unparse(node)}` is not known when the port is written")
    return str(any(isinstance(one, type) and issubclass(types[kind.name], one) for one in several))


# Arrays.


def _as_array(code: TextCode, node: ast.Call, value: ast.expr, dtype: str) -> str:
    """Return what is made an array or a tensor: a tensor."""
    kind = code.kind(value)
    if isinstance(value, ast.GeneratorExp):
        return code.comprehension(value)
    if kind is None:
        return code.write(value)
    wanted = dtype or (_dtype_of(code, node))
    if kind.is_sequence and kind.depth > 1:
        if code.is_dynamic(value):
            raise code.refusal(node, f"`{ast.unparse(value)}` has rows of different lengths", "pad each row")
        return code.tensor(value, wanted)
    if kind.is_sequence:
        return code.listed(value, wanted)
    own = dtype_of_kind(kind)
    if not code.depends(value):
        return f"tf.constant({code.write(value)}{f', tf.{wanted}' if wanted else ''})"
    return code.write(value) if wanted in ("", own) else code.cast(value, own, wanted)


def _dtype_of(code: TextCode, node: ast.expr) -> str:
    kind = code.kind(node)
    return dtype_of_kind(kind) if kind is not None else ""


# Python's functions.


def _named(code: TextCode, node: ast.Call, name: str) -> str | None:
    """Return a function that tables have under a name; None for what is written as bodies on arrays have it."""
    arguments = node.args
    if name in ARRAYS and arguments:
        return _as_array(code, node, arguments[0], "")
    first = arguments[0] if arguments else None
    kind = code.kind(first) if first is not None else None
    if first is None or any(isinstance(one, ast.Starred) for one in arguments):
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "name each argument")
    generator = isinstance(first, ast.GeneratorExp)
    if name == "len" and not (kind is not None and kind.name == "array" and kind.dtype != STRING):
        return _length(code, first)
    if name in ("int", "float", "np.float32", "np.float64", "np.int32", "np.int64") and kind is not None:
        if len(arguments) > 1 or node.keywords:
            raise code.refusal(node, f"`{ast.unparse(node)}` with a base is not supported")
        if kind.is_text or (kind.name == "array" and kind.dtype == STRING):
            dtype = {"int": "int64", "float": "float64"}.get(name, name.removeprefix("np."))
            if dtype == "int32":
                return f"tf.cast({code.cast(first, STRING, 'int64')}, tf.int32)"
            return code.cast(first, STRING, dtype)
        return None
    if name == "str" and kind is not None:
        if kind.name == "bytes" and len(arguments) > 1:
            return methods.write_method(code, node, first, "decode", list(arguments[1:]))
        if kind.name == "bytes":
            raise code.refusal(node, "`str` of bytes returns their repr", "use .decode()")
        return operations._formatted(code, node, first, "") if kind.name != "str" else code.write(first)
    if name == "bytes" and kind is not None and kind.name == "str" and len(arguments) > 1:
        return methods.write_method(code, node, first, "encode", list(arguments[1:]))
    if name == "ord":
        text = code.write(first)
        if kind is not None and kind.name == "bytes":
            return f"tf.cast(tf.io.decode_raw({text}, tf.uint8)[0], tf.int64)"
        return f'tf.cast(tf.strings.unicode_decode({text}, "UTF-8")[0], tf.int64)'
    if name == "chr":
        return f'tf.strings.unicode_encode([tf.cast({code.write(first)}, tf.int32)], "UTF-8", errors="strict")'
    if name in ("list", "tuple") and len(arguments) == 1:
        if isinstance(first, ast.Call) and name_of_function(code, first.func) == "map":
            return code.write(first)
        if code.is_long(first) or generator:
            return code.items_of(first)
        return None
    if name == "map":
        return _mapped(code, node)
    if name in REDUCED and len(arguments) == 1:
        return _reduced(code, node, name, first)
    if name in ("max", "min") and len(arguments) > 1 and not node.keywords:
        dtype = code.leaf_dtype(node)
        found = code.item(first, dtype)
        for other in arguments[1:]:
            found = f"tf.{name}imum({found}, {code.item(other, dtype)})"
        return found
    if name == "range":
        if len(arguments) == 1:
            return f"range({code.write(first)})"
        return f"range({', '.join(code.item(one, 'int64') for one in arguments)})"
    if name in ("set", "frozenset") and code.is_long(first):
        return f"tf.unique({code.items_of(first)}).y"
    if name == "sorted" and code.is_long(first):
        if node.keywords or code.leaf_dtype(node) == STRING:
            raise code.refusal(node, f"`{ast.unparse(node)}` sorts text, and TensorFlow does not order text")
        return f"tf.sort({code.items_of(first)})"
    if name == "reversed" and code.is_long(first):
        return f"tf.reverse({code.items_of(first)}, [0])"
    if name in ("enumerate", "zip", "filter", "iter", "next") and any(map(code.is_long, arguments)):
        raise code.refusal(node, f"`{name}` is supported only in a `for` loop", "loop over it")
    is_stacked = name in ("np.stack", "np.vstack") and len(arguments) == 1 and not node.keywords
    if is_stacked and code.is_dynamic(first) and kind is not None and kind.depth == 2:
        return code.write(first)
    if name == "np.frombuffer":
        return _from_buffer(code, node)
    if name == "np.fromiter":
        return f"tf.cast({code.items_of(first)}, tf.{_dtype_of(code, node)})"
    if name in ("hasattr", "getattr", "type", "repr", "print", "dict"):
        raise code.refusal(node, f"`{name}` of a value that depends on an input is not supported")
    return None


def _length(code: TextCode, node: ast.expr) -> str | None:
    kind = code.kind(node)
    if kind is not None and (kind.is_text or (kind.dtype == STRING and kind.rank == 0)):
        unit = "" if code.text_kind(node) == "str" else ', "BYTE"'
        return f"{code.use('_length')}({code.write(node)}{unit})"
    if code.is_dynamic(node) or (kind is not None and kind.name in ("array", "set")):
        return f"tf.shape({code.write(node)}, tf.int64)[0]"
    if kind is not None and kind.is_sequence:
        return None
    if kind is not None and kind.name == "counter":
        raise code.refusal(node, "the length of a Counter is not supported", "use len(set(...))")
    return None


def _mapped(code: TextCode, node: ast.Call) -> str | None:
    function, items = node.args[0], node.args[-1]
    if len(node.args) != 2 or not code.is_long(items):
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "write a comprehension")
    name = name_of_function(code, function)
    kind = code.kind(items)
    leaf = kind.leaf if kind is not None and kind.is_sequence else None
    text = code.items_of(items)
    if leaf is not None and leaf.is_text:
        if name == "int":
            return f"{code.use('_whole_number')}({text})"
        if name == "float":
            return f"{code.use('_number')}({text})"
        if name == "len":
            unit = "" if leaf.name == "str" else ', "BYTE"'
            return f"{code.use('_length')}({text}{unit})"
    if leaf is not None and leaf.name == "int" and name == "str":
        return f"tf.strings.as_string({text})"
    raise code.refusal(node, f"`map({ast.unparse(function)}, ...)` is not supported", "write a comprehension")


def _reduced(code: TextCode, node: ast.Call, name: str, items: ast.expr) -> str | None:
    kind = code.kind(items)
    if node.keywords:
        raise code.refusal(node, f"`{ast.unparse(node)}` with options is not supported")
    if kind is not None and kind.name == "array":
        return None
    if isinstance(items, ast.GeneratorExp | ast.ListComp) and code.chooses(items):
        text = code.comprehension(items)
        leaf = code.kind(items.elt)
    elif isinstance(items, ast.GeneratorExp | ast.ListComp):
        text = f"[{code.write(items)[1:-1]}]"
        leaf = code.kind(items.elt)
    else:
        text = code.items_of(items) if code.is_long(items) else code.write(items)
        leaf = kind.leaf if kind is not None else None
    leaf = Kind("int") if leaf is not None and leaf.name == "bytes" and leaf is kind else leaf
    leaf = code.kind(node) if (leaf is None or leaf.name == "other") and name in ("sum", "max", "min") else leaf
    if leaf is None or leaf.name not in NUMBERS:
        raise code.refusal(node, f"`{ast.unparse(node)}` is not of numbers", "compare numbers")
    if leaf.name == "bool" and name == "sum":
        return f"tf.reduce_sum(tf.cast({text}, tf.int64))"
    if leaf.name != "bool" and name in ("any", "all"):
        text = f"tf.not_equal({text}, 0)"
    if name in ("max", "min"):
        text = f"{code.use('_not_empty')}({text})"
    return f"{REDUCED[name]}({text})"


def _own_function(code: TextCode, node: ast.Call, called: Unit) -> str:
    """Return a call of a function of the user's, which gets lists as it takes them elsewhere."""
    names = parameters_of(called.node)
    if has_unpacked(node):
        raise code.refusal(node, f"`{ast.unparse(node)}` takes any number of arguments", "name each")
    named = [*zip(names, node.args, strict=False), *((one.arg or "", one.value) for one in node.keywords)]
    given = {id(value): _argument(code, called, name, value) for name, value in named}
    texts = [given[id(one)] for one in node.args]
    texts += [f"{one.arg}={given[id(one.value)]}" for one in node.keywords]
    return f"{code.write(node.func)}({', '.join(texts)})"


def _argument(code: TextCode, called: Unit, name: str, value: ast.expr) -> str:
    kind = code.kind(value)
    if kind is None or not code.name_depends(name, called):
        return code.write(value)
    if kind.is_sequence and kind.depth == 1 and code.name_is_dynamic(name, called):
        return code.listed(value)
    if not code.depends(value) and kind.is_text:
        return f"tf.constant({code.write(value)})"
    return code.write(value)


# Paths.


def _path(code: TextCode, node: ast.Call, function: Any) -> str:
    """Return a function of `os.path`, of POSIX."""
    name = function.__name__
    if os.path is not posixpath or name not in ("basename", "dirname", "splitext", "join", "split", "fspath"):
        raise code.refusal(node, f"`os.path.{name}` has no counterpart in TensorFlow")
    if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "give each part separately")
    texts = [_path_text(code, one) for one in node.args]
    if name == "fspath":
        return texts[0]
    base = f'tf.strings.regex_replace({texts[0]}, r"(?s)\\A.*/", "")'
    if name == "basename":
        return base
    if name == "dirname":
        return f"{code.use('_directory')}({texts[0]})"
    if name == "split":
        text = texts[0] if texts[0].isidentifier() else code.named_before("path", texts[0])
        return f'({code.use("_directory")}({text}), tf.strings.regex_replace({text}, r"(?s)\\A.*/", ""))'
    if name == "splitext":
        return f"{code.use('_split_extension')}({texts[0]})"
    found = texts[0]
    for other in texts[1:]:
        found = f"{code.use('_joined_path')}({found}, {other})"
    return found


def _path_text(code: TextCode, node: ast.expr) -> str:
    """Return a path; one of bytes has to be UTF-8, of which patterns are."""
    text = code.write(node)
    if code.depends(node) and code.text_kind(node) == "bytes":
        return f'tf.strings.unicode_transcode({text}, "UTF-8", "UTF-8", errors="strict")'
    return text


# Methods.


def _method(code: TextCode, node: ast.Call, receiver: ast.expr, name: str) -> str | None:
    kind = code.kind(receiver)
    if kind is None:
        raise code.refusal(node, f"`{ast.unparse(node)}` was never run", "add an example that reaches it")
    if kind.is_text:
        if name == "format":
            return _format(code, node, receiver)
        if name in methods.METHODS and (code.depends(receiver) or name == "join"):
            return methods.write_method(code, node, receiver, name, list(node.args))
        raise code.refusal(node, f"`.{name}()` of text has no counterpart in TensorFlow")
    if kind.name in ("dict", "counter"):
        if name == "get" and kind.name == "dict":
            default = node.args[1] if len(node.args) == 2 else None
            if default is None:
                raise code.refusal(node, f"`{ast.unparse(node)}` may be None", "give a default")
            return methods.looked_up(code, node, receiver, node.args[0], default)
        raise code.refusal(node, f"`.{name}()` of a {kind.name} is not supported")
    if kind.is_sequence:
        return _of_list(code, node, receiver, name)
    if kind.name == "array" and kind.dtype == STRING:
        return _of_text_array(code, node, receiver, name, kind)
    if kind.name in ("other", "set", "none"):
        code.write(receiver)  # which may have a reason
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported")
    if name == "tolist" and kind.name == "array":
        return code.write(receiver)
    if name in ("bit_length", "is_integer", "to_bytes"):
        raise code.refusal(node, f"`.{name}()` has no counterpart in TensorFlow")
    return None


def _of_list(code: TextCode, node: ast.Call, receiver: ast.expr, name: str) -> str | None:
    if name == "index" and len(node.args) == 1 and not code.depends(receiver):
        found = code.kind(node.args[0])
        value = code.constant(receiver)
        kinds = {type(one).__name__ for one in value} if isinstance(value, list | tuple) else set()
        if (
            found is None
            or kinds != {found.name}
            or not found.is_text
            or not isinstance(receiver, ast.Name | ast.Attribute)
        ):
            raise code.refusal(
                node, f"`{ast.unparse(node)}` is not supported", "use a list of text that is defined in the file"
            )
        text = code.write(node.args[0])
        if not text.isidentifier():
            text = code.named_before("word", text)
        return f"{code.use('_present')}({methods.places_table(code, receiver)}.lookup({text}), {text})"
    if name == "count" and code.is_dynamic(receiver):
        text, item = code.write(receiver), code.item(node.args[0], code.leaf_dtype(receiver))
        return f"tf.reduce_sum(tf.cast(tf.equal({text}, {item}), tf.int64))"
    if name == "copy":
        return code.write(receiver)
    if name in ("append", "extend") and not code.name_is_dynamic(getattr(receiver, "id", "")):
        return None
    raise code.refusal(node, f"`.{name}()` of a list is not supported")


def _of_text_array(code: TextCode, node: ast.Call, receiver: ast.expr, name: str, kind: Kind) -> str | None:
    if name in ("tolist", "copy", "item"):
        if name == "item" and kind.rank:
            return f"tf.reshape({code.write(receiver)}, [])"
        return code.write(receiver)
    if name in ("ravel", "flatten"):
        return f"tf.reshape({code.write(receiver)}, [-1])"
    if name == "reshape":
        return None
    if name == "astype":
        made = code.kind(node)
        if made is not None and made.dtype != STRING:
            return code.cast(receiver, STRING, made.dtype)
        if made is not None and made.text == kind.text:
            # A dtype of fixed width holds no NUL at the end.
            return f'tf.strings.regex_replace({code.write(receiver)}, r"\\x{{0}}+\\z", "")'
        if made is not None and (kind.text, made.text) == ("bytes", "str"):  # of ASCII alone
            text = f'tf.strings.regex_replace({code.write(receiver)}, r"\\x{{0}}+\\z", "")'
            return f'tf.strings.unicode_transcode({text}, "US-ASCII", "UTF-8", errors="strict")'
    raise code.refusal(node, f"`.{name}()` of an array of text is not supported")


def _format(code: TextCode, node: ast.Call, receiver: ast.expr) -> str:
    """Return `"...{}...".format(a)`."""
    import string

    template = code.constant(receiver)
    if not isinstance(template, str) or node.keywords:
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "use an f-string")
    parts, place = [], 0
    for before, field, specification, conversion in string.Formatter().parse(template):
        if before:
            parts.append(literal(before))
        if field is None:
            continue
        if conversion or not (field == "" or field.isdigit()):
            raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "use an f-string")
        parts.append(operations._formatted(code, node, node.args[int(field) if field else place], specification or ""))
        place += 1
    return f"tf.strings.join([{', '.join(parts)}])"


# What else has an equal.


def _other(code: TextCode, node: ast.Call, value: Any) -> str | None:
    if value is zlib.crc32 and len(node.args) == 1:
        return f"{code.use('_crc32')}({code.write(node.args[0])})"
    if value is collections.Counter or value is collections.defaultdict:
        raise code.refusal(
            node,
            f"`{value.__name__}` of a value that depends on an input is not supported",
            "use np.unique(..., return_counts=True)",
        )
    if isinstance(value, type) and issubclass(value, str):
        return code.write(node.args[0])
    home = str(getattr(value, "__module__", "") or "")
    if home.startswith(("numpy", "scipy")):
        raise code.refusal(node, f"`{ast.unparse(node.func)}` has no counterpart in TensorFlow")
    raise code.refusal(node, f"`{ast.unparse(node.func)}` of a value that depends on an input is not supported")


def _from_buffer(code: TextCode, node: ast.Call) -> str:
    kind = code.kind(node)
    given = {one.arg for one in node.keywords}
    if kind is None or len(node.args) > 2 or not given <= {"dtype"} or not kind.dtype or kind.dtype in ("bool", STRING):
        raise code.refusal(node, f"`{ast.unparse(node)}` is not supported", "give a dtype alone")
    return f"tf.io.decode_raw({code.write(node.args[0])}, tf.{kind.dtype})"
