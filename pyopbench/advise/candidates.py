"""Candidates: what may replace a callback, and how much of its time, and of a step, each saves as measured."""

from __future__ import annotations

import ast
import math
import statistics
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyopbench.advise.callbacks import Callback, Step, split_by_recording
from pyopbench.judge.decision import Decision
from pyopbench.judge.judge import Judgement
from pyopbench.model import formatting
from pyopbench.model.arrangement import CURRENT, parallel_text, read_key
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.cores import usable_cores
from pyopbench.model.label import Label
from pyopbench.model.portable import BRIDGE
from pyopbench.report import columns

if TYPE_CHECKING:
    from pyopbench.judge.pipeline import PipelineJudgement

PORTS = ("traced", "numba_op", "autograph")
"""What can replace a callback: TensorFlow ops; the body compiled by Numba; or, for a py_function that already
computes with TensorFlow, its unchanged body, converted by AutoGraph."""

MOST_ARRANGEMENTS = 3
"""At most so many arrangements with batches, and as many without, are tried in the program: a `batch` cannot always be
moved."""

BATCH_FORMS = ("batch_body", "batch_loop", "port_batch", "processes")
"""Forms of arrangements for batches that a patch can make."""

PLACEABLE_FORMS = ("map", "port", *BATCH_FORMS)
"""Forms of arrangements that a patch can make."""

PORT_FORMS = ("port", "port_batch")
"""Forms of arrangements that replace the body."""

Action: TypeAlias = Literal["leave", "port", "arrange"]


@dataclass(frozen=True)
class Candidate:
    """What may replace a callback.

    Attributes:
        variant: a port such as `traced`, or in an input pipeline the key of an arrangement, such as `processes`.
        saved: the share of the callback's own time that it saves, measured alone.
        worth: the share of a step of the program that this may be, by which candidates are compared; None before that
            is known.
    """

    variant: str
    saved: float
    worth: float | None = None

    @property
    def action(self) -> Action:
        """What to do: a port replaces the body; an arrangement calls the same body in another way."""
        key = read_key(self.variant)
        is_port = self.variant != BRIDGE if key is None else key.form in PORT_FORMS or key.variant in PORTS
        return "port" if is_port else "arrange"


def variant_text(variant: str) -> str:
    """Return a change in a few words."""
    key = read_key(variant)
    if key is None:
        return f"call it by {BRIDGE}" if variant == BRIDGE else _change_to(variant)
    if key.batch:
        calls = f" in parallel ({parallel_text(key.parallel)})" if key.parallel != 1 else ""
        return {
            "processes": "call it in a process pool, once for each batch",
            "port_batch": f"{_change_to(key.variant)}, for batches",
        }.get(key.form, f"call it once for each batch{calls}")
    if key.form == "processes":
        return "call it in a process pool"
    if key.form == "map":
        return f"map in parallel ({parallel_text(key.parallel)})"
    return _change_to(key.variant)


def _change_to(variant: str) -> str:
    return f"port to {variant}"


def ports_of(callback: Callback) -> tuple[str, ...]:
    """Return the variants to compare a callback with: only the body of a py_function can consist of TensorFlow ops.

    A body that draws random numbers has only the port that takes a seed.
    """
    if callback.seed_with:
        return ("numba_op",)
    return PORTS if callback.kind == "py_function" and not _takes_arrays(callback) else PORTS[:2]


def _takes_arrays(callback: Callback) -> bool:
    """Does the body call `numpy()`, which tensors in a graph do not have?"""
    try:
        nodes = list(ast.walk(ast.parse(callback.kept.source.text))) if callback.kept is not None else []
    except SyntaxError:
        nodes = []
    return any(isinstance(one, ast.Call) and getattr(one.func, "attr", "") == "numpy" for one in nodes)


def bridges_of(callback: Callback) -> tuple[str, ...]:
    """Return the other variants that call the same body back."""
    return (BRIDGE,) if callback.kind == "py_function" else ()


def ports_that_save(decision: Decision, judgement: Judgement) -> tuple[Candidate, ...]:
    """Return the ports that may save time; the one that was decided on is the first."""
    gains = getattr(decision.reason, "candidates", ())
    found = {name: Candidate(name, one.saved) for one in gains for name in [Label.parse(one.label).variant]}
    chosen: list[Candidate] = []
    if decision.choice is not None and decision.saved is not None:
        name = Label.parse(decision.choice).variant
        chosen = [Candidate(name, decision.saved)]
        found = {**_measured_gains(judgement, decision.use), **found}
        found.pop(name, None)
    elif decision.action == "keep":
        return ()
    others = [one for one in found.values() if one.variant in (*PORTS, BRIDGE) and one.saved > MINIMUM_EFFECT]
    return (*chosen, *sorted(others, key=lambda one: -one.saved))


def ports_that_may_save(
    decision: Decision, judgement: Judgement, known: Collection[Candidate]
) -> tuple[Candidate, ...]:
    """Return the other ports in the graph, which save too little where the callback is called alone.

    In the program a callback may take longer than alone, because it waits for a thread and for the GIL.
    """
    names = {*PORTS} - {one.variant for one in known}
    return tuple(one for name, one in _measured_gains(judgement, decision.use).items() if name in names)


def any_was_measured(variants: Collection[str], decision: Decision, judgement: Judgement) -> bool:
    """Return whether any of some variants was measured at every size."""
    return not _measured_gains(judgement, decision.use).keys().isdisjoint(variants)


def _measured_gains(judgement: Judgement, use: str) -> dict[str, Candidate]:
    """Return the savings of the variants that were measured at every size."""
    verdicts = columns.VERDICTS.frame(judgement).dropna(subset="ratio")
    verdicts = verdicts[verdicts["direction"] == ("forward_backward" if use == "training" else "forward")]
    return {
        str(variant): Candidate(str(variant), 1 - float(rows["ratio"].mean()))
        for variant, rows in verdicts.groupby("variant")
        if rows["size"].nunique() == verdicts["size"].nunique()
    }


