"""Why something cannot be written as source, with the user's line."""

from __future__ import annotations

from pyopbench.model.errors import PyopbenchError


class CannotPort(PyopbenchError):
    """What a body does cannot be written as source."""

    exit_code = 1

    def __init__(self, why: str, *, fix: str = "", place: tuple[str, int] | None = None) -> None:
        self.why = why
        self.fix = fix  # what works in its place, empty where nothing is known
        self.place = place  # file and line of the user's code
        self.others: tuple[CannotPort, ...] = ()  # what else in the body cannot be written, in its order
        super().__init__(why)
