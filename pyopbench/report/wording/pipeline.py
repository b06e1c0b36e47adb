"""What to do about a callback in an input pipeline, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.model import formatting
from pyopbench.report.wording.decisions import NO_LOSS_DIGITS

if TYPE_CHECKING:
    from pyopbench.judge.lock_share import LockShare
    from pyopbench.judge.pipeline import PipelineJudgement, Throughput

ACTIONS = {
    "keep": "keep the callback as it is",
    "parallel": "raise num_parallel_calls",
    "switch": "switch to another callback",
    "batch": "batch first",
    "processes": "move the body to processes",
    "outside": "move the work out of tf.data",
    "port": "port the body",
    "undecided": "undecided",
}
THROUGHPUT_ALT = "elements a second of each arrangement, with intervals, on a logarithmic axis"
SCALING_ALT = "how many times the calls of one thread several threads and processes give, with the line of Amdahl's law"
HOLDS, RELEASES = 0.8, 0.2
"""From which share on a body is said to hold the lock, and up to which one to let go of it."""


def answer_text(judgement: PipelineJudgement) -> str:
    """Return what to do, with the change in one line where there is one."""
    chosen = judgement.chosen
    words = ACTIONS[judgement.action]
    if chosen is None or judgement.action == "keep":
        return words
    return f"{words}: {chosen.arrangement.code}"


def why_text(judgement: PipelineJudgement) -> str:
    """Return what the answer rests on."""
    chosen, gain = judgement.chosen, judgement.choice.gain
    if chosen is None:
        return _undecided_text(judgement)
    if judgement.action == "keep":
        return _keep_text(judgement)
    assert gain is not None
    times = formatting.ratio_interval(gain.value, gain.low, gain.high)
    felt = "as many steps a second" if judgement.is_not_hidden else "as many elements a second"
    return f"{times} {felt} as with the current callback. Nothing that takes less work is as good."


def _undecided_text(judgement: PipelineJudgement) -> str:
    best = judgement.choice.gain
    if any(one["key"] == judgement.document["baseline"] for one in judgement.document["failures"]):
        return "The current callback failed, so there is nothing to compare with."
    if best is None or not best.change.known:
        return "One launch gives no interval: give it more time (--budget)."
    return f"{best.label} may be better, but the intervals are too wide to say: give it more time (--budget)."


def _keep_text(judgement: PipelineJudgement) -> str:
    if judgement.is_hidden:
        return "The input is not the bottleneck: it is ready before the step asks for it."
    best = judgement.choice.gain
    if best is None:
        return "No other arrangement could be measured."
    return f"Nothing saves more than {formatting.percent(judgement.choice.minimum_effect)} of the time per element."


def loss_text(judgement: PipelineJudgement) -> str:
    """Return what the answer may cost against the best; empty where there is no answer or no interval."""
    loss = judgement.choice.loss
    if loss is None or not math.isfinite(loss):
        return ""
    if round(loss, NO_LOSS_DIGITS) <= 0:
        return "No other arrangement is better."
    return f"It costs at most {formatting.points(loss)} of the current time per element more than the best."


def as_good_text(judgement: PipelineJudgement) -> str:
    """Return which other arrangements are about as good; empty where none is."""
    others = judgement.choice.as_good
    return f"About as good, for as much effort or more: {formatting.listing(others)}." if others else ""


def step_text(judgement: PipelineJudgement) -> str:
    """Return how the input compares with the step, or from which step time on it stops mattering."""
    step, current = judgement.step, judgement.current
    seconds, low, high = judgement.input_seconds(current)
    taken = formatting.seconds_interval(seconds, low, high)
    batch = formatting.count(step.elements, "element")
    if step.seconds is None:
        return (
            f"The input of a step of {batch} takes {taken}. If your step takes longer, the input is hidden behind it; "
            "give your step time with --step-ms."
        )
    share = formatting.percent(seconds / step.seconds)
    of_step = f"The input of a step of {batch} takes {taken}, {share} of the step ({formatting.seconds(step.seconds)})"
    if judgement.is_hidden:
        return f"{of_step}. It could take {formatting.ratio(step.seconds / seconds)} as long and still be hidden."
    if not judgement.is_not_hidden:
        return f"{of_step}. Whether it is hidden behind the step is too close to say."
    return f"{of_step}, so the step waits for its input. {_predicted(judgement)}"


def _predicted(judgement: PipelineJudgement) -> str:
    now = judgement.steps_per_second(judgement.current)
    after = None if judgement.chosen is None else judgement.steps_per_second(judgement.chosen)
    if now is None:
        return ""
    words = f"Expect {_rate_text(now)} steps a second now"
    if after is None or judgement.action == "keep":
        return f"{words}."
    return f"{words} and {_rate_text(after)} after the change, if nothing else slows the step down."


def _rate_text(rate: tuple[float, float, float]) -> str:
    """Return a number with its interval, where it has one."""
    value, low, high = rate
    interval = f" ({formatting.number(low)}–{formatting.number(high)})" if math.isfinite(low) else ""
    return f"{formatting.number(value)}{interval}"


def lock_text(lock: LockShare | None, bound: float | None) -> str:
    """Return how much of the body holds the lock.

    Args:
        lock: what is known of it.
        bound: `PipelineJudgement.threads_bound`.
    """
    if lock is None:
        return "How much of the body holds the GIL was not measured."
    scaled = (
        f"{lock.many} threads give {formatting.ratio(lock.thread_speedup)} the calls of one, "
        f"{lock.many} processes {formatting.ratio(lock.process_speedup)} those of one"
    )
    if not lock.is_known:
        return f"GIL: {scaled}. Nothing scales here, so other limits hide the effect of the GIL."
    share = formatting.percent(lock.share)
    if math.isfinite(lock.low):
        share += f" ({formatting.percent(lock.low)} to {formatting.percent(lock.high)})"
    return f"GIL: held for {share} of the body ({scaled}). {_advice(lock, bound)}"


def _advice(lock: LockShare, bound: float | None) -> str:
    if bound is None:
        return (
            "A map with parallel calls gains more than this share allows, because more than the body runs in parallel."
        )
    if lock.share >= HOLDS:
        return "Threads do not help: parallel calls wait for one another."
    if lock.share <= RELEASES:
        return "Threads help: parallel calls run at the same time."
    return f"With any number of threads, the body is at most {formatting.ratio(bound)} as fast."


def unsteady_text(throughputs: Sequence[Throughput]) -> str:
    """Return what had not become steady before it was measured; empty where everything had."""
    keys = [one.arrangement.key for one in throughputs if not one.is_steady]
    return (
        f"Not steady while measured, perhaps because the machine was busy: {formatting.listing(keys)}." if keys else ""
    )


def pool_text(of: Throughput) -> str:
    """Return what starting its processes takes."""
    return f"Starting the processes takes {formatting.seconds(of.pool_start_seconds)} once, which is not included."
