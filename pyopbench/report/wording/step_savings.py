"""What a port is worth in a step of the user's program, in words."""

from __future__ import annotations

from pyopbench.judge.step_savings import Step, Worth, best
from pyopbench.model import formatting


def step_text(step: Step) -> str:
    """Return what was given, and what follows from it for every port."""
    calls = f"{formatting.number(step.calls)} {'call' if step.calls == 1 else 'calls'}"
    return (
        f"For your step of {formatting.seconds(step.seconds)} with {calls} of the op. The op's share is the measured "
        "time of its calls, one after another. If calls in your program wait for the GIL, it is larger, and a port can "
        "save more."
    )


def worth_text(worth: Worth, name: str) -> str:
    """Return which share of the step an op has, what the step would be without it, and what the surest port saves.

    Args:
        worth: of one op for one use.
        name: of that op and use, and of where it holds.
    """
    takes = f"{name}: {_call_text(worth)}, {formatting.percent(worth.share)} of the step"
    if worth.overlaps:
        return f"{_overlapping(worth, name)} {_of_calls(worth)}"
    ceiling = f"without it the step would be about {formatting.ratio(worth.ceiling)} as fast"
    surest = best(worth.ports)
    if surest is None:
        return f"{takes}; {ceiling}. No port is certain to save time."
    saved = f"{surest.label} saves at least {formatting.number(surest.hours_low)} hours per million steps"
    return f"{takes}; {ceiling}. {saved}."


def _call_text(worth: Worth) -> str:
    """Return what a call takes now, one after another and, where that is more, with other ops between them."""
    usual, apart = formatting.seconds(worth.call_seconds), formatting.seconds(worth.apart_seconds)
    if apart == usual or not worth.apart_seconds > worth.call_seconds:
        return f"{usual} per call"
    return f"{usual} per call (up to {apart} if other ops run between the calls)"


def _overlapping(worth: Worth, name: str) -> str:
    """Return that calls of an op are under way at the same time, and what that leaves open."""
    return (
        f"{name}: {_call_text(worth)}. All calls together take {formatting.number(worth.share)} times as long as the "
        f"step, so at least {worth.at_once} overlap (or your step was timed on another machine), and how much of the "
        "step a port saves is unknown."
    )


def _of_calls(worth: Worth) -> str:
    """Return what is known of the gain of a step whose calls overlap: that of the calls."""
    surest = best(worth.ports)
    if surest is None:
        return "No port is certain to save time."
    saved = f"at least {formatting.percent(surest.saved_low)}"
    return f"{surest.label} saves {saved} of the time of the calls; time a step with it to see what the step gains."
