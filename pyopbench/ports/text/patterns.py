"""Python's regular expressions as RE2's, which TensorFlow has, where both match the same.

RE2 matches as Python does, the first alternative that fits from the left. It differs in what is a letter, a digit and a
space (ASCII alone), in `$`, and in what it does not have: https://github.com/google/re2/wiki/Syntax. So a pattern is
parsed by Python and written anew from the tree, with Python's own classes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # before Python 3.11
    import sre_constants as sre
    import sre_parse as parser

MOST_REPEATS = 1000
"""Of which RE2 takes no more."""

IN_ASCII = {"DIGIT": "0-9", "WORD": "0-9A-Za-z_", "SPACE": r"\t-\r "}
NEGATED_IN_ASCII = {"DIGIT": r"\D", "WORD": r"\W", "SPACE": r"\x{0}-\x{8}\x{e}-\x{1f}!-\x{10ffff}"}


class NotInRE2(Exception):
    """Why a pattern has no equal."""


@dataclass(frozen=True)
class Pattern:
    """A pattern of RE2 as source.

    Attributes:
        source: an expression of Python's that is its text.
        groups: how many groups it has.
        helpers: names of functions that the expression calls.
    """

    source: str
    groups: int
    helpers: tuple[str, ...] = ()


def pattern_of(compiled: re.Pattern[Any], *, may_be_empty: bool = False, around: tuple[str, str] = ("", "")) -> Pattern:
    """Return a pattern of Python's as one of RE2's.

    Args:
        compiled: the pattern.
        may_be_empty: may it match nothing, of which the two differ when they replace?
        around: patterns of RE2 before and behind it.

    Raises:
        NotInRE2: there is no equal.
    """
    tree = parser.parse(compiled.pattern, compiled.flags)
    if not may_be_empty and tree.getwidth()[0] == 0:
        raise NotInRE2("it may match an empty text, after which RE2 continues differently")
    writing = _Writing(is_text=isinstance(compiled.pattern, str))
    flags = compiled.flags | tree.state.flags
    text = writing.sequence(tree, flags)
    if around != ("", ""):
        text = f"{around[0]}(?:{text}){around[1]}"
    return Pattern(source_of(text), compiled.groups, helpers_of(text))


def helpers_of(text: str) -> tuple[str, ...]:
    """Return the names that the source of a pattern reads."""
    return tuple(one for one in (SPACES, "_characters") if f"{MARK}{one}" in text)


SPACES = "_SPACES"
"""The name of a class, without brackets, of what `str.isspace` is true of."""

MARK = "\ue000"
"""What stands around a call in the text of a pattern, which no pattern that is written has."""


def source_of(text: str) -> str:
    """Return a text with calls in it as an expression of Python's."""
    parts = text.split(MARK)
    if len(parts) == 1:
        return literal(text)
    written = [
        f"{{{part}}}" if place % 2 else part.replace("{", "{{").replace("}", "}}") for place, part in enumerate(parts)
    ]
    return "rf" + literal("".join(written)).removeprefix("r")


def literal(text: str) -> str:
    """Return a text as a literal, raw where that is shorter."""
    is_plain = text.isprintable() and not text.endswith("\\")
    if "\\" in text and is_plain and '"' not in text:
        return f'r"{text}"'
    quoted = repr(text)
    if quoted.startswith("'") and '"' not in text:
        return f'"{quoted[1:-1]}"' if "\\'" not in quoted else quoted
    return quoted


def escaped(text: str) -> str:
    """Return a pattern that matches a text and nothing else."""
    return "".join(_character(ord(one)) for one in text)


def _character(code: int) -> str:
    one = chr(code)
    if 0xD800 <= code <= 0xDFFF or code == ord(MARK):
        raise NotInRE2(f"{one!r} cannot be written in UTF-8")
    if one.isalnum() and one.isascii():
        return one
    if not one.isprintable():
        return f"\\x{{{code:x}}}"
    return one if one in " \"'_,;:=<>@%&~`!/#" or not one.isascii() else f"\\{one}"


