"""Errors that a user can act on: what was wrong, the value received, the legal values, the next step.

And what TensorFlow and bodies raise, described in one line that fits a table, the same in every process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyopbench.model import formatting

EXIT_WRONG, EXIT_BAD_INPUT, EXIT_NOTHING = 1, 2, 3
"""Exit codes: a regression or a wrong variant; bad usage or input; nothing was measured. 0 is success."""
EXIT_INTERRUPTED = 130

LONGEST_REASON = 300

UNINFORMATIVE = (
    "Graph execution error",
    "Detected at node",
    "Node: ",
    "in user code",
    "<stack traces",
    "Traceback (most",
)
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
"""Parts of messages that are numbered or placed anew in every process, and their replacements."""


class PyopbenchError(Exception):
    """Base of every error that pyopbench raises on purpose; `exit_code` is what the command line returns."""

    exit_code = EXIT_BAD_INPUT

    def __init__(self, message: str, *, received: object = None, legal: object = None, hint: str = "") -> None:
        self.message, self.received, self.legal, self.hint = message, received, legal, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        return "\n".join([self.message, *(label + text for label, text in self.details)])

    @property
    def details(self) -> list[tuple[str, str]]:
        """The value received, the legal ones and the next step, as far as there are any: each a label and its text.

        Labels are padded so that the texts after them are aligned.
        """
        details = (("received", self.received), ("legal", self.legal), ("next", self.hint or None))
        return [(f"  {name}:".ljust(12), str(value)) for name, value in details if value is not None]

    @property
    def in_a_line(self) -> str:
        """What was wrong and the value received, for where nobody can take the next step."""
        return self.message if self.received is None else f"{self.message}: {self.received}"


class BadInput(PyopbenchError):
    """The command line, an op file or a file of results is not what it should be (exit code 2)."""

    def as_plain(self) -> dict[str, Any]:
        """Return the error as plain data, for another process."""
        received, legal = (None if value is None else str(value) for value in (self.received, self.legal))
        return {"message": self.message, "received": received, "legal": legal, "hint": self.hint}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> BadInput:
        """Return the error that `as_plain` was called on, also if its result went through JSON."""
        return BadInput(plain["message"], received=plain["received"], legal=plain["legal"], hint=plain["hint"])


class NothingMeasured(PyopbenchError):
    """The run or the results have no measurement at all (exit code 3)."""

    exit_code = EXIT_NOTHING


class WorkerLost(PyopbenchError):
    """A worker process ended or went silent; the message says how (exit code 3 when it leaves nothing measured)."""

    exit_code = EXIT_NOTHING


class Interrupted(KeyboardInterrupt):
    """Measuring from Python was interrupted; what was finished is stored.

    It is not a `PyopbenchError`, so that a loop that continues after an error of one op still ends at Ctrl-C. `folder`
    is that of the run, and `hint` the command that continues it.
    """

    def __init__(self, folder: object, hint: str) -> None:
        self.folder, self.hint = folder, hint
        super().__init__(f"interrupted; what was finished is stored in {folder}\n{hint}")


class WrongResult(PyopbenchError):
    """A variant's values or gradients are not the reference's (exit code 1)."""

    exit_code = EXIT_WRONG


class Unsupported(PyopbenchError):
    """A variant cannot exist here, found out only by building it; the case is recorded with the reason."""


class Elided(PyopbenchError):
    """Copies of an op that a graph was built with are not all executed, so their cost is unknown."""


def describe_error(error: BaseException) -> str:
    """Return type and message of an error in one line that fits a table, without what differs from run to run."""
    if isinstance(error, PyopbenchError):
        return error.message
    return shorten_reason(_informative_line(type(error).__name__, tidy(str(error))))


def tidy(message: str) -> str:
    """Return a message without what is numbered or placed anew in every process."""
    for pattern, replacement in CHANGING:
        message = pattern.sub(replacement, message)
    return message


def shorten_reason(text: str, end: str = "") -> str:
    """Return a text in one line, cut between words where it and what has to follow it do not fit a table."""
    return formatting.shorten(text, LONGEST_REASON - len(end)) + end


def _informative_line(name: str, message: str) -> str:
    lines = [line for line in message.splitlines() if line.strip()]
    quoted = [line.strip() for line in lines if QUOTED_EXCEPTION.match(line.strip())]
    if quoted:
        return quoted[0]
    informative = [line for line in lines if not line[0].isspace() and not line.startswith(UNINFORMATIVE)] or lines[-1:]
    return f"{name}: {informative[0].strip()}" if informative else name
