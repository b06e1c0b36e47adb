"""What an answer means where data live on a GPU, in words."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.judge.copies_advice import Copied, CopiesAdvice, DataOnDevice, NotCounted, PinToHost
from pyopbench.model import formatting


def advice_text(advice: CopiesAdvice) -> str:
    """Return what counted copies add to a decision, as a sentence."""
    return _on_device(advice) if isinstance(advice, DataOnDevice) else _pin(advice)


def _on_device(advice: DataOnDevice) -> str:
    today = advice.today
    moves = f"copies at least {_moved(today)}" if today.copies else f"copies nothing ({_pinned(today)})"
    free = f"; {formatting.listing(advice.free)} copies nothing" if len(advice.free) == 1 else _free(advice.free)
    return f"With data on the device, {advice.baseline} {moves}{_afterwards(advice)}{free}."


def _free(variants: Sequence[str]) -> str:
    return f"; {formatting.listing(variants)} copy nothing" if variants else ""


def _afterwards(advice: DataOnDevice) -> str:
    choice, after, today = advice.choice, advice.afterwards, advice.today
    if after is None:
        return ""
    if isinstance(after, NotCounted):
        return f"; what {choice} would copy is unknown: {_why_not(after)}"
    if not after.copies:
        saved = ", which {} saves: it copies nothing" if today.copies else ", and neither does {}"
        return f"{saved.format(choice)} ({_pinned(after)})"
    if after.moved_bytes < today.moved_bytes:
        return f", and {choice} only {_moved(after)}"
    return f", and {choice} at least as much: {_moved(after)}"


def _pin(advice: PinToHost) -> str:
    head = f"With data on the host, {advice.variant} copies to the device unless you pin it to the host"
    if not advice.pinned.copies:
        return f"{head}, where it copies nothing."
    return f"{head}; even there it copies {_moved(advice.pinned)}."


def _why_not(missing: NotCounted) -> str:
    match missing.why:
        case "simulated":
            return "the simulated device cannot run it"
        case "refused":
            return f"it was refused ({missing.message})"
        case "left_out":
            return "it was not counted"


def _moved(copied: Copied) -> str:
    copies = formatting.count(copied.copies, "copy", "copies")
    return (
        f"{formatting.byte_count(copied.moved_bytes)} in {copies} per call of {formatting.size(copied.size)} "
        f"({_pinned(copied)})"
    )


def _pinned(copied: Copied) -> str:
    return copied.pinned if copied.pinned == "unpinned" else f"pinned to the {copied.pinned}"
