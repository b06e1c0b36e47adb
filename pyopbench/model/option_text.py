"""How errors write an option: as on the command line; an argument of a function for Python has the same name."""

from __future__ import annotations

from collections.abc import Sequence

FLAGS = {"packages": "with", "minimum_effect": "min-effect"}
"""Options whose flag differs from their name."""


def option_text(name: str, value: str | float | Sequence[str] | None = None) -> str:
    """Return an option as it is given; of several values, each by itself; None for the name alone.

    >>> option_text("rev", ["main", "HEAD"])
    '--rev main --rev HEAD'
    >>> option_text("step_seconds", 0.02)
    '--step-ms 20'
    """
    if name == "step_seconds" and isinstance(value, int | float):
        return f"--step-ms {1000 * value:g}"
    flag = f"--{FLAGS.get(name, name).replace('_', '-')}"
    if value is None:
        return flag
    if isinstance(value, int | float):
        return f"{flag} {value:g}"
    return " ".join(f"{flag} {text}" for text in ([value] if isinstance(value, str) else value))
