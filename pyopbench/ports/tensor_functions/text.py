"""Python's functions on text, containers and paths, on tensors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf

_SPACES = r"\t-\r\x1c-\x1f \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"


@functools.cache
def _characters(method: Any, others: Any = "", is_in: Any = True) -> Any:
    """Return the characters for which a method of `str` is true, and others, as ranges in an RE2 character class."""
    ranges: list[list[int]] = []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or (getattr(chr(code), method)() or chr(code) in others) != is_in:
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in ranges)


def _in_case(text: Any, change: Any) -> Any:
    """Return UTF-8 text in lower or upper case; TensorFlow knows the letters of Unicode 13."""
    newer = (
        r"\x{0}\x{1c89}\x{1c8a}\x{2c2f}\x{2c5f}\x{a7c0}\x{a7c1}\x{a7cb}-\x{a7dc}"
        r"\x{10570}-\x{105bc}\x{10d50}-\x{10d85}"
    )
    is_known = tf.strings.regex_full_match(text, f"[^{newer}]*")
    tf.debugging.Assert(tf.reduce_all(is_known), ["a letter that is newer than Unicode 13, or a NUL:", text])
    return change(text, encoding="utf-8")


def _length(text: Any, unit: Any = "UTF8_CHAR") -> Any:
    """Return how many characters or bytes a text has."""
    return tf.cast(tf.strings.length(text, unit=unit), tf.int64)


def _slice(text: Any, begin: Any, end: Any, unit: Any) -> Any:
    """Return `text[begin:end]`."""
    size = tf.cast(tf.strings.length(text, unit=unit), tf.int64)
    begin, end = (tf.cast(one, tf.int64) for one in (begin, size if end is None else end))
    begin = tf.clip_by_value(tf.where(begin < 0, begin + size, begin), 0, size)
    end = tf.clip_by_value(tf.where(end < 0, end + size, end), begin, tf.maximum(begin, size))
    return tf.strings.substr(text, begin, end - begin, unit=unit)


def _character(text: Any, place: Any) -> Any:
    """Return `text[place]`, a character."""
    tf.debugging.assert_less(tf.cast(place, tf.int64), tf.cast(tf.strings.length(text, unit="UTF8_CHAR"), tf.int64))
    return tf.strings.substr(text, place, 1, unit="UTF8_CHAR")


def _find(text: Any, part: Any, unit: Any) -> Any:
    """Return the first position of a part of a text, -1 if it is not in it."""
    parts = tf.strings.split(text, part, maxsplit=1)
    begin = tf.cast(tf.strings.length(parts[0], unit=unit), tf.int64)
    return tf.where(tf.size(parts) > 1, begin, tf.constant(-1, tf.int64))


def _contains(text: Any, part: Any) -> Any:
    """Does a text contain another one?"""
    is_empty = tf.equal(part, "")
    parts = tf.strings.split(text, tf.where(is_empty, " ", part), maxsplit=1)
    return is_empty | (tf.size(parts) > 1)


def _whole_number(text: Any) -> Any:
    """Return texts as numbers, as `int` reads them in ASCII."""
    is_number = tf.strings.regex_full_match(text, r"[\t-\r ]*[+-]?[0-9]+(_[0-9]+)*[\t-\r ]*")
    tf.debugging.Assert(tf.reduce_all(is_number), ["no whole number in ASCII:", text])
    return tf.strings.to_number(tf.strings.regex_replace(text, "_", ""), tf.int64)


def _number(text: Any) -> Any:
    """Return texts as numbers, as `float` reads them in ASCII."""
    digits = "[0-9]+(_[0-9]+)*"
    number = rf"(inf(inity)?|nan|({digits}\.?({digits})?|\.{digits})(e[+-]?{digits})?)"
    is_number = tf.strings.regex_full_match(text, rf"(?i)[\t-\r ]*[+-]?{number}[\t-\r ]*")
    tf.debugging.Assert(tf.reduce_all(is_number), ["no number in ASCII:", text])
    return tf.strings.to_number(tf.strings.regex_replace(text, "_", ""), tf.float64)


def _places_of(words: Any) -> Any:
    """Return a table with the position of each word, the first one if it occurs twice, and -1 for any other word."""
    words = list(words)
    places = {word: place for place, word in reversed(list(enumerate(words)))}
    keys = tf.constant(list(places), tf.int64 if isinstance(words[0], int) else tf.string)
    values = tf.constant(list(places.values()), tf.int64)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)


def _growing(items: Any) -> Any:
    """Return items as a `tf.TensorArray`, to which a loop can append."""
    array = tf.TensorArray(items.dtype, tf.shape(items)[0], dynamic_size=True, element_shape=items.shape[1:])
    return array.unstack(items)


def _unsized(items: Any) -> Any:
    """Return items whose number a loop may change."""
    return tf.compat.v1.placeholder_with_default(items, [None, *items.shape[1:]])


def _present(places: Any, keys: Any) -> Any:
    """Return positions in a table; a key that is not in it raises an error."""
    tf.debugging.Assert(tf.reduce_all(places >= 0), ["not there:", keys])
    return places


def _not_zero(number: Any) -> Any:
    """Return a divisor; as in Python, 0 raises an error."""
    tf.debugging.assert_none_equal(number, tf.zeros_like(number), "division by zero")
    return number


def _not_empty(items: Any) -> Any:
    """Return items; it is an error if there are none."""
    tf.debugging.assert_positive(tf.size(items), "there are no items")
    return items


def _part(text: Any, separator: Any, place: Any) -> Any:
    """Return the text before the first separator, it, and the text after it: `text.partition(separator)`."""
    parts = tf.strings.split(text, separator, maxsplit=1)
    is_there = tf.size(parts) > 1
    if place == 0:
        return parts[0]
    return tf.where(is_there, separator if place == 1 else parts[-1], "")


def _decimals(number: Any, digits: Any) -> Any:
    """Return numbers with so many digits after the point."""
    number = tf.where(tf.math.is_nan(number), tf.constant(float("nan"), number.dtype), number)
    return tf.strings.as_string(number, precision=digits)


def _directory(path: Any) -> Any:
    """Return `os.path.dirname(path)` on POSIX."""
    head = tf.strings.regex_replace(path, r"[^/]*\z", "")
    return tf.where(tf.strings.regex_full_match(head, "/*"), head, tf.strings.regex_replace(head, r"/+\z", ""))


def _split_extension(path: Any) -> Any:
    """Return `os.path.splitext(path)` on POSIX: an extension begins at the last dot, except for leading dots."""
    with_extension = r"(?s)((?:.*/)?\.*[^/.][^/]*)(\.[^./]*)"
    is_there = tf.strings.regex_full_match(path, with_extension)
    root = tf.strings.regex_replace(path, rf"\A{with_extension}\z", r"\1")
    extension = tf.strings.regex_replace(path, rf"\A{with_extension}\z", r"\2")
    return tf.where(is_there, root, path), tf.where(is_there, extension, "")


def _joined_path(path: Any, other: Any) -> Any:
    """Return `os.path.join(path, other)` on POSIX."""
    with_slash = tf.strings.regex_full_match(path, "(?s)(.*/)?")
    joined = tf.where(with_slash, tf.strings.join([path, other]), tf.strings.join([path, "/", other]))
    return tf.where(tf.strings.regex_full_match(other, "(?s)/.*"), other, joined)


def _crc32(data: Any) -> Any:
    """Return `zlib.crc32(data)`: https://www.w3.org/TR/png/#D-CRCAppendix."""
    table = np.arange(256)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ 0xEDB88320, table >> 1)

    def step(crc: Any, byte: Any) -> Any:
        place = tf.bitwise.bitwise_and(tf.bitwise.bitwise_xor(crc, byte), 0xFF)
        return tf.bitwise.bitwise_xor(tf.bitwise.right_shift(crc, 8), tf.gather(table, place))

    ones = tf.constant(0xFFFFFFFF, tf.int64)
    data = tf.cast(tf.io.decode_raw(data, tf.uint8), tf.int64)
    return tf.bitwise.bitwise_xor(tf.foldl(step, data, ones), ones)
