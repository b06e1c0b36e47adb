"""Counted copies, as the file that `pyopbench placement` writes, and what they mean.

What has to cross at least is worked out from three places: where the inputs are, where the op computes, where the
result is used. A NumPy body computes on the host wherever its op is pinned; anything else computes where it leaves its
result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pyopbench.model.case import Case
from pyopbench.model.places import DEVICE, HOST, PLACES, ROUTES, Route
from pyopbench.store.side_file import Placement, SideFile

SCHEMA = 1
FILE = "placement.json"
"""Its name beside the results of a run, where the report finds it."""
STATES = ("fresh", "warm")
PYTHON_BODIES = ("numpy", "numba")
SETTINGS = (("call", "forward"), ("call", "forward_backward"), ("eager", "forward"), ("eager", "forward_backward"))
"""Mode and direction of each table."""


@dataclass(frozen=True)
class CopiesRow:
    """What one call of a case copies on one route.

    Attributes:
        case: the case, of placement `simgpu` or `gpu`.
        pinned: one of `places.PINS`.
        inputs, result: `host` or `device`.
        refused: why there are no counts; else empty.
        counts: state -> `to_device`, `to_host` or `on_device` -> copies and bytes.
        varies: do counts differ from one call to the next?
        outputs_on, gradients_on: where the results were before they were used.
        arrays: bytes of `inputs`, `outputs`, `output_gradients` and `input_gradients`.
        callback: is the variant a callback?
        python: does its body compute on arrays, in Python?
    """

    case: Case
    pinned: str
    inputs: str
    result: str
    refused: str
    counts: Mapping[str, Mapping[str, Sequence[int]]]
    varies: bool
    outputs_on: tuple[str, ...]
    gradients_on: tuple[str, ...]
    arrays: Mapping[str, int]
    callback: bool
    python: bool

    @property
    def route(self) -> Route:
        """From where to where the data of the call go."""
        return Route(self.inputs, self.result)

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes to the device and to the host, of a call with fresh inputs."""
        fresh = self.counts["fresh"]
        return fresh["to_device"][1], fresh["to_host"][1]

    @property
    def copies(self) -> int:
        """Copies to the device and to the host, of a call with fresh inputs."""
        fresh = self.counts["fresh"]
        return fresh["to_device"][0] + fresh["to_host"][0]

    @property
    def computes(self) -> str:
        """Where the op computes: `host` or `device`."""
        return HOST if self.python or HOST in self.outputs_on else DEVICE

    @property
    def beyond(self) -> tuple[int, int]:
        """Bytes to the device and to the host beyond the least that has to cross."""
        least = least_bytes(self)
        return max(self.moved[0] - least[0], 0), max(self.moved[1] - least[1], 0)


def rows_of(document: Mapping[str, Any]) -> list[CopiesRow]:
    """Return the rows of a document that `pyopbench placement` wrote, in its order."""
    bodies = document["variants"]
    return [_row(content, document["ops"], bodies) for content in document["rows"]]


def _row(content: Mapping[str, Any], ops: Mapping[str, Any], variants: Mapping[str, Any]) -> CopiesRow:
    case = Case.from_id(content["case"])
    variant = variants[case.variant]
    return CopiesRow(
        case=case,
        pinned=content["pinned"],
        inputs=content["inputs"],
        result=content["result"],
        refused=content.get("refused", ""),
        counts={state: content[state] for state in STATES if state in content},
        varies=content.get("varies", False),
        outputs_on=tuple(content.get("outputs_on", ())),
        gradients_on=tuple(content.get("gradients_on", ())),
        arrays=ops[case.op]["arrays"],
        callback=variant["kind"] == "callback",
        python=variant["kind"] == "callback" and variant["body"] in PYTHON_BODIES,
    )


def least_bytes(row: CopiesRow) -> tuple[int, int]:
    """Return the bytes that have to go to the device and to the host, given where the op computes.

    Forward, the inputs go to where it computes and the outputs to where they are used. Backward, the gradients of the
    outputs come from there and go to where the gradient is computed, which also needs the inputs, and the gradients of
    the inputs go to where those are.
    """
    crossings = [("inputs", row.inputs, row.computes), ("outputs", row.computes, row.result)]
    if row.case.direction != "forward":
        back = HOST if row.python or HOST in row.gradients_on else DEVICE
        crossings += [("output_gradients", row.result, back), ("input_gradients", back, row.inputs)]
        if back not in (row.inputs, row.computes):
            crossings.append(("inputs", row.inputs, back))
    to_device = sum(row.arrays[array] for array, start, end in crossings if (start, end) == (HOST, DEVICE))
    to_host = sum(row.arrays[array] for array, start, end in crossings if (start, end) == (DEVICE, HOST))
    return to_device, to_host


NoteKind = Literal["refused", "falls_back", "result_moved", "body_unpinned", "gradient_unpinned", "varies"]
Excess = Literal["none", "one_way", "both_ways"]


@dataclass(frozen=True)
class Note:
    """What a reader of the counts would miss.

    Attributes:
        kind: `refused`: there are no counts. `falls_back`: pinned to the device, the op computes on the host.
            `result_moved`: its Python computes on the host, and the result is left on the device. `body_unpinned`: the
            body of a callback that is pinned to the host runs its ops on the device. `gradient_unpinned`: pinned to the
            host, the gradient is left on the device. `varies`: counts differ from call to call.
        message: the reason of a refusal; else empty.
    """

    kind: NoteKind
    message: str = ""


