"""Says which environments are going to be installed."""

from __future__ import annotations

from collections.abc import Iterable

from pyopbench.cli.output import err, say
from pyopbench.engine import environments
from pyopbench.model.side import Environment


def announce(wanted: Iterable[Environment]) -> None:
    """Say which environments are going to be installed, and how much of the disk they take.

    Raises:
        BadInput: one cannot be had.
    """
    missing = environments.missing(wanted)
    if missing:
        say(f"installing {environments.installing_text(missing)}", err)
