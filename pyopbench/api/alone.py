"""What every command that measures time waits for: that nobody else measures on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyopbench.api.console import err, say
from pyopbench.engine import host_lock


@contextmanager
def alone_on_this_machine() -> Iterator[None]:
    """Hold the lock of this machine, and say for whom it is waited."""

    def tell_of_waiting(process: int | None) -> None:
        who = "another process" if process is None else f"process {process}"
        say(f"{who} is measuring on this machine; waiting for it to end", err)

    with host_lock.held(tell_of_waiting):
        yield
