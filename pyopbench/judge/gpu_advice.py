"""What an answer means where data live on a GPU: copies that it saves there, and copies that it does not.

Ratios of a run on the CPU know nothing of copies, so an answer stands on them alone, and this stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyopbench.judge.copies_advice import Copied, CopiesAdvice, DataOnDevice, NotCounted, PinToHost
from pyopbench.judge.decision import Decision
from pyopbench.model.case import SIMULATED
from pyopbench.model.label import Label
from pyopbench.model.places import DEVICE, HOST
from pyopbench.store.counted_copies import Row, best_at

MODES = {"node": "call"}
"""A node of a graph is counted as a call of one: what an op copies does not depend on how many there are of it."""
DIRECTIONS = {"inference": "forward", "training": "forward_backward"}


def advice_on_copies(decision: Decision, rows: Sequence[Row]) -> tuple[CopiesAdvice, ...]:
    """Return what counted copies add to a decision; nothing where they were not counted for its callback.

    Args:
        decision: of any placement.
        rows: counted copies of any ops.
    """
    setting = (decision.op, MODES.get(decision.mode, decision.mode), DIRECTIONS[decision.use])
    mine = [row for row in rows if (row.case.op, row.case.mode, row.case.direction) == setting]
    found = (_on_device(decision, mine), _on_host(decision, mine))
    return tuple(advice for advice in found if advice is not None)


def _on_device(decision: Decision, rows: Sequence[Row]) -> DataOnDevice | None:
    best = best_at(rows, DEVICE)
    today = best.get(_variant(decision.baseline))
    if today is None:
        return None
    afterwards = None if decision.choice is None else _afterwards(decision.choice, best, rows)
    saved = isinstance(afterwards, Copied) and not afterwards.copies
    still = tuple(name for name, row in sorted(best.items()) if not row.copies)
    free = () if saved or not today.copies else still
    return DataOnDevice(decision.baseline, _copied(today), decision.choice, afterwards, free)


def _afterwards(choice: str, best: Mapping[str, Row], rows: Sequence[Row]) -> Copied | NotCounted:
    """Return what the choice copies, or why that is not known; a simulated device refuses what a real one may take."""
    name = _variant(choice)
    refused = [row for row in rows if row.case.variant == name and row.pinned == DEVICE and row.refused]
    if refused and refused[0].case.placement == SIMULATED:
        return NotCounted(choice, "simulated")
    if refused:
        return NotCounted(choice, "refused", refused[0].refused)
    return _copied(best[name]) if name in best else NotCounted(choice, "left_out")


def _on_host(decision: Decision, rows: Sequence[Row]) -> PinToHost | None:
    """Return what to pin where data live on the host and an op that nobody pins goes by the device all the same."""
    name = _variant(decision.choice or decision.baseline)
    there = [row for row in rows if (row.case.variant, row.inputs, row.result) == (name, HOST, HOST)]
    loose = next((row for row in there if row.pinned == "unpinned" and not row.refused), None)
    pinned = next((row for row in there if row.pinned == HOST and not row.refused), None)
    if loose is None or pinned is None or not loose.copies:
        return None
    return PinToHost(name, _copied(pinned))


def _copied(row: Row) -> Copied:
    return Copied(row.copies, sum(row.moved), row.case.size, row.pinned)


def _variant(label: str) -> str:
    """Return the variant of a label, which may name its gradient too."""
    return Label.parse(label).variant
