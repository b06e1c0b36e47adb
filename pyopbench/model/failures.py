"""What went wrong, as a failure: error messages in one line that fits a table, the same in every process."""

from __future__ import annotations

import re
from typing import Literal

from pyopbench.model import formatting
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import Elided, PyopbenchError, Unsupported, WrongResult

LONGEST_REASON = 300

UNTELLING = ("Graph execution error", "Detected at node", "Node: ", "in user code", "<stack traces", "Traceback (most")
"""Beginnings of lines in TensorFlow's messages that do not say what went wrong; nor do indented lines, which are
stack traces."""

QUOTED_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|StopIteration): ")
"""Beginning of the line in which TensorFlow quotes the exception of a callback's body or of AutoGraph."""

CHANGING = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),  # Numba colours its messages
    (re.compile(r"\{\{function_node [^}]*\}\} "), ""),
    (re.compile(r" ?\[Op:[^\]]*\]"), ""),
    (
        re.compile(r"__(?:inference|forward)_(?:__backward_)?([\w<>]+?)(?:_\d+)+(?!\w)(?:\[_XlaMustCompile[^\]]*\])?"),
        r"\1",
    ),
    (re.compile(r"\b(pyfunc_|PyopbenchDefun|PyopbenchGradient)\d+"), r"\1N"),
    (re.compile(r"\b0x[0-9a-f]+"), "0x…"),
)
"""Parts of messages that are numbered or placed anew in every process, and what stands for them."""

STATUSES: dict[type[PyopbenchError], Literal["unsupported", "wrong", "elided"]] = {
    Unsupported: "unsupported",
    WrongResult: "wrong",
    Elided: "elided",
}


def describe_error(error: BaseException) -> str:
    """Return type and message of an error in one line that fits a table, without what differs from run to run."""
    if isinstance(error, PyopbenchError):
        return error.message
    return shorten_reason(_telling_line(type(error).__name__, tidy(str(error))))


def tidy(message: str) -> str:
    """Return a message without what is numbered or placed anew in every process."""
    for pattern, replacement in CHANGING:
        message = pattern.sub(replacement, message)
    return message


def shorten_reason(text: str, end: str = "") -> str:
    """Return a text in one line, cut between words where it and what has to follow it do not fit a table."""
    return formatting.shorten(text, LONGEST_REASON - len(end), in_words=True) + end


def _telling_line(name: str, message: str) -> str:
    lines = [line for line in message.splitlines() if line.strip()]
    quoted = [line.strip() for line in lines if QUOTED_EXCEPTION.match(line.strip())]
    if quoted:
        return quoted[0]
    telling = [line for line in lines if not line[0].isspace() and not line.startswith(UNTELLING)] or lines[-1:]
    return f"{name}: {telling[0].strip()}" if telling else name


def failure_of(case: Case, error: BaseException, launch: int | None) -> Failure:
    """Return the failure that an exception means for a case."""
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return Failure(case.id, status, describe_error(error), launch)
    return Failure(case.id, "raised", describe_error(error), launch)