class _Writing:
    def __init__(self, *, is_text: bool) -> None:
        self.is_text = is_text

    def sequence(self, tree: Iterable[Any], flags: int) -> str:
        """Return what stands for parts one after the other."""
        parts, found = list(tree), []
        for place, (what, value) in enumerate(parts):
            if (what, value) == (sre.AT, sre.AT_END) and not flags & re.MULTILINE:
                if not (place and _takes_newlines(parts[place - 1])):
                    raise NotInRE2("`$` also matches before a newline at the end; write `\\Z`")
                found.append(r"\z")
            else:
                found.append(self.one(what, value, flags))
        return "".join(found)

    def one(self, what: Any, value: Any, flags: int) -> str:
        """Return what stands for a part."""
        if what is sre.LITERAL:
            return self._literal(value, flags)
        if what is sre.NOT_LITERAL:
            return self._class([(sre.NEGATE, None), (sre.LITERAL, value)], flags)
        if what is sre.ANY:
            self._require_text("`.`")
            return r"[^\n]" if not flags & re.DOTALL else r"(?s:.)"
        if what is sre.IN:
            return self._class(value, flags)
        if what is sre.BRANCH:
            return f"(?:{'|'.join(self.sequence(one, flags) for one in value[1])})"
        if what is sre.SUBPATTERN:
            group, added, removed, tree = value
            inner = self.sequence(tree, (flags | added) & ~removed)
            return f"({inner})" if group is not None else f"(?:{inner})"
        if what in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            return self._repeat(value, flags) + ("?" if what is sre.MIN_REPEAT else "")
        if what is sre.AT:
            return self._place(value, flags)
        names = {"ASSERT": "looks ahead or behind", "ASSERT_NOT": "looks ahead or behind",
                 "GROUPREF": "refers to a group", "GROUPREF_EXISTS": "refers to a group"}  # fmt: skip
        raise NotInRE2(f"it {names.get(str(what), 'has what RE2 lacks: ' + str(what).lower())}")

    def _repeat(self, value: Any, flags: int) -> str:
        low, high, tree = value
        inner = self.sequence(tree, flags)
        if len(tree) != 1 or tree[0][0] not in (sre.LITERAL, sre.IN, sre.ANY, sre.NOT_LITERAL, sre.SUBPATTERN):
            inner = f"(?:{inner})"
        if tree.getwidth()[0] == 0:
            raise NotInRE2("it repeats something that may match an empty text")
        endless = high is sre.MAXREPEAT
        if low > MOST_REPEATS or (not endless and high > MOST_REPEATS):
            raise NotInRE2(f"it repeats more than {MOST_REPEATS} times")
        if endless and low in (0, 1):
            return inner + ("*" if low == 0 else "+")
        if (low, high) == (0, 1):
            return f"{inner}?"
        return f"{inner}{{{low}}}" if low == high else f"{inner}{{{low},{'' if endless else high}}}"

    def _place(self, value: Any, flags: int) -> str:
        if value is sre.AT_BEGINNING:
            return "(?m:^)" if flags & re.MULTILINE else r"\A"
        if value is sre.AT_END:
            return "(?m:$)"
        if value is sre.AT_BEGINNING_STRING:
            return r"\A"
        if value is sre.AT_END_STRING:
            return r"\z"
        is_ascii = not self.is_text or flags & re.ASCII
        if value in (sre.AT_BOUNDARY, sre.AT_NON_BOUNDARY) and is_ascii:
            return r"\b" if value is sre.AT_BOUNDARY else r"\B"
        raise NotInRE2(r"`\b` is the end of a word in any language, and in RE2 of a word in ASCII; add re.ASCII")

    def _require_text(self, what: str) -> None:
        if not self.is_text:
            raise NotInRE2(f"in bytes, {what} matches a byte, and in RE2 a character; decode the bytes first")

    def _literal(self, code: int, flags: int) -> str:
        if code > 127:
            self._require_text("a byte that is not of ASCII")
        if flags & re.IGNORECASE:
            several = _folded(f"\\x{code:02x}" if code < 256 else chr(code), self.is_text and not flags & re.ASCII)
            if len(several) > 1:
                return f"[{''.join(map(in_class, several))}]"
        return _character(code)

    def _class(self, items: Sequence[Any], flags: int) -> str:
        is_negated = bool(items) and items[0][0] is sre.NEGATE
        items = items[1:] if is_negated else items
        if is_negated:
            self._require_text("a class that begins with `^`")
        inside = "".join(self._in_class(what, value, flags) for what, value in items)
        return f"[{'^' if is_negated else ''}{inside}]"

    def _in_class(self, what: Any, value: Any, flags: int) -> str:
        is_ascii = not self.is_text or bool(flags & re.ASCII)
        if what is sre.CATEGORY:
            return self._category(str(value).removeprefix("CATEGORY_"), is_ascii=is_ascii)
        low, high = (value, value) if what is sre.LITERAL else value
        if high > 127:
            self._require_text("a byte that is not of ASCII")
        if flags & re.IGNORECASE:
            several = _folded(f"[{_in_python(low)}-{_in_python(high)}]", not is_ascii)
            return _ranges(several)
        return in_class(low) if low == high else f"{in_class(low)}-{in_class(high)}"

    def _category(self, name: str, *, is_ascii: bool) -> str:
        is_negated, name = name.startswith("NOT_"), name.removeprefix("NOT_").removeprefix("UNI_")
        if is_negated:
            self._require_text("a class of what is no letter, digit or space")
        if is_ascii:
            return NEGATED_IN_ASCII[name] if is_negated else IN_ASCII[name]
        if name == "SPACE" and not is_negated:
            return f"{MARK}{SPACES}{MARK}"
        method, more = {"DIGIT": ("isdecimal", ""), "WORD": ("isalnum", "_"), "SPACE": ("isspace", "")}[name]
        arguments = [repr(method), *([repr(more)] if more else []), *(["is_in=False"] if is_negated else [])]
        return f"{MARK}_characters({', '.join(arguments)}){MARK}"


