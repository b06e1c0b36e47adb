"""How an option is written by whoever asks: on a command line, or in a call from Python. For errors, which quote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

FLAGS = {"packages": "with", "step_seconds": "step-ms", "minimum_effect": "min-effect"}
"""Options whose flag differs from their name: `with` is a keyword of Python, and a command line takes milliseconds."""
MILLISECONDS = ("step_seconds",)
"""Options that are seconds in Python, and milliseconds on a command line."""
_IS_PYTHON = ContextVar("_IS_PYTHON", default=False)


@contextmanager
def asked_from_python() -> Iterator[None]:
    """Write options as arguments of a call meanwhile."""
    token = _IS_PYTHON.set(True)
    try:
        yield
    finally:
        _IS_PYTHON.reset(token)


def option_text(name: str, value: str | float | Sequence[str] | None = None) -> str:
    """Return an option as it is given.

    Args:
        name: as in Python, such as `fail_on`.
        value: of several, each is given by itself on a command line; None for the name alone. Options of
            `MILLISECONDS` are in seconds.

    >>> option_text("rev", ["main", "HEAD"])
    '--rev main --rev HEAD'
    >>> with asked_from_python():
    ...     option_text("rev", ["main", "HEAD"])
    "rev=['main', 'HEAD']"
    """
    if _IS_PYTHON.get():
        return f"{name}=" if value is None else f"{name}={value!r}"
    flag = f"--{FLAGS.get(name, name).replace('_', '-')}"
    if value is None:
        return flag
    if isinstance(value, int | float):
        return f"{flag} {1000 * value if name in MILLISECONDS else value:g}"
    return " ".join(f"{flag} {one}" for one in ([value] if isinstance(value, str) else value))
