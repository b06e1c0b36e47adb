"""Errors that a user can act on: what was wrong, the value received, the legal values, the next step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXIT_WRONG, EXIT_BAD_INPUT, EXIT_NOTHING = 1, 2, 3
"""Exit codes: a regression or a wrong variant; bad usage or input; nothing was measured. 0 is success."""
EXIT_INTERRUPTED = 130


def detail_label(name: str) -> str:
    """Return the label of a detail of an error, padded so that the texts after it are aligned."""
    return f"  {name}:".ljust(12)


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
        """The value received, the legal ones and the next step, as far as there are any: each a label and its text."""
        details = (("received", self.received), ("legal", self.legal), ("next", self.hint or None))
        return [(detail_label(name), str(value)) for name, value in details if value is not None]

    @property
    def in_a_line(self) -> str:
        """What was wrong and the value received, for where nobody can take the next step."""
        return self.message if self.received is None else f"{self.message}: {self.received}"


class BadInput(PyopbenchError):
    """The command line, an op file or a file of results is not what it should be (exit code 2)."""

    def as_plain(self) -> dict[str, Any]:
        """Return the error as plain data, for another process."""
        received, legal = (None if value is None else str(value) for value in (self.received, self.legal))
        kind = type(self).__name__
        return {"kind": kind, "message": self.message, "received": received, "legal": legal, "hint": self.hint}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> BadInput:
        """Return the error that `as_plain` was called on, also if its result went through JSON."""
        kinds = {one.__name__: one for one in (BadInput, NotRepeatable)}
        kind = kinds.get(plain.get("kind", ""), BadInput)
        hint = plain.get("hint") or ""
        return kind(plain["message"], received=plain.get("received"), legal=plain.get("legal"), hint=hint)


class NotRepeatable(BadInput):
    """A body returns different values for the same inputs, so that no variant can be compared with it (exit code 2)."""


class CannotStore(PyopbenchError):
    """A finished measurement cannot be stored; earlier ones are kept (exit code 2)."""


class NothingMeasured(PyopbenchError):
    """The run or the results have no measurement at all (exit code 3)."""

    exit_code = EXIT_NOTHING


class WorkerLost(PyopbenchError):
    """A worker process ended or went silent; the message says how (exit code 3 when it leaves nothing measured)."""

    exit_code = EXIT_NOTHING


class InternalError(PyopbenchError):
    """pyopbench itself failed, and neither the input nor a measurement is to blame (exit code 70)."""

    exit_code = 70
    """`EX_SOFTWARE` of sysexits.h: none of the codes by which a gate passes or fails, and no bad input."""


class Interrupted(KeyboardInterrupt):
    """Measuring from Python was interrupted; what was finished is stored.

    It is not a `PyopbenchError`, so that a loop that continues after an error of one op still ends at Ctrl-C. `folder`
    is that of the run, and `hint` the command that continues it.
    """

    def __init__(self, folder: object, hint: str) -> None:
        self.folder, self.hint = folder, hint
        details = (("stored", folder), ("next", hint))
        super().__init__("\n".join(["interrupted", *(f"{detail_label(name)}{text}" for name, text in details)]))


class WrongResult(PyopbenchError):
    """A variant's values or gradients are not the reference's (exit code 1)."""

    exit_code = EXIT_WRONG


class Unsupported(PyopbenchError):
    """A variant cannot exist here, found out only by building it; the case is recorded with the reason."""


class Elsewhere(PyopbenchError):
    """A case that was asked for on a GPU landed on the CPU; its time would be that of another device."""


class Elided(PyopbenchError):
    """Copies of an op that a graph was built with are not all executed, so their cost is unknown."""
