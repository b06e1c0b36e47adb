"""Why something cannot be written as source, with the user's line."""

from __future__ import annotations

from pyopbench.model.errors import PyopbenchError


class CannotPort(PyopbenchError):
    """What a body does cannot be written as source.

    Attributes:
        why: the reason.
        fix: what works in its place, empty where nothing is known.
        place: file and line of the user's code, None where it is of no line.
        others: what else in the body cannot be written, in its order.
    """

    exit_code = 1

    def __init__(self, why: str, *, fix: str = "", place: tuple[str, int] | None = None) -> None:
        self.why = why
        self.fix = fix
        self.place = place
        self.others: tuple[CannotPort, ...] = ()
        super().__init__(why)
