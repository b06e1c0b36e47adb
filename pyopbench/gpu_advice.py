"""What an answer means where data live on a GPU: copies that it saves there, and copies that it does not; in sentences.

Ratios of a run on the CPU know nothing of copies, so an answer stands on them alone, and this stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyopbench import text
from pyopbench.decision import Decision
from pyopbench.model import SIMULATED
from pyopbench.routes import DEVICE, HOST, Row, best_at, pinned_text

MODES = {"node": "call"}
"""A node of a graph is counted as a call of one: what an op copies does not depend on how many there are of it."""
DIRECTIONS = {"inference": "forward", "training": "forward_backward"}


def with_copies(decision: Decision, rows: Sequence[Row]) -> str:
    """Return what counted copies add to a decision; nothing where they were not counted for its callback.

    Args:
        decision: of any placement.
        rows: counted copies of any ops.
    """
    setting = (decision.op, MODES.get(decision.mode, decision.mode), DIRECTIONS[decision.use])
    mine = [row for row in rows if (row.case.op, row.case.mode, row.case.direction) == setting]
    told = [_on_device(decision, mine), _on_host(decision, mine)]
    return " ".join(sentence for sentence in told if sentence)


def _on_device(decision: Decision, rows: Sequence[Row]) -> str:
    best = best_at(rows, DEVICE)
    today = best.get(_variant(decision.baseline))
    if today is None:
        return ""
    head = f"With data on the device {decision.baseline} moves at least {_moved(today)}"
    if not today.copies:
        head = f"With data on the device {decision.baseline} copies nothing ({pinned_text(today)})"
    return f"{head}{_afterwards(decision, today, best, rows)}."


def _afterwards(decision: Decision, today: Row, best: Mapping[str, Row], rows: Sequence[Row]) -> str:
    """Return how the choice stands to that; for keep and undecided, which variants would copy nothing."""
    still = [name for name, row in sorted(best.items()) if not row.copies]
    free = f"; nothing crosses with {text.listing(still)}" if still and today.copies else ""
    if decision.choice is None:
        return free
    chosen = best.get(_variant(decision.choice))
    unknown = _why_not_known(_variant(decision.choice), rows)
    if unknown or chosen is None:
        return f"; what {decision.choice} would move is not known: {unknown or 'it was not counted'}{free}"
    if not chosen.copies:
        saved = ", all of which is saved too: {} copies nothing" if today.copies else ", and neither does {}"
        return f"{saved.format(decision.choice)} ({pinned_text(chosen)})"
    if sum(chosen.moved) < sum(today.moved):
        return f", and {decision.choice} only {_moved(chosen)}{free}"
    return f", and {decision.choice} saves none of that: at least {_moved(chosen)}{free}"


def _on_host(decision: Decision, rows: Sequence[Row]) -> str:
    """Return what to pin where data live on the host and an op that nobody pins goes by the device all the same."""
    name = _variant(decision.choice or decision.baseline)
    there = [row for row in rows if (row.case.variant, row.inputs, row.result) == (name, HOST, HOST)]
    loose = next((row for row in there if row.pinned == "unpinned" and not row.refused), None)
    pinned = next((row for row in there if row.pinned == HOST and not row.refused), None)
    if loose is None or pinned is None or not loose.copies:
        return ""
    head = f"With data on the host {name} goes by the device unless it is pinned to the host"
    if not pinned.copies:
        return f"{head}, where nothing crosses."
    return f"{head}, and pinned there still moves {_moved(pinned)}."


def _why_not_known(variant: str, rows: Sequence[Row]) -> str:
    """Return why a variant has no counts on the device; the simulated one refuses what a real one may take (XLA)."""
    refused = [row for row in rows if row.case.variant == variant and row.pinned == DEVICE and row.refused]
    if not refused:
        return ""
    simulated = refused[0].case.placement == SIMULATED
    return "the simulated device has no way to run it" if simulated else f"it was refused ({refused[0].refused})"


def _moved(row: Row) -> str:
    copies = text.count(row.copies, "copy", "copies")
    return f"{text.byte_count(sum(row.moved))} in {copies} per call of {text.size(row.case.size)} ({pinned_text(row)})"


def _variant(label: str) -> str:
    """Return the variant of a label, which may name its gradient too."""
    return label.partition("+")[0]
