"""What could replace a callback: candidates, measured on the inputs that the program passed, and written as files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyopbench.advise.callbacks import BASELINES, Callback, Step, load, mix_of, write_op_file
from pyopbench.advise.graph_body import graph_body_of, write_graph_body
from pyopbench.api import measure
from pyopbench.api.listeners import alone_on_this_machine, follow, listener_here, say_planned
from pyopbench.engine import pipeline as pipelines
from pyopbench.engine.port import write_port
from pyopbench.engine.stored_run import require_measured
from pyopbench.judge.decision import Decision
from pyopbench.judge.judge import Judgement, Judging, judge
from pyopbench.model import formatting
from pyopbench.model.arrangement import AUTOTUNE, CURRENT, parallel_text, read_key
from pyopbench.model.case import MINIMUM_EFFECT, Case, Failure
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.own_target import read_target
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
"""Variant or form -> rank of the change to the program and of its upkeep, smallest first."""
LARGEST_EFFORT = 5

MOST_TRIED = 4
"""At most so many candidates of a callback are tried in the program."""

PORT_OVERLAP = 0.75
"""The share of a port's own time that adds to a step, an estimate: some of its ops run in parallel with others."""

NO_WORD = re.compile(r"\W+")

OUTPUTS = "outputs_of"
"""The function in the file of an arrangement that takes the place of a callback."""

Action: TypeAlias = Literal["leave", "port", "arrange"]
Obstacle: TypeAlias = Literal["", "not_measured", "no_port", "no_gain", "withdrawn", "differs"]


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
    def rank(self) -> tuple[bool, int]:
        """The key by which changes are ordered: the least work first, but last what, timed alone, was slower."""
        return self.saved is not None and self.saved < 0, EFFORTS.get(self.replaced_by, LARGEST_EFFORT)


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
    """Return the other variants that call the same body back, which have no gradient."""
    return (BRIDGE,) if callback.kind == "py_function" and not callback.may_need_gradient else ()


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
    """Return the candidates that are cheap enough to try without a measurement.

    These are parallel calls of a map, and `numpy_function` for a `py_function` none of whose candidates was measured;
    in a pipeline, the two together.
    """
    found = []
    if callback.stage is not None and callback.stage.parallel != AUTOTUNE and is_placeable(callback, PARALLEL_MAP):
        found.append(PARALLEL_MAP)
    if not is_measured:
        found += [f"port {one}" if callback.stage is not None else one for one in bridges_of(callback)]
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
    """Return the candidates to try, in the order of their rank: those not measured, and those that save most alone."""
    best = sorted(candidates, key=lambda one: -1.0 if one.saved is None else -one.saved)[:MOST_TRIED]
    return tuple(sorted(best, key=lambda one: one.rank))


@dataclass(frozen=True)
class Answer:
    """What to do with a callback.

    Attributes:
        obstacle: why the callback is left alone: it could not be measured, nothing can replace it as the program is
            written, no change saves enough, or a change was tried and withdrawn. Empty for a change.
        candidates: the changes to try in the program, the cheapest first.
        failures: why other changes could not be measured: `port to traced: it cannot be written as a file: ...`.
        variant: the candidate of a change.
        saved: the share of the callback's own time that it saves, measured alone; None if that was not measured.
        port, test: file names of the port and its test; empty for a change of `num_parallel_calls` alone.
        function: the name of the port in its file.
        folder: of the files, in that of the callback.
    """

    action: Action
    why: str
    obstacle: Obstacle = ""
    candidates: tuple[Candidate, ...] = ()
    failures: tuple[str, ...] = ()
    variant: str = ""
    saved: float | None = None
    port: str = ""
    test: str = ""
    function: str = ""
    folder: str = ""

    @property
    def is_change(self) -> bool:
        """Is there anything to change?"""
        return self.action != "leave"

    @property
    def text(self) -> str:
        """The answer in a few words."""
        return variant_text(self.variant) if self.is_change else "leave it"

    def left(self, why: str, obstacle: Obstacle) -> Answer:
        """Return the answer to leave the callback alone after all."""
        return Answer("leave", why, obstacle, self.candidates, self.failures)


