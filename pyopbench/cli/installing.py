"""What is said of versions of TensorFlow before they are installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyopbench.cli.output import err, say
from pyopbench.core import formatting
from pyopbench.run import environments


def announce(versions: Iterable[str]) -> None:
    """Say which versions that were asked for by name are going to be installed, and how much of the disk they take.

    Raises:
        BadInput: one cannot be had for this Python.
    """
    missing = environments.missing(dict.fromkeys(versions))
    if missing:
        say(f"installing TensorFlow {formatting.listing(missing)} into the cache: about {disk_size(missing)}", err)


def disk_size(versions: Sequence[str]) -> str:
    """Return about how much of the disk environments of some versions take."""
    return f"{environments.INSTALLED_GB * len(versions):.1f} GB"
