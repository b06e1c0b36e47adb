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
from typing import Any

from pyopbench import text
from pyopbench.documents import Kind
from pyopbench.model import Case
from pyopbench.places import DEVICE, HOST, PLACES, UNPINNED, Route
from pyopbench.store import write_atomically

SCHEMA = 1
FILE = "placement.json"
"""Its name beside the results of a run, where the report finds it."""
STATES = ("fresh", "warm")
MODE_WORDS = {"call": "in a tf.function", "eager": "eager"}
BOUNCES, EXCESS = "*", "+"
MARKS = {
    BOUNCES: "more goes to the device, and more to the host, than has to",
    EXCESS: "more goes one way than has to",
}
PYTHON_BODIES = ("numpy", "numba")
SETTINGS = (("call", "forward"), ("call", "forward_backward"), ("eager", "forward"), ("eager", "forward_backward"))
"""Mode and direction of each table."""


@dataclass(frozen=True)
class Row:
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


def rows_of(document: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a document that `pyopbench placement` wrote, in its order."""
    bodies = document["variants"]
    return [_row(content, document["ops"], bodies) for content in document["rows"]]


def _row(content: Mapping[str, Any], ops: Mapping[str, Any], variants: Mapping[str, Any]) -> Row:
    case = Case.from_id(content["case"])
    variant = variants[case.variant]
    return Row(
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


def least_bytes(row: Row) -> tuple[int, int]:
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


def sentences(row: Row) -> list[str]:
    """Return in words what a reader of the counts would miss: refusals, fallbacks, results that move by themselves."""
    if row.refused:
        return [f"refused: {row.refused}"]
    told = []
    if row.pinned == DEVICE and not row.python and HOST in row.outputs_on:
        told.append("falls back: pinned to the device, it computes on the host, for want of a kernel there")
    if row.python and DEVICE in row.outputs_on:
        told.append("its Python computes on the host, and TensorFlow puts the result on the device")
    if row.callback and not row.python and row.pinned == HOST and all(row.beyond):
        told.append("its body runs without the device scope that the op is pinned by, and so its ops run on the device")
    if row.pinned == HOST and DEVICE in row.gradients_on:
        told.append("a device scope around the op does not reach its gradient, which TensorFlow leaves on the device")
    if row.varies:
        told.append("counts differ from call to call")
    return told


def mark(row: Row) -> str:
    """Return `*` where bytes go both ways for nothing, `+` where they go one way for nothing, else nothing."""
    if row.refused or not any(row.beyond):
        return ""
    return BOUNCES if all(row.beyond) else EXCESS


def count_text(row: Row, state: str = "fresh") -> str:
    """Return the copies to the device and to the host, marked: `1↑ 2↓ *`, or `none`."""
    if row.refused:
        return "refused"
    counts = row.counts[state]
    arrows = ((counts["to_device"][0], "↑"), (counts["to_host"][0], "↓"))
    parts = [f"{count:,}{arrow}" for count, arrow in arrows if count] or ["none"]
    return " ".join((*parts, *filter(None, [mark(row)])))


def remedy_sentences(rows: Sequence[Row], remedies: Mapping[str, str]) -> list[str]:
    """Return what each remedy saves of the variant that it stands in for, pinned to the host with all data there."""
    found = {
        (row.case.mode, row.case.direction, row.case.variant): row
        for row in rows
        if (row.pinned, row.route) == (HOST, (HOST, HOST)) and not row.refused
    }
    told = []
    for (mode, direction, variant), row in found.items():
        remedy = found.get((mode, direction, remedies.get(variant, "")))
        if remedy is not None and remedy.copies < row.copies:
            where = f"{text.direction(direction)}, {MODE_WORDS[mode]}, everything on the host"
            counts = f"{_plain(row)} with {variant}, {_plain(remedy)} with {remedy.case.variant}"
            told.append(f"{where}: {counts}")
    return told


def _plain(row: Row) -> str:
    return count_text(row).removesuffix(mark(row)).strip()


def where_to_run(op: str, rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each place that inputs and result are both on: what copies nothing there, and what does.

    Only calls of a `tf.function` count, forward and backward if the op has a gradient.
    """
    mine = [row for row in rows if row.case.op == op and row.case.mode == "call" and not row.refused]
    deepest = "forward_backward" if any(row.case.direction == "forward_backward" for row in mine) else "forward"
    mine = [row for row in mine if row.case.direction == deepest]
    return [told for place in reversed(PLACES) if (told := _told_at(op, place, mine, deepest))]


def best_at(rows: Iterable[Row], place: str) -> dict[str, Row]:
    """Return for each variant the row of the pinning that moves least, with inputs and result on a place."""
    best: dict[str, Row] = {}
    for row in rows:
        if row.route == (place, place) and not row.refused:
            known = best.get(row.case.variant)
            best[row.case.variant] = row if known is None or sum(row.moved) < sum(known.moved) else known
    return best


def _told_at(op: str, place: str, rows: Sequence[Row], direction: str) -> str:
    best = best_at(rows, place)
    if not best:
        return ""
    still = [f"{name} ({pinned_text(row)})" for name, row in sorted(best.items()) if not row.copies]
    least: dict[int, list[str]] = {}
    for name, row in sorted(best.items()):
        if row.copies:
            least.setdefault(sum(row.moved), []).append(f"{name} ({pinned_text(row)})")
    told = f"{op}, {text.direction(direction)}, with inputs and result on the {place}: "
    told += f"nothing crosses with {text.listing(still)}" if still else "no variant runs without a copy"
    for size, names in sorted(least.items()):
        told += f"; at least {text.byte_count(size)} per call with {text.listing(names)}"
    return f"{told}."


def pinned_text(row: Row) -> str:
    """Return where the op of a row is pinned, in words."""
    return row.pinned if row.pinned == UNPINNED else f"pinned to the {row.pinned}"


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document, whole or not at all; the same document gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, as_json(document).encode())


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


_KIND = Kind("pyopbench placement", SCHEMA, rows_of)
