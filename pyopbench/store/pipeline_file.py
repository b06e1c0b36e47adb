"""What `pyopbench pipeline` measured, as the file `pipeline.json`: facts, and every timed block.

The report of it is a function of this file, so that it can be judged again for another step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pyopbench.store.run_json import NotNegative, Positive
from pyopbench.store.side_file import SideFile

SCHEMA = 1
FILE = "pipeline.json"
COMMAND = "pyopbench pipeline"


class MeasuredOp(Struct, frozen=True, kw_only=True):
    """The op whose body stands in the pipeline."""

    name: str
    summary: str
    size_unit: str


class StoredArrangement(Struct, frozen=True, kw_only=True):
    """One way in which the body stands in a pipeline, as `core.arrangement.Arrangement`."""

    key: str
    form: str
    action: Literal["keep", "parallel", "switch", "batch", "processes", "port", "outside"]
    code: str
    parallel: Annotated[int, Meta(ge=-1)]
    batch: NotNegative
    variant: str
    effort: float
    extra_effort: float
    ahead: NotNegative
    is_attempt: bool = False


class ElementErrors(Struct, frozen=True, kw_only=True):
    """What came of comparing all elements with the body: the largest error, and whether they came in order."""

    values: float
    is_ordered: bool


class StoredWarmUp(Struct, frozen=True, kw_only=True):
    """How a pipeline became steady."""

    is_steady: bool
    elements: NotNegative
    seconds: float
    seconds_per_element: Positive


class PreparedArrangement(Struct, frozen=True, kw_only=True):
    """An arrangement that a launch has built, checked and warmed; seconds that starting a pool took are apart."""

    key: str
    launch: NotNegative
    checked: ElementErrors
    warm_up: StoredWarmUp
    pool_start_seconds: float | None
    seconds: float


class Block(Struct, frozen=True, kw_only=True):
    """Elements of one arrangement that were drawn in one go, and the seconds that they took."""

    key: str
    launch: NotNegative
    round: NotNegative
    order: NotNegative
    elements: Annotated[int, Meta(ge=1)]
    seconds: Positive


class Rates(Struct, frozen=True, kw_only=True):
    """Calls of the body a second, by one and by `many` threads, and by as many processes where there were any."""

    launch: NotNegative
    round: NotNegative
    many: Annotated[int, Meta(ge=2)]
    one_thread: Positive
    threads: Positive
    one_process: Positive | None
    processes: Positive | None


class LeftOut(Struct, frozen=True, kw_only=True):
    """An arrangement that there is none of, and why."""

    key: str
    reason: str


class FailedArrangement(Struct, frozen=True, kw_only=True):
    """An arrangement that was tried and failed."""

    key: str
    status: str
    reason: str
    launch: NotNegative


class PipelineMeasurement(Struct, frozen=True, kw_only=True):
    """The content of `pipeline.json`."""

    pyopbench: str
    op: MeasuredOp
    size: Annotated[int, Meta(ge=1)]
    dtype: str
    elements: Annotated[int, Meta(ge=1)]
    delivered: Annotated[int, Meta(ge=1)]
    told_apart: bool
    body_seconds: float
    output_shapes: list[list[int | None]]
    environment: dict[str, Any]
    baseline: str
    settings: dict[str, Any]
    seconds: float
    arrangements: list[StoredArrangement]
    prepared: list[PreparedArrangement]
    blocks: list[Block]
    rates: list[Rates]
    holes: list[LeftOut]
    failures: list[FailedArrangement]


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document as JSON, a block on each line."""
    lists = [
        name for name, value in document.items() if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    head = json.dumps({name: value for name, value in document.items() if name not in lists}, indent=1)
    parts = []
    for name in lists:
        rows = "".join(f"\n  {json.dumps(row)}," for row in document[name]).removesuffix(",")
        parts.append(f' "{name}": [{rows}\n ]')
    return ",\n".join((head.removesuffix("\n}"), *parts)) + "\n}\n"


def _fits_together(document: Mapping[str, Any]) -> None:
    keys = {one["key"]: one for one in document["arrangements"]}
    for name in ("prepared", "blocks"):
        for row in document[name]:
            keys[row["key"]]
    if document["baseline"] not in {row["key"] for row in document["blocks"]}:
        raise ValueError("the baseline has no block")  # it is measured first, or there is no document
    for place, row in enumerate(document["rates"]):
        if (row["one_process"] is None) != (row["processes"] is None):
            raise ValueError(f"rates[{place}]: one_process and processes must both be numbers or both be null")


KIND = SideFile(COMMAND, SCHEMA, PipelineMeasurement, _fits_together)


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        BadInput: it is not one of `pyopbench pipeline`, or of another schema.
    """
    return KIND.load(path)
