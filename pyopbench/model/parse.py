"""Reads what people type on a command line: lists, sizes, durations and axes; all else is refused as `BadInput`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from pyopbench.model.errors import BadInput

AXIS_FIELDS = {
    "size": "sizes",
    "dtype": "dtypes",
    "mode": "modes",
    "direction": "directions",
    "gradient": "gradients",
    "device": "placements",
    "threads": "threads",
}
"""The name of each axis on the command line, and the field of `Axes` that it sets."""

MOST_THREADS = 256
LONGEST_SECONDS = 1e9  # thirty years; Python's timeouts take less than ten times as many
LARGEST_SIZE = 10**9  # 8 GB in float64
UNIT_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def split(values: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of comma-separated values, in order, each once.

    >>> split(["a,b", "b, c"])
    ('a', 'b', 'c')
    """
    parts = (part.strip() for value in values for part in value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def split_some(what: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return `split(values)`, which is refused if it is empty, as from a variable of a script that is not set."""
    parts = split(values)
    if not parts:
        raise BadInput(f"empty {what}", received="''", hint="leave it out for the default")
    return parts


def parse_size(text: str) -> int:
    """Return a size, which may be written `1000`, `1e3`, `1_000` or `1k`, `1M`."""
    match = re.fullmatch(r"([0-9_.]+(?:e[0-9]+)?)([kMG]?)", text.strip())
    try:
        number = float(match[1]) * {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}[match[2]] if match else 0.0
    except ValueError:
        number = 0.0
    if not 1 <= number <= LARGEST_SIZE or number != int(number):
        raise _not("a size", text, f"a whole number from 1 to {LARGEST_SIZE:,}", "1000, 1e3 or 1k")
    return int(number)


def parse_duration(text: str) -> float:
    """Return seconds from `90`, `90s`, `5m` or `2h`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", text.strip())
    seconds = float(match[1]) * UNIT_SECONDS[match[2]] if match else 0.0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise _not("a duration", text, "a number of seconds above 0, or one with s, m or h", "90s or 5m")
    return seconds


def parse_shard(text: str) -> tuple[int, int]:
    """Return the number of a shard, from 1, and how many there are, from `3/40`."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    index, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= index <= of:
        raise _not("a shard", text, "I/N with I from 1 to N", "--shard 3/40")
    return index, of


def parse_share(text: str) -> float:
    """Return a share of one, above 0 and below 1, from `3%` or `0.03`."""
    share = _share(text)
    if not 0 < share < 1:
        raise _not("a share", text, "above 0% and below 100%", "3%, which is 0.03")
    return share


def parse_fail_on(text: str, minimum_effect: float) -> float | None:
    """Return the slowdown to fail on, as a share, from `slower:5%`; None from `never`.

    Plain `slower` is by the minimum effect; no verdict is about less. `150%` is two and a half times the time. From 1
    on, the percent sign is needed, because `slower:5` is meant to be 5%.
    """
    what, colon, share = text.strip().partition(":")
    if what == "never" and not colon:
        return None
    slowdown = _share(share) if colon else minimum_effect
    if what != "slower" or (colon and not slowdown) or (slowdown >= 1 and not share.strip().endswith("%")):
        legal = "slower, slower:5%, slower:0.05 or never; a share of 1 or more needs the percent sign"
        raise _not("a condition for --fail-on", text, legal, "--fail-on slower:5%")
    if slowdown < minimum_effect:
        raise BadInput(
            "the slowdown is below the smallest difference that counts",
            received=f"{text!r} with a minimum effect of {minimum_effect:g}",
            hint=f"at least {minimum_effect * 100:g}%; lower --min-effect too, if such a small difference matters",
        )
    return slowdown


def parse_axes(texts: Sequence[str]) -> dict[str, tuple[str | int, ...]]:
    """Return the fields of `Axes` that `NAME=VALUE,VALUE` texts set.

    >>> parse_axes(["size=1e3,1e4", "dtype=float64"])
    {'sizes': (1000, 10000), 'dtypes': ('float64',)}
    """
    fields: dict[str, tuple[str | int, ...]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name, parts = name.strip(), split([values])
        if name not in AXIS_FIELDS or not parts:
            legal = f"NAME=VALUE,VALUE with NAME one of {', '.join(AXIS_FIELDS)}"
            raise _not("an axis", text, legal, "--axis size=1e3,1e6")
        read = NUMBERS.get(name)
        known = fields.get(AXIS_FIELDS[name], ())
        fields[AXIS_FIELDS[name]] = tuple(dict.fromkeys((*known, *(parts if read is None else map(read, parts)))))
    return fields


def parse_threads(text: str) -> int:
    """Return a number of threads."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_THREADS:
        legal = f"whole numbers from 1 to {MOST_THREADS}"
        raise _not("a number of threads", text, legal, "--axis threads=1,2,4")
    return int(text)


NUMBERS: dict[str, Callable[[str], int]] = {"size": parse_size, "threads": parse_threads}
"""Axes whose values are numbers, and how each is read."""


def _share(text: str) -> float:
    """Return a share of one from a percentage or a number; 0 from anything else."""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(%?)", text.strip())
    return float(match[1]) / (100 if match[2] else 1) if match else 0.0


def _not(what: str, text: str, legal: str, example: str) -> BadInput:
    return BadInput(f"not {what}", received=repr(text), legal=legal, hint=f"for example {example}")
