"""What a port is worth in a step of the user's program, in words."""

from __future__ import annotations

from pyopbench.core import formatting
from pyopbench.judge.step_savings import Step, Worth, best


def step_text(step: Step) -> str:
    """Return what was given, and what follows from it for every port."""
    calls = f"{formatting.number(step.calls)} {'call' if step.calls == 1 else 'calls'}"
    return (
        f"For a step of {formatting.seconds(step.seconds)} with {calls} of the op, as they were given. What is not "
        "the op "
        "stays as it is (Amdahl's law), so the op's share of the step is all that a port can save."
    )


def worth_text(worth: Worth, name: str) -> str:
    """Return which share of the step an op has, how far any port could get, and what the surest one saves.

    Args:
        worth: of one op for one use.
        name: of that op and use, and of where it holds.
    """
    takes = f"{name}: {_call_text(worth)}, {formatting.percent(worth.share)} of the step"
    if worth.overlaps:
        return f"{_overlapping(worth, name)} {_at_most(worth)}"
    ceiling = (
        f"if it cost nothing at all, the step would be {formatting.ratio(worth.ceiling)} as fast, and no port does more"
    )
    surest = best(worth.ports)
    if surest is None:
        return f"{takes}; {ceiling}. No port saves time for sure."
    saved = f"{surest.label} saves at least {formatting.number(surest.hours_low)} hours per million steps"
    return f"{takes}; {ceiling}. {saved}."


def _call_text(worth: Worth) -> str:
    """Return what a call takes today, one after another and, where that is more, with other ops between them."""
    usual, apart = formatting.seconds(worth.call_seconds), formatting.seconds(worth.apart_seconds)
    if apart == usual or not worth.apart_seconds > worth.call_seconds:
        return f"{usual} a call today"
    return f"{usual} a call today (up to {apart} with other ops between the calls, and so much more to save)"


def _overlapping(worth: Worth, name: str) -> str:
    """Return that calls of an op are under way at the same time, and what that leaves open."""
    return (
        f"{name}: {_call_text(worth)}, and all calls together take "
        f"{formatting.number(worth.share)} times as long as the step, so they overlap, at least {worth.at_once} at a "
        "time (or the step or the calls are not those of this machine). What a port saves of the step cannot be told "
        "from that: it may wait for these calls or for something else."
    )


def _at_most(worth: Worth) -> str:
    """Return what bounds the gain of a step whose calls overlap: that of the op itself."""
    surest = best(worth.ports)
    if surest is None:
        return "No port saves time for sure."
    saved = f"at least {formatting.percent(surest.saved_low)}"
    return (
        f"{surest.label} saves {saved} of the time of the calls; the step gains no more than they do. Time a step with "
        "it to know."
    )
