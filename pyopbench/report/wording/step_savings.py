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
    takes = (
        f"{name}: {formatting.seconds(worth.call_seconds)} a call today, {formatting.percent(worth.share)} of the step"
    )
    if worth.share >= 1:
        return f"{takes}: more than there is, so calls overlap, or the step or the calls are not those of this machine."
    ceiling = (
        f"if it cost nothing at all, the step would be {formatting.ratio(worth.ceiling)} as fast, and no port does more"
    )
    surest = best(worth.ports)
    if surest is None:
        return f"{takes}; {ceiling}. No port saves time for sure."
    saved = f"{surest.label} saves at least {formatting.number(surest.hours_low)} hours per million steps"
    return f"{takes}; {ceiling}. {saved}."
