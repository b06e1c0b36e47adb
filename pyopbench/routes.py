"""What counted copies mean: the least that has to cross, what crosses beyond it, and that in words.

The least is worked out from three places: where the inputs are, where the op computes, where the result is used. A
NumPy body computes on the host wherever its op is pinned; anything else computes where it leaves its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyopbench import text
from pyopbench.model import Case

HOST, DEVICE = "host", "device"
ROUTES = ((HOST, HOST), (HOST, DEVICE), (DEVICE, HOST), (DEVICE, DEVICE))
"""Where inputs are and where the result is used, in the order of tables."""
PINS = ("unpinned", HOST, DEVICE)
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
        pinned: one of `PINS`.
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
    return [_row(one, document["ops"], bodies) for one in document["rows"]]


def _row(one: Mapping[str, Any], ops: Mapping[str, Any], variants: Mapping[str, Any]) -> Row:
    case = Case.from_id(one["case"])
    variant = variants[case.variant]
    return Row(
        case=case,
        pinned=one["pinned"],
        inputs=one["inputs"],
        result=one["result"],
        refused=one.get("refused", ""),
        counts={state: one[state] for state in STATES if state in one},
        varies=one.get("varies", False),
        outputs_on=tuple(one.get("outputs_on", ())),
        gradients_on=tuple(one.get("gradients_on", ())),
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
    trips = [("inputs", row.inputs, row.computes), ("outputs", row.computes, row.result)]
    if row.case.direction != "forward":
        back = HOST if row.python or HOST in row.gradients_on else DEVICE
        trips += [("output_gradients", row.result, back), ("input_gradients", back, row.inputs)]
        if back not in (row.inputs, row.computes):
            trips.append(("inputs", row.inputs, back))
    to_device = sum(row.arrays[array] for array, start, end in trips if (start, end) == (HOST, DEVICE))
    to_host = sum(row.arrays[array] for array, start, end in trips if (start, end) == (DEVICE, HOST))
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


def copies_text(row: Row, state: str = "fresh") -> str:
    """Return the copies to the device and to the host, marked: `1↑ 2↓ *`, or `none`."""
    if row.refused:
        return "refused"
    counts = row.counts[state]
    ways = ((counts["to_device"][0], "↑"), (counts["to_host"][0], "↓"))
    told = [f"{count:,}{way}" for count, way in ways if count] or ["none"]
    return " ".join((*told, *((mark(row),) if mark(row) else ())))


def remedy_sentences(rows: Sequence[Row], remedies: Mapping[str, str]) -> list[str]:
    """Return what each remedy saves of the variant that it stands in for, pinned to the host with all data there."""
    found = {
        (row.case.mode, row.case.direction, row.case.variant): row
        for row in rows
        if (row.pinned, row.inputs, row.result) == (HOST, HOST, HOST) and not row.refused
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
    return copies_text(row).removesuffix(mark(row)).strip()


def where_to_run(op: str, rows: Iterable[Row]) -> list[str]:
    """Return one sentence for each route from a place to the same one: what copies nothing there, and what does not.

    Only calls of a `tf.function` count, forward and backward if the op has a gradient.
    """
    mine = [row for row in rows if row.case.op == op and row.case.mode == "call" and not row.refused]
    deepest = "forward_backward" if any(row.case.direction == "forward_backward" for row in mine) else "forward"
    mine = [row for row in mine if row.case.direction == deepest]
    return [told for place in (DEVICE, HOST) if (told := _told_at(op, place, mine, deepest))]


def best_at(rows: Iterable[Row], place: str) -> dict[str, Row]:
    """Return for each variant the row of the pinning that moves least, with inputs and result on a place."""
    best: dict[str, Row] = {}
    for row in rows:
        if (row.inputs, row.result) == (place, place) and not row.refused:
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
    return row.pinned if row.pinned == "unpinned" else f"pinned to the {row.pinned}"
