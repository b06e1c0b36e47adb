"""What the pages show of a shell: the commands of `sh` blocks, and the sessions of `console` blocks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = re.compile(r"^```(\w+)[^\n`]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^ +```(?:console|sh)\b", re.MULTILINE)
"""Begins a block in a list, which `blocks` does not see."""
LEFT_OUT = "..."
"""A line of a session that stands for any lines."""


@dataclass(frozen=True)
class Session:
    """A command and what a page shows of its output, each line as it is printed."""

    command: tuple[str, ...]
    lines: tuple[str, ...]


def blocks(text: str, language: str) -> list[str]:
    """Return the content of the blocks of code in a language."""
    return [content for found, content in BLOCK.findall(text) if found == language]


def commands(text: str) -> list[tuple[str, ...]]:
    """Return the commands of the `sh` blocks, in order, as words; comments are none."""
    joined = "\n".join(blocks(text, "sh")).replace("\\\n", " ")
    return [words for line in joined.splitlines() if (words := tuple(shlex.split(line, comments=True)))]


def sections(text: str) -> dict[str, str]:
    """Return the text below each heading of the second level."""
    _, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return {head: rest for head, _, rest in (part.partition("\n") for part in parts)}


def sessions(text: str) -> Iterator[Session]:
    """Yield the sessions: a line `$ command`, and behind it what it prints."""
    for block in blocks(text, "console"):
        before, *parts = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)
        if before or not parts:
            raise ValueError(f"a console block begins with a command behind a dollar sign, and not with {block[:40]!r}")
        for part in parts:
            command, *lines = part.rstrip().splitlines()
            yield Session(tuple(shlex.split(command)), tuple(lines))


def is_printed(lines: tuple[str, ...], output: str) -> bool:
    """Do the lines stand in the output in this order, and one behind the other where nothing is left out?"""
    printed = [line.rstrip() for line in output.splitlines()]
    start, may_skip = 0, True
    for line in lines:
        if line.strip() == LEFT_OUT:
            may_skip = True
            continue
        end = len(printed) if may_skip else min(start + 1, len(printed))
        place = next((place for place in range(start, end) if printed[place] == line.rstrip()), None)
        if place is None:
            return False
        start, may_skip = place + 1, False
    return True
