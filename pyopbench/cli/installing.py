"""Messages about environments that are going to be installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyopbench.cli.output import err, say
from pyopbench.engine import environments
from pyopbench.engine.messages import disk_text, installing_text
from pyopbench.model.side import Environment


def announce(wanted: Iterable[Environment]) -> None:
    """Say which environments that were asked for by name are going to be installed, and how much of the disk they take.

    Raises:
        BadInput: one cannot be had.
    """
    missing = environments.missing(wanted)
    if missing:
        say(installing_text([one.text for one in missing], environments.INSTALLED_GB), err)


def disk_size(wanted: Sequence[Environment]) -> str:
    """Return about how much of the disk some environments take."""
    return disk_text(len(wanted), environments.INSTALLED_GB)
