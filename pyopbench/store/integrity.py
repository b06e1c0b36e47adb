"""Checksums of what is stored: of each JSON document, and of each line of samples.

A CRC-32 finds what a disk, a copy or an editor did to a file: every change of up to four bytes in a row, and of what is
longer all but one in four billion. It is no signature: who wants to deceive can compute it too.

A document ends with its checksum, be it `run.json`, a file beside it, `sides.json`, a certificate, a recording or
the answer of a report. A line of samples goes on from the checksum of the line before it, the first one from that of
`run.json`. So a line that is missing, moved or there twice is found as well, and lines of another run.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Literal

from pyopbench.model.errors import BadInput

KEY = "crc32"
END = re.compile(rb',\n "crc32": "([0-9a-f]{8})"\n\}\n\Z')
END_BYTES = 25
LINE_END = re.compile(rb',"crc32":"([0-9a-f]{8})"\}\Z')
LINE_END_BYTES = 20

State = Literal["whole", "changed"]


@dataclass(frozen=True)
class Seal:
    """What a document says of itself.

    Attributes:
        state: whether it is as it was written.
        checksum: the one that it has; what the first line of samples goes on from. None where it has none.
    """

    state: State
    checksum: int | None = None


def sealed(content: str) -> bytes:
    """Return the text of a JSON object with its checksum as the last key."""
    body = content.rstrip().removesuffix("}").rstrip().encode()
    return body + b',\n "%s": "%08x"\n}\n' % (KEY.encode(), zlib.crc32(body))


def seal_of(content: bytes) -> Seal:
    """Return what a document says of itself; all are written with a checksum, so that one without has been changed."""
    end = END.search(content[-END_BYTES:])
    if end is None:
        return Seal("changed")
    checksum = int(end[1], 16)
    return Seal("whole" if zlib.crc32(content[:-END_BYTES]) == checksum else "changed", checksum)


def require_whole(path: object, content: bytes, hint: str) -> None:
    """Check that a document was not changed after it was written, unless that is allowed.

    Raises:
        BadInput: it was.
    """
    if seal_of(content).state == "changed":
        raise refusal(f"{path}: its checksum does not match its content", hint)


def refusal(received: str, hint: str) -> BadInput:
    """Return the error for results that were changed after they were written."""
    return BadInput(
        "results were changed after they were written",
        received=received,
        legal="files as pyopbench wrote them",
        hint=hint,
    )


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
        # What the next line may go on from; nothing where nobody knows, so that any line is taken for the next.
        self._before: tuple[int, ...] = () if seal.checksum is None else (seal.checksum,)

    def check(self, line: bytes) -> tuple[State, bytes]:
        """Return whether a line is as it was written, and the line without its checksum."""
        stored = checksum_of(line)
        if stored is None:
            self._before = ()
            return "changed", line
        body = line[:-LINE_END_BYTES]
        found = [zlib.crc32(body, before) for before in self._before]
        known = not found or stored in found
        # Which of the two was changed, line or checksum, is not known: the next line may go on from either.
        self._before = (stored,) if known else (stored, found[0])
        return "whole" if known else "changed", body + b"}"
