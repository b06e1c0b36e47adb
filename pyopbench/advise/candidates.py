"""Candidates: what may replace a callback, the share of its own time that each saves, and the cheapest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyopbench.advise.callbacks import Callback, Step
from pyopbench.judge.decision import Decision
from pyopbench.judge.judge import Judgement
from pyopbench.model.arrangement import AUTOTUNE, CURRENT, parallel_text, read_key
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.variant import BRIDGE
from pyopbench.report import columns

if TYPE_CHECKING:
    from pyopbench.judge.pipeline import PipelineJudgement

PORTS = ("traced", "numba_op")
"""Ports of a NumPy body: TensorFlow ops, and the body compiled by Numba."""

GRAPH_BODY = "autograph"
"""The variant that calls a body of TensorFlow ops in the graph."""

PARALLEL_MAP = f"{CURRENT} parallel=AUTOTUNE"
"""The cheapest change of an input pipeline: an argument of `Dataset.map`. It needs no measurement."""

PLACEABLE_FORMS = ("map", "port", "processes")
"""Forms of arrangements that a patch can make."""

EFFORTS = {"map": 0, BRIDGE: 1, GRAPH_BODY: 2, "traced": 3, "numba_op": 4}
"""Variant or form -> rank of how much it changes the program and has to be kept up, least first."""
LARGEST_EFFORT = 5

MOST_TRIED = 4
"""At most so many candidates of a callback are tried in the program."""

PORT_OVERLAP = 0.75
"""The share of a port's own time that adds to a step, as far as is known: some of its ops run next to others."""

Action: TypeAlias = Literal["leave", "port", "arrange"]


@dataclass(frozen=True)
class Candidate:
    """What may replace a callback.

    Attributes:
        variant: a port such as `traced`, or in an input pipeline the key of an arrangement, such as `processes`.
        saved: the share of the callback's own time that it saves, measured alone; None if that was not measured.
    """

    variant: str
    saved: float | None = None

    @property
    def replaced_by(self) -> str:
        """The variant in an arrangement, or its form; `traced` for `port traced`, `processes` for a pool."""
        key = read_key(self.variant)
        return self.variant if key is None else key.variant or key.form

    @property
    def action(self) -> Action:
        """What to do: a port replaces the body; an arrangement calls the same body in another way."""
        return "port" if self.replaced_by in (*PORTS, GRAPH_BODY) else "arrange"

    @property
    def effort(self) -> int:
        """The rank of the work that it takes."""
        return EFFORTS.get(self.replaced_by, LARGEST_EFFORT)


def variant_text(variant: str) -> str:
    """Return a change in a few words."""
    key = read_key(variant)
    name = variant if key is None else key.variant
    change = {BRIDGE: f"call it by {BRIDGE}", GRAPH_BODY: "call it in the graph"}.get(name, f"port to {name}")
    if key is None:
        return change
    if key.form == "processes":
        return "call it in a process pool"
    return f"map in parallel ({parallel_text(key.parallel)})" if key.form == "map" else change


def ports_of(callback: Callback) -> tuple[str, ...]:
    """Return the ports to measure: a body that draws random numbers has only the one that takes a seed."""
    return PORTS[1:] if callback.seed_with else PORTS


def bridges_of(callback: Callback) -> tuple[str, ...]:
    """Return the other variants that call the same body back."""
    return (BRIDGE,) if callback.kind == "py_function" else ()


def measured_candidates(callback: Callback, decision: Decision, judgement: Judgement) -> tuple[Candidate, ...]:
    """Return the replacements of a callback that were measured at every size."""
    verdicts = columns.VERDICTS.frame(judgement).dropna(subset="ratio")
    direction = "forward_backward" if decision.use == "training" else "forward"
    verdicts = verdicts[verdicts["direction"] == direction]
    wanted = (*ports_of(callback), *bridges_of(callback))
    return tuple(
        Candidate(str(variant), 1 - float(rows["ratio"].mean()))
        for variant, rows in verdicts.groupby("variant")
        if variant in wanted and rows["size"].nunique() == verdicts["size"].nunique()
    )


def measured_arrangements(callback: Callback, judgement: PipelineJudgement) -> tuple[Candidate, ...]:
    """Return the arrangements that save time; what they save is relative to the map that the program has."""
    current = judgement.by_key.get(current_key(callback))
    if current is None:
        return ()
    saved = {key: 1 - one.seconds / current.seconds for key, one in judgement.by_key.items()}
    return tuple(
        Candidate(key, share) for key, share in saved.items() if share > MINIMUM_EFFECT and is_placeable(callback, key)
    )


def current_key(callback: Callback) -> str:
    """Return the key of the arrangement that the program has."""
    calls = 1 if callback.stage is None else callback.stage.parallel
    return CURRENT if calls == 1 else f"{CURRENT} parallel={parallel_text(calls)}"


def unmeasured_candidates(callback: Callback, *, is_measured: bool) -> tuple[Candidate, ...]:
    """Return what is cheap enough to be tried without a measurement.

    That is parallel calls of a map, and `numpy_function` for a `py_function` if nothing of it is measured; in a
    pipeline both at once.
    """
    found = []
    if callback.stage is not None and callback.stage.parallel != AUTOTUNE and is_placeable(callback, PARALLEL_MAP):
        found.append(PARALLEL_MAP)
    if not is_measured and callback.kind == "py_function" and not callback.may_need_gradient:
        found.append(f"port {BRIDGE}" if callback.stage is not None else BRIDGE)
    return tuple(map(Candidate, found))


def is_placeable(callback: Callback, key: str) -> bool:
    """Can a patch make this arrangement? The call of `Dataset.map` must be in a file of the program."""
    read = read_key(key)
    if read is None or callback.stage is None or not callback.stage.file or key == current_key(callback):
        return False
    variants = ("", *ports_of(callback), *bridges_of(callback), GRAPH_BODY)
    return read.form in PLACEABLE_FORMS and not read.batch and read.variant in variants


def most_saved(callback: Callback, step: Step, candidate: Candidate, seconds_alone: float | None) -> float:
    """Return the most that a change can save, as a share of a step.

    That is the share that the callback takes at most, times what the change saves alone. A pipeline runs while the
    program does, so a program that hardly waits for its input gains nothing. A port in the graph saves all of the
    callback's time, including waits for a thread and the GIL, minus the time that its own ops add to a step: a call of
    the callback takes `seconds_alone`, measured outside of the program; None if that is not known.
    """
    whole = step.total_seconds
    most = callback.most_saved(step)
    saved = 1.0 if candidate.saved is None else candidate.saved
    is_port = candidate.variant in PORTS and callback.mode == "graph"
    if is_port and candidate.saved is not None and seconds_alone is not None:
        seconds = max(callback.seconds, callback.flight_seconds or 0.0)
        own = PORT_OVERLAP * seconds_alone * callback.calls * (1 - saved)
        return min(most, max(most * saved, (seconds - own) / whole))
    return min(most * saved, max(step.waited, 0.0)) if callback.in_input else most * saved


def cheapest_first(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates to try: those that save most alone and those that were not measured, the cheapest first."""
    best = sorted(candidates, key=lambda one: -1.0 if one.saved is None else -one.saved)[:MOST_TRIED]
    return tuple(sorted(best, key=lambda one: one.effort))