def arrangements_that_save(callback: Callback, found: PipelineJudgement) -> tuple[Candidate, ...]:
    """Return the arrangements that may save time, the one that was decided on first.

    What they save is converted from shares of a sequential map to shares of the program's own map.
    """
    current, chosen = current_key(callback), found.choice.label
    if current not in found.by_key or chosen == current or (found.choice.action == "keep" and current == CURRENT):
        return ()
    saved = {key: 1 - one.seconds / found.current.seconds for key, one in found.by_key.items()}
    saved |= {gain.label: gain.saved for gain in found.choice.gains}
    now = 0.0 if current == CURRENT else saved[current]
    candidates = [Candidate(key, 1 - (1 - share) / max(1 - now, 1e-9)) for key, share in saved.items()]
    candidates = [
        one
        for one in candidates
        if one.variant != current and one.saved > MINIMUM_EFFECT and is_placeable(callback, one.variant)
    ]
    best_first = sorted(candidates, key=lambda one: (one.variant != chosen, -one.saved))
    batched = [one for one in best_first if _has_batch(one)][:MOST_ARRANGEMENTS]
    others = [one for one in best_first if not _has_batch(one)][:MOST_ARRANGEMENTS]
    return tuple(one for one in best_first if one in (*batched, *others))


def _has_batch(candidate: Candidate) -> bool:
    key = read_key(candidate.variant)
    return key is not None and key.batch > 0


def current_key(callback: Callback) -> str:
    """Return the key of the arrangement that the program has."""
    calls = 1 if callback.stage is None else callback.stage.parallel
    return CURRENT if calls == 1 else f"{CURRENT} parallel={parallel_text(calls)}"


def batch_size_of(callback: Callback) -> int:
    """Return the size of the batches that the callback could get; 0 if it cannot get any.

    All inputs must be tensors, and the body must not draw random numbers.
    """
    call = None if callback.kept is None else callback.kept.call
    if callback.stage is None or callback.seed_with or call is None or not all(call.are_tensors):
        return 0
    return callback.stage.batch if callback.stage.batch > 1 else 0


def is_placeable(callback: Callback, key: str) -> bool:
    """Can a patch make this arrangement? The call of `Dataset.map` must be in a file of the program."""
    read = read_key(key)
    if read is None or callback.stage is None or not callback.stage.file:
        return False
    if read.batch:
        has_port = read.form != "port_batch" or read.variant in ports_of(callback)
        return read.batch == batch_size_of(callback) and read.form in BATCH_FORMS and has_port
    if read.form == "port":
        return read.variant in ports_of(callback)
    return read.form in ("map", "processes")


def worth_of(callback: Callback, step: Step, candidate: Candidate, today: float | None) -> float:
    """Return the share of a step that a change may save: the mean over the recordings.

    The callback takes at least the time seen from Python, and at most the time between its inputs and its outputs. Of
    that, another callback saves the share that it saves alone. A pipeline runs while the program does, so a program
    that hardly waits for its input gains nothing.

    A port in the graph saves the callback's time, including waits for a thread and the GIL, minus the time that the
    port adds to a step: three quarters of the time measured alone, or all of it on a single core, because nothing shows
    how much of a port overlaps with other ops.

    Args:
        callback: which.
        step: of the first recording of the program.
        candidate: the port or arrangement.
        today: seconds of a call of the callback alone, or in a pipeline of an element; None if that is not known.
    """
    recorded = split_by_recording(callback, step)
    return statistics.fmean(_worth_of(one, recorded_step, candidate, today) for one, recorded_step in recorded)


def _worth_of(callback: Callback, step: Step, candidate: Candidate, today: float | None) -> float:
    whole = step.total_seconds
    least = min(1.0, callback.seconds / callback.parallel / whole)
    most = min(1.0, max(callback.most_seconds / whole, least))
    alone = None if today is None else today * callback.calls / whole
    usual = most if alone is None else min(max(alone, least), most)
    found = usual * candidate.saved
    if alone is not None and candidate.variant in PORTS and callback.mode == "graph" and not callback.in_input:
        overlapped = 0.5 if len(usable_cores()) > 1 else 1.0
        seen = max(least, (callback.flight_seconds or 0.0) / whole)
        found = seen - min(alone, most) * (1 - candidate.saved) * (1 + overlapped) / 2
    return min(found, max(step.waited, 0.0) if callback.in_input else most)


def throughput_text(callback: Callback, candidate: Candidate) -> str:
    """Return the throughput of an arrangement relative to the map that the program has, in words."""
    times = formatting.ratio(1 / max(1 - candidate.saved, 1e-9))
    calls = parallel_text(1 if callback.stage is None else callback.stage.parallel)
    compared = f"as many elements a second as the map with num_parallel_calls={calls}"
    return f"{variant_text(candidate.variant)}: {times} {compared}"


def least_work_first(candidates: tuple[Candidate, ...], minimum_effect: float) -> tuple[Candidate, ...]:
    """Return candidates, with `numpy_function` first if no other one saves noticeably more of a step.

    It changes the program least, and does not make it start more slowly. A port to `numba_op` does, because it imports
    Numba, and measuring the op alone does not show that.
    """
    worth = {one.variant: one.worth for one in candidates if one.worth is not None}
    is_as_good = worth.get(BRIDGE, -math.inf) >= max(worth.values()) - minimum_effect
    return tuple(sorted(candidates, key=lambda one: not (is_as_good and one.variant == BRIDGE)))
