"""Calls from several threads, as `pyopbench run --threads` keeps them beside the samples: the file `threads.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from pyopbench.store.run_json import NotNegative, Positive
from pyopbench.store.side_file import SideFile

SCHEMA = 1
FILE = "threads.json"
QUANTILES = ("p50", "p95", "p99")
Count = Annotated[int, Meta(ge=1)]


class ConcurrentCase(Struct, frozen=True, kw_only=True):
    """A case that threads called, and its variant with the gradient."""

    case: str
    label: str
    kind: str


class RateBlock(Struct, frozen=True, kw_only=True):
    """Calls of a case by so many threads in one go: how many, and calls a second of all threads together."""

    case: str
    threads: Count
    launch: NotNegative
    round: NotNegative
    order: NotNegative
    calls: Count
    rate: Positive


class CallLatencies(Struct, frozen=True, kw_only=True):
    """How long a call of a case took in a launch, in seconds; null for a quantile with too few calls beyond it."""

    case: str
    threads: Count
    launch: NotNegative
    calls: Count
    p50: Positive | None
    p95: Positive | None
    p99: Positive | None


class RefusedCase(Struct, frozen=True, kw_only=True):
    """A case that has no number, and why."""

    case: str
    status: str
    reason: str
    launch: NotNegative


class ThreadCalls(Struct, frozen=True, kw_only=True):
    """The content of `threads.json`."""

    environment: dict[str, Any]
    threads: Annotated[list[Count], Meta(min_length=1)]
    cases: list[ConcurrentCase]
    blocks: list[RateBlock]
    latencies: list[CallLatencies]
    failures: list[RefusedCase]


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document, whole or not at all."""
    KIND.write(path, json.dumps(document, indent=1))


def _known_cases(document: Mapping[str, Any]) -> None:
    known = {one["case"]: one for one in document["cases"]}
    for name in ("blocks", "latencies", "failures"):
        for row in document[name]:
            known[row["case"]]


KIND = SideFile("pyopbench run --threads", SCHEMA, ThreadCalls, _known_cases)


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        BadInput: it is not one of `pyopbench run --threads`, or of another schema.
    """
    return KIND.load(path)