def in_class(code: int) -> str:
    """Return a character as it is written in a class."""
    one = chr(code)
    return f"\\{one}" if one in "]\\^-[" else _character(code) if one.isalnum() or not one.isprintable() else one


def _in_python(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\U{code:08x}"


@functools.cache
def _all_characters() -> str:
    return "".join(chr(one) for one in range(0x110000) if not 0xD800 <= one <= 0xDFFF)


@functools.cache
def _folded(pattern: str, of_unicode: bool) -> tuple[int, ...]:  # noqa: FBT001 - a key of a cache
    """Return the characters that a pattern matches whatever their case."""
    flags = re.IGNORECASE | (0 if of_unicode else re.ASCII)
    return tuple(sorted(map(ord, re.findall(pattern, _all_characters(), flags))))


def _ranges(codes: Sequence[int]) -> str:
    found: list[list[int]] = []
    for code in codes:
        if found and code == found[-1][1] + 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(in_class(low) if low == high else f"{in_class(low)}-{in_class(high)}" for low, high in found)


def _takes_newlines(part: tuple[Any, Any]) -> bool:
    """Is it a greedy repetition of what a newline belongs to, which leaves none before the end?"""
    what, value = part
    if what is sre.SUBPATTERN:
        tree = value[3]
        return len(tree) > 0 and _takes_newlines(tree[-1])
    if what is not sre.MAX_REPEAT or value[1] is not sre.MAXREPEAT or len(value[2]) != 1:
        return False
    kind, items = value[2][0]
    if kind is not sre.IN:
        return False
    newline = ord("\n")
    is_negated = items[0][0] is sre.NEGATE
    there = any(
        (one is sre.LITERAL and value == newline)
        or (one is sre.RANGE and value[0] <= newline <= value[1])
        or str(value) in ("CATEGORY_SPACE", "CATEGORY_NOT_WORD", "CATEGORY_NOT_DIGIT")
        for one, value in items
    )
    return there != is_negated


def template_of(template: str | bytes, compiled: re.Pattern[Any]) -> str:
    r"""Return what replaces a match, by RE2's rules: `\1` for a group.

    Raises:
        NotInRE2: there is no equal.
    """
    text = template.decode("latin-1") if isinstance(template, bytes) else template
    if isinstance(template, bytes) and not text.isascii():
        raise NotInRE2("the replacement is not ASCII")
    found, place = [], 0
    while place < len(text):
        one = text[place]
        if one != "\\":
            found.append(one)
            place += 1
            continue
        rest = text[place + 1 :]
        named = re.match(r"g<(\w+)>", rest)
        digit = re.match(r"[1-9]\d?", rest)
        if named:
            name = named[1]
            group = int(name) if name.isdigit() else compiled.groupindex[name]
            place += 1 + named.end()
        elif digit:
            group = int(digit[0])
            place += 1 + digit.end()
        elif rest[:1] in ("n", "t", "r", "\\"):
            found.append({"n": "\n", "t": "\t", "r": "\r", "\\": "\\\\"}[rest[0]])
            place += 2
            continue
        else:
            raise NotInRE2(f"the replacement has `\\{rest[:1]}`")
        if group > 9:
            raise NotInRE2("the replacement has a group above 9")
        found.append(f"\\{group}")
    return "".join(found)
