"""Checksums of `run.json` and of each line of samples: whether they are as they were written.

A CRC-32 finds what a disk, a copy or an editor did to a file: every change of up to four bytes in a row, and of what is
longer all but one in four billion. It is no signature: who wants to deceive can compute it too.

A line's checksum goes on from that of the line before it, the first one from that of `run.json`. So a line that is
missing, moved or there twice is found as well, and lines of another run. Where `run.json` has been changed, so has been
the environment in it, which all that is measured is told by.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Literal

MARK = {"checksums": "crc32"}
"""In `run.json`, so that a run whose checksum was removed is none from before there were any."""
KEY = "crc32"
SEAL_KEYS = (*MARK, KEY)
SEALED = re.compile(rb'"(checksums|crc32)"')
RUN_END = re.compile(rb',\n "crc32": "([0-9a-f]{8})"\n\}\n\Z')
LINE_END = re.compile(rb',"crc32":"([0-9a-f]{8})"\}\Z')
LINE_END_BYTES = 20

State = Literal["whole", "changed", "not checked"]


@dataclass
class Allowance:
    """Whether results are read that were changed after they were written; `--allow-changed` says so."""

    changed: bool = False


allowance = Allowance()


@dataclass(frozen=True)
class Seal:
    """What `run.json` says of itself.

    Attributes:
        state: whether it is as it was written; `not checked` for one from before there were checksums.
        checksum: the one that it has; what the first line goes on from.
    """

    state: State
    checksum: int = 0


def sealed_run(content: str) -> bytes:
    """Return the text of a `run.json`, which holds `MARK`, with its checksum."""
    body = content.removesuffix("\n}").encode()
    return body + b',\n "%s": "%08x"\n}\n' % (KEY.encode(), zlib.crc32(body))


def seal_of(content: bytes) -> Seal:
    """Return what a `run.json` says of itself."""
    end = RUN_END.search(content[-40:])
    if end is None:
        return Seal("changed" if SEALED.search(content) else "not checked")
    checksum = int(end[1], 16)
    body = content[: len(content) - len(end[0])]
    return Seal("whole" if zlib.crc32(body) == checksum else "changed", checksum)


def sealed_line(content: bytes, before: int) -> bytes:
    """Return a line of samples with its checksum, which goes on from that of the line before."""
    body = content.removesuffix(b"}")
    return body + b',"%s":"%08x"}' % (KEY.encode(), zlib.crc32(body, before))


def checksum_of(line: bytes) -> int | None:
    """Return the checksum that a line has; None for one without."""
    end = LINE_END.search(line[-LINE_END_BYTES:])
    return None if end is None else int(end[1], 16)


class LineChecker:
    """Checks lines in their order.

    Args:
        seal: of the `run.json` beside them.
    """

    def __init__(self, seal: Seal) -> None:
        self._expected = seal.state != "not checked"
        self._before: tuple[int, ...] = (seal.checksum,)
        self._is_first = True

    def check(self, line: bytes) -> tuple[State, bytes]:
        """Return whether a line is as it was written, and the line without its checksum."""
        stored = checksum_of(line)
        # Where `run.json` has no checksum any more, nobody knows what the first line went on from.
        is_loose = self._is_first and not self._expected
        self._is_first = False
        if stored is None:
            self._before = (0,)
            return "changed" if self._expected else "not checked", line
        body = line[:-LINE_END_BYTES]
        found = zlib.crc32(body, self._before[0])
        known = found == stored or any(zlib.crc32(body, before) == stored for before in self._before[1:])
        # Which of the two was changed, line or checksum, is not known: the next line may go on from either.
        self._before = (stored,) if known else (stored, found)
        if is_loose and not known:
            return "not checked", body + b"}"
        return "whole" if known else "changed", body + b"}"