@dataclass(frozen=True)
class RemedySaving:
    """A variant that copies more than the variant that can be written instead, everything on the host.

    Attributes:
        row: of the variant.
        remedy: of what stands in for it, in the same mode and direction.
    """

    row: CopiesRow
    remedy: CopiesRow


@dataclass(frozen=True)
class CopiesAtPlace:
    """What the variants of an op copy where inputs and result are on one place.

    Attributes:
        op, direction, place: of all of them.
        best: the row of the pinning that moves least, by variant.
    """

    op: str
    direction: str
    place: str
    best: Mapping[str, CopiesRow]


def notes(row: CopiesRow) -> list[Note]:
    """Return what a reader of a row would miss: refusals, fallbacks, results that TensorFlow moves."""
    if row.refused:
        return [Note("refused", row.refused)]
    kinds: dict[NoteKind, bool] = {
        "falls_back": row.pinned == DEVICE and not row.python and HOST in row.outputs_on,
        "result_moved": row.python and DEVICE in row.outputs_on,
        "body_unpinned": row.callback and not row.python and row.pinned == HOST and all(row.beyond),
        "gradient_unpinned": row.pinned == HOST and DEVICE in row.gradients_on,
        "varies": row.varies,
    }
    return [Note(kind) for kind, holds in kinds.items() if holds]


def excess(row: CopiesRow) -> Excess:
    """Return whether more bytes cross than have to: one way, or both ways."""
    if row.refused or not any(row.beyond):
        return "none"
    return "both_ways" if all(row.beyond) else "one_way"


def remedy_savings(rows: Sequence[CopiesRow], remedies: Mapping[str, str]) -> list[RemedySaving]:
    """Return where a remedy copies less than the variant that it stands in for, pinned to the host with all data there.

    Args:
        rows: of one op.
        remedies: variant -> what to write instead.
    """
    on_host = {
        (row.case.mode, row.case.direction, row.case.variant): row
        for row in rows
        if (row.pinned, row.route) == (HOST, (HOST, HOST)) and not row.refused
    }
    pairs = [
        (row, on_host.get((mode, direction, remedies.get(variant, ""))))
        for (mode, direction, variant), row in on_host.items()
    ]
    return [RemedySaving(row, remedy) for row, remedy in pairs if remedy is not None and remedy.copies < row.copies]


def copies_at_places(op: str, rows: Iterable[CopiesRow]) -> list[CopiesAtPlace]:
    """Return for each place that inputs and result are both on what each variant of an op copies at least.

    Only calls of a `tf.function` count, forward and backward if the op has a gradient.
    """
    mine = [row for row in rows if row.case.op == op and row.case.mode == "call" and not row.refused]
    deepest = "forward_backward" if any(row.case.direction == "forward_backward" for row in mine) else "forward"
    mine = [row for row in mine if row.case.direction == deepest]
    found = [CopiesAtPlace(op, deepest, place, best_at(mine, place)) for place in reversed(PLACES)]
    return [copies for copies in found if copies.best]


def best_at(rows: Iterable[CopiesRow], place: str) -> dict[str, CopiesRow]:
    """Return for each variant the row of the pinning that moves least, with inputs and result on a place."""
    best: dict[str, CopiesRow] = {}
    for row in rows:
        if row.route == (place, place) and not row.refused:
            known = best.get(row.case.variant)
            best[row.case.variant] = row if known is None or sum(row.moved) < sum(known.moved) else known
    return best


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document, whole or not at all; the same document gives the same bytes."""
    _KIND.write(path, as_json(document))


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document as JSON, a row on each line, so that two of them can be compared line by line."""
    lists = ("rows", "failures", "holes")
    head = json.dumps({key: value for key, value in document.items() if key not in lists}, indent=1)
    parts = [f' "{name}": [{_one_a_line(document[name])}]' for name in lists]
    return ",\n".join((head.removesuffix("\n}"), *parts)) + "\n}\n"


def _one_a_line(rows: Sequence[Any]) -> str:
    return "".join(f"\n  {json.dumps(row)}," for row in rows).removesuffix(",") + ("\n " if rows else "")


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        BadInput: it is not one of `pyopbench placement`, or of another schema.
    """
    return _KIND.load(path)


def _check(document: Mapping[str, Any]) -> None:
    """Refuse rows of unknown ops or variants, and a case that lacks a route or has one twice.

    Raises:
        KeyError: an op or a variant is not described.
        BadInput: an id is not of a case.
        ValueError: the routes of a case are not every route once.
    """
    routes: dict[tuple[Case, str], list[Route]] = {}
    for row in rows_of(document):
        routes.setdefault((row.case, row.pinned), []).append(row.route)
    for (case, pinned), found in routes.items():
        if sorted(found) != sorted(ROUTES):
            raise ValueError(f"{case.id} ({pinned}) is not counted on each of the {len(ROUTES)} routes once")


_KIND = SideFile("pyopbench placement", SCHEMA, Placement, _check)
