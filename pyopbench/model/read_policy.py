"""What a command takes of files and folders that somebody else may have made: nothing but what is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class ReadPolicy:
    """What is read, and where is written.

    Attributes:
        takes_changed: read results that were changed after they were written? `--allow-changed`.
        trusts_everybody: write into folders of other users? `--trust-folder`.
        most_bytes: that a file may have, where its kind may have fewer; `--settings file_limit`. None for those.
    """

    takes_changed: bool = False
    trusts_everybody: bool = False
    most_bytes: int | None = None


STRICT = ReadPolicy()
_in_force = [STRICT]


def policy() -> ReadPolicy:
    """Return the policy that is in force."""
    return _in_force[-1]


@contextmanager
def reading_by(wanted: ReadPolicy) -> Iterator[None]:
    """Put a policy in force, for all threads, until the end."""
    _in_force.append(wanted)
    try:
        yield
    finally:
        _in_force.pop()
