"""What the connection to a fleet gives: what its workers are, and what became of shards that they were given."""

from __future__ import annotations

from dataclasses import dataclass

import pyopbench
from pyopbench.engine import git
from pyopbench.engine.fleet.messages import Delivery, Facts
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput


def require_dask() -> None:
    """Check that Dask.distributed is installed.

    Raises:
        BadInput: it is not.
    """
    try:
        import distributed  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise BadInput(
            "a fleet needs Dask.distributed, which is not installed",
            received=str(error),
            legal="the extra `fleet`, on this machine and on every host",
            hint="pip install 'pyopbench[fleet]'; without Dask: pyopbench run --shard 1/4, then pyopbench merge",
        ) from error


@dataclass(frozen=True)
class Told:
    """What became of a shard that was given to a host.

    Attributes:
        host: its name.
        shard: its number.
        delivery: what came back; None if the host, or the scheduler, was lost before.
        error: why nothing that can be read came back; empty if something did, or if it was lost.
    """

    host: str
    shard: int
    delivery: Delivery | None
    error: str = ""


@dataclass(frozen=True)
class Known:
    """A worker of Dask that was asked what it is.

    Attributes:
        address: of it.
        facts: what it is; None if it did not answer, or may not be asked.
        has_resource: may it be given shards?
        refused: why it may not; empty if it may.
    """

    address: str
    facts: Facts | None
    has_resource: bool
    refused: str = ""


def other_pyopbench(facts: Facts) -> str:
    """Return what pyopbench a host has if it is another one than here; results of two could not be put together."""
    here = (pyopbench.__version__, git.ask(PACKAGE, "rev-parse", "HEAD"))
    there = (facts.pyopbench, facts.commit)
    return "" if here == there else f"pyopbench {' '.join(filter(None, there))}, here {' '.join(filter(None, here))}"
