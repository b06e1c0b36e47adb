"""What is said of versions of TensorFlow before they are installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyopbench.cli.output import err, say
from pyopbench.engine import environments
from pyopbench.report.wording.measuring import disk_text, installing_text


def announce(versions: Iterable[str]) -> None:
    """Say which versions that were asked for by name are going to be installed, and how much of the disk they take.

    Raises:
        BadInput: one cannot be had for this Python.
    """
    missing = environments.missing(dict.fromkeys(versions))
    if missing:
        say(installing_text(missing, environments.INSTALLED_GB), err)


def disk_size(versions: Sequence[str]) -> str:
    """Return about how much of the disk environments of some versions take."""
    return disk_text(len(versions), environments.INSTALLED_GB)
