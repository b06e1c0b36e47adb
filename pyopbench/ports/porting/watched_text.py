"""What Python and its library do with text that depends on an input, while a body is watched."""

from __future__ import annotations

import re
import types
from typing import Any

from pyopbench.ports.porting.watched_values import (
    GROWN,
    WatchedObject,
    WatchedText,
    call,
    depending,
    depends,
    length_depends,
    plain,
)

OF_TEXT = (str, bytes, bytearray, ord, chr, hash, repr, format)
"""Functions of Python's that take or return text."""

MODULES = frozenset(
    {"re", "posixpath", "genericpath", "ntpath", "os", "posix", "nt", "zlib", "unicodedata", "string", "collections"}
    | {"hashlib", "_hashlib", "_md5", "_sha1", "_sha2", "_blake2", "base64", "binascii", "json", "struct", "html"}
)
"""Modules of Python's whose functions compute something from what they are given."""

READING = ("get", "index", "count", "pop", "keys", "values", "items", "copy")
"""Methods that read what is in a list, a set or a dict."""


def is_of_text(function: Any) -> bool:
    """Is it a function that computes with text, and not one of the user's?"""
    if isinstance(function, types.FunctionType | types.BuiltinFunctionType | type | types.MethodType):
        receiver = getattr(function, "__self__", None)
        if isinstance(receiver, str | bytes | re.Pattern | re.Match):
            return True
        home = receiver.__name__ if isinstance(receiver, types.ModuleType) else getattr(function, "__module__", None)
        return function in OF_TEXT or str(home) in MODULES
    return False


def call_with_text(function: Any, arguments: Any, options: Any) -> Any:
    """Return what any function that is called in a body with text does."""
    receiver, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if function is map:
        found = [call_with_text(arguments[0], given, {}) for given in zip(*arguments[1:], strict=False)]
        if any(map(length_depends, arguments[1:])):
            GROWN.add(found)
        return found
    if isinstance(receiver, WatchedText) and name == "numpy":
        return receiver
    if isinstance(receiver, list | tuple | set | frozenset | dict) and name in READING:
        found = function(*arguments, **options)
        return depending(found) if depends(list(arguments)) or length_depends(receiver) else found
    if not is_of_text(function):
        return call(function, arguments, options)
    given = [list(one) if isinstance(one, types.GeneratorType | map | filter) else one for one in arguments]
    is_dependent = depends([receiver, *given, *options.values()]) or any(map(length_depends, given))
    if isinstance(receiver, WatchedText):
        found = getattr(plain(receiver), name)(*plain(given), **plain(options))
    else:
        found = function(*plain(given), **plain(options))
    return as_dependent(found) if is_dependent else found


def as_dependent(found: Any) -> Any:
    """Return what was made of text as dependent on it; so is the length of a list."""
    if isinstance(found, list):
        made = [as_dependent(one) for one in found]
        GROWN.add(made)
        return made
    if isinstance(found, tuple):
        return tuple(map(as_dependent, found))
    return WatchedObject(found) if found is None or isinstance(found, re.Match) else depending(found)