def answer_by_recording(callback: Callback, most: float, minimum_effect: float) -> Answer:
    """Return the answer by the recording alone; it has no obstacle if the callback is to be measured."""
    if most < minimum_effect:
        return Answer("leave", "nothing to gain: it takes too small a share of the time", "no_gain")
    obstacles = callback.obstacles()
    return Answer("leave", "; also ".join(obstacles), "no_port" if obstacles else "")


def decide(
    callback: Callback, step: Step, folder: Path, budget_seconds: float, minimum_effect: float = MINIMUM_EFFECT
) -> Answer:
    """Return an answer with the changes to try in place of a callback, or why to leave it alone.

    A body of TensorFlow ops is called in the graph; no port of it is tried. Changes that need no measurement are tried
    anyway. `folder` is for its op file, its run and its ports; with a budget of 0 seconds nothing is measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    op_file = write_op_file(callback, folder)
    failures = list[str]()
    answer = Answer("leave", "there was no time to measure changes to it: use a larger --budget", "not_measured")
    if graph_body_of(callback) is not None:
        candidate = Candidate(f"port {GRAPH_BODY}" if callback.in_input and callback.stage else GRAPH_BODY)
        written = write_candidate(callback, folder, answer, candidate)
        if isinstance(written, Answer):
            return replace(answer, candidates=(candidate,))  # which has parallel calls, too
        failures.append(f"{variant_text(candidate.variant)}: {written}")
    if budget_seconds > 0:
        answer = _measured_answer(callback, op_file, step, budget_seconds, minimum_effect)
    known = {one.variant for one in answer.candidates}
    free = (one for one in unmeasured_candidates(callback, is_measured=budget_seconds > 0) if one.variant not in known)
    candidates = cheapest_first((*answer.candidates, *free))
    return replace(answer, candidates=candidates, failures=(*failures, *answer.failures))


def _measured_answer(
    callback: Callback, op_file: Path, step: Step, budget_seconds: float, minimum_effect: float
) -> Answer:
    """Return the answer by what was measured alone: changes that may save enough, or why there are none."""
    measure_alone = _measure_in_pipeline if callback.in_input else _measure
    try:
        judgement = measure_alone(callback, op_file, op_file.parent, budget_seconds)
    except PyopbenchError as error:
        why = f"{error.message}: {_last(error.received)}".replace(f"{op_file}: ", "")
        return Answer("leave", f"it could not be measured: {why}", "not_measured")
    seconds: float | None
    if judgement.pipeline is not None:
        found = judgement.pipeline
        candidates, failures = measured_arrangements(callback, found), _failures_of(callback, found.rows.failures)
        has_port = any(is_placeable(callback, key) for key in found.by_key)
        seconds, why = found.current.seconds, found.why_text()
        if found.action == "undecided":  # what else to measure would be about another command
            why = "measured alone, no change is clearly faster"
    else:
        use = "training" if callback.gradient_calls else "inference"
        decisions = [one for one in judgement.decisions if one.use == use] or list(judgement.decisions)
        if not decisions:
            return Answer("leave", "it could not be measured", "not_measured")
        decision = decisions[0]
        candidates = measured_candidates(callback, decision, judgement)
        failures = _failures_of(callback, judgement.run.failures, {one.variant for one in candidates})
        if decision.reason.kind == "baseline_failed":
            return Answer("leave", decision.reason.sentence, "not_measured", failures=failures)
        has_port = any(one.variant in ports_of(callback) for one in candidates)
        seconds, why = decision.seconds[-1].today if decision.seconds else None, _why_kept(decision)
    bounds = {one: most_saved(callback, step, one, seconds) for one in candidates}
    worthwhile = [one for one, bound in bounds.items() if bound >= minimum_effect]
    if candidates and not worthwhile:
        best = max(bounds, key=bounds.__getitem__)
        share = formatting.percent(max(bounds[best], 0.0))
        why = f"the best change that was measured, {variant_text(best.variant)}, can save at most {share} of the time"
    obstacle: Obstacle = "no_gain" if has_port else "no_port"
    return Answer("leave", why, obstacle, tuple(worthwhile), failures)


def _last(received: object) -> str:
    lines = [line for line in str(received).splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


def _measure(callback: Callback, op_file: Path, folder: Path, budget_seconds: float) -> Judgement:
    result = measure.run(
        str(op_file),
        quick=True,
        variants=(BASELINES[callback.kind], *ports_of(callback), *bridges_of(callback)),
        axis=[
            *([] if callback.gradient_calls else ["direction=forward"]),
            f"mode={'node' if callback.mode == 'graph' else 'eager'}",
        ],
        mix=mix_of(callback) or None,
        budget_seconds=budget_seconds,
        parts=False,
        out=folder / "run",
    )
    return result.judgement  # type: ignore[union-attr]


def _measure_in_pipeline(callback: Callback, op_file: Path, folder: Path, budget_seconds: float) -> Judgement:
    """Measure a callback where it is called, in `Dataset.map`, against the arrangements that a patch can make."""
    (name,), own = read_ops([str(op_file)], ())
    mix, now = mix_of(callback), 1 if callback.stage is None else callback.stage.parallel
    request = pipelines.PipelineRequest(
        name,
        size=max(mix, key=lambda one: mix[one]) if mix else None,
        parallel=tuple(dict.fromkeys((*pipelines.usual_parallel(), now))),
        baseline=BASELINES[callback.kind],
        budget_seconds=budget_seconds,
        forms=PLACEABLE_FORMS,
        variants=(*ports_of(callback), *bridges_of(callback)),
        in_program=current_key(callback),
        own=own,
    )
    listener = listener_here(progress=True)
    with alone_on_this_machine():
        with listener.busy("planning", is_long=True):
            begun = pipelines.begin(folder / "run", request, ("pyopbench", "advise", name))
        say_planned(begun, listener)
        judging = Judging(request.baseline, request.minimum_effect)
        follow(begun, judging, listener)
        require_measured(begun.measured[0])
    return judge([begun], judging)


def _failures_of(callback: Callback, failures: Iterable[Failure], measured: Collection[str] = ()) -> tuple[str, ...]:
    """Return why ports and the process pool were not measured, each with the first reason."""
    reasons: dict[str, str] = {}
    for one in failures:
        case = Case.from_id(one.case)
        key = read_key(case.arrangement)
        variant, changed = (case.variant, case.variant) if key is None else (key.variant or key.form, case.arrangement)
        if variant in (*ports_of(callback), "processes") and variant not in measured:
            reasons.setdefault(variant_text(changed), _last(one.reason))
    return tuple(f"{change}: {reason}" for change, reason in reasons.items())


def _why_kept(decision: Decision) -> str:
    has_candidate = decision.reason.kind not in ("no_candidate", "none_meets_requirements")
    return decision.reason.sentence if has_candidate else "no port could be measured"


def write_candidate(callback: Callback, folder: Path, answer: Answer, candidate: Candidate) -> Answer | str:
    """Write the files of a change into a folder in that of `decide`.

    Returns the answer with the change, or why it cannot be written.
    """
    variant, name, key = candidate.variant, f"{callback.name}_port", read_key(candidate.variant)
    place = folder / f"port-{re.sub(NO_WORD, '-', variant)}"
    why = "it was not measured alone"
    if candidate.saved is not None:
        why = f"measured alone, it saves {formatting.points(candidate.saved)} of the callback's time"
    changed = replace(
        answer, action=candidate.action, why=why, obstacle="", variant=variant, saved=candidate.saved, folder=place.name
    )
    if key is not None and key.form == "map":
        return changed  # the callback stays
    place.mkdir(exist_ok=True)
    if candidate.replaced_by == GRAPH_BODY:
        files = write_graph_body(callback, place, name)
        if isinstance(files, str):
            shutil.rmtree(place)
            return files
    else:
        target = read_target(str(folder / f"{callback.name}.py"), (), ())
        try:
            written = write_port(target, variant, place / f"{name}.py")
        except PyopbenchError as error:
            return f"{error.message}: {_last(error.received)}"
        files = written.port.name, written.test.name, written.function if key is None else OUTPUTS
    return replace(changed, port=files[0], test=files[1], function=files[2])


def output_dtypes(callback: Callback) -> list[str]:
    """Return the dtypes of the body's results."""
    assert callback.kept is not None
    outputs = callback.kept.examples[0].outputs
    arrays = [load(one, Path(callback.kept.folder)) for one in outputs]
    return ["string" if one.dtype.hasobject else one.dtype.name for one in arrays]
