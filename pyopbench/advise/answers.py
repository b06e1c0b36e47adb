"""What to do with each callback: its op is measured on the inputs that the program passed, and the port is written."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyopbench.advise.callbacks import (
    BASELINES,
    MIX_FILE,
    Callback,
    Shown,
    Step,
    load,
    mix_of,
    recorded_inputs,
    write_op_file,
)
from pyopbench.advise.candidates import (
    PLACEABLE_FORMS,
    Action,
    Candidate,
    any_was_measured,
    arrangements_that_save,
    batch_size_of,
    bridges_of,
    current_key,
    is_placeable,
    least_work_first,
    ports_of,
    ports_that_may_save,
    ports_that_save,
    throughput_text,
    variant_text,
    worth_of,
)
from pyopbench.api import measure
from pyopbench.api.listeners import alone_on_this_machine, follow, listener_here, say_planned
from pyopbench.engine import pipeline as pipelines
from pyopbench.engine.port import run_test, write_port
from pyopbench.judge.decision import Decision
from pyopbench.judge.findings import BaselineFailed, NoCandidate
from pyopbench.judge.judge import Judgement, Judging, judge
from pyopbench.model import formatting
from pyopbench.model.arrangement import CURRENT, read_key
from pyopbench.model.case import MINIMUM_EFFECT, Case
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.own_target import read_target
from pyopbench.model.write_file import write_atomically
from pyopbench.report import columns

if TYPE_CHECKING:
    from pyopbench.judge.pipeline import PipelineJudgement


IN_GRAPH = "in_graph"
NO_WORD = re.compile(r"\W+")
TEST_SECONDS = 300.0

OUTPUTS = "outputs_of"
"""The function in the file of an arrangement that takes the place of a callback."""

AUTOGRAPH_PORT = '''"""`{name}` of {place}, called in the graph instead of by tf.py_function."""

{head}
{name}_{suffix} = tf.autograph.to_graph({name})
'''
AUTOGRAPH_TEST = '''"""Checks a port against the body that it replaces, `{module}.{name}`, called eagerly."""

{inputs}

import numpy as np
import tensorflow as tf

import {module}


def test_values():
    """The port returns in a graph what the body does eagerly."""
    for arguments in RECORDED_INPUTS:
        tensors = [tf.constant(one) for one in arguments]
        expected = tf.nest.flatten({module}.{name}(*tensors))
        found = tf.nest.flatten(tf.function({module}.{name}_{suffix}, autograph=False)(*tensors))
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            one, other = np.asarray(one), np.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            if other.dtype.kind in "fc":
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * np.abs(other).max(initial=0))
            else:
                np.testing.assert_array_equal(one, other)


if __name__ == "__main__":
    test_values()
    print("passed: test_values")
'''

Obstacle: TypeAlias = Literal["", "not_measured", "no_port", "no_gain", "withdrawn", "differs"]


@dataclass(frozen=True)
class Answer:
    """What to do with a callback.

    Attributes:
        action: `leave` it, `port` it, or `arrange` it in another way in its input pipeline.
        why: the reason to leave it, or what the measurement says.
        candidates: the changes that may save time, the most certain first.
        variant: the candidate that was chosen.
        port, test: file names of the port and its test; empty for a change of `num_parallel_calls` alone.
        function: the name of the port in its file.
        seconds: of a call of the current callback, as measured outside of the program.
        folder: of the files, in that of the callback.
        tried: how many changes ran once in the program before this one was chosen; 0 if that was not done.
        obstacle: why the callback is left alone: it could not be measured, nothing can replace it as the program is
            written, no change saves enough, or a change was tried and withdrawn. Empty for a change.
        failures: why other changes could not be measured: `port to traced: it cannot be written as a file: ...`.
        has_port: was any port measured, or any other arrangement that a patch can make?
    """

    action: Action
    why: str
    candidates: tuple[Candidate, ...] = ()
    variant: str = ""
    port: str = ""
    test: str = ""
    function: str = ""
    seconds: float | None = None
    folder: str = "port"
    tried: int = 0
    obstacle: Obstacle = ""
    failures: tuple[str, ...] = ()
    has_port: bool = True

    @property
    def is_change(self) -> bool:
        """Is there anything to change?"""
        return self.action != "leave"

    @property
    def text(self) -> str:
        """The answer in a few words."""
        return "leave it" if self.action == "leave" else variant_text(self.variant)

    @property
    def chosen(self) -> Candidate:
        """The candidate of a change."""
        return next(one for one in self.candidates if one.variant == self.variant)

    @property
    def rest(self) -> tuple[Candidate, ...]:
        """The candidates after the one that was chosen."""
        names = [one.variant for one in self.candidates]
        return self.candidates[names.index(self.variant) + 1 :] if self.variant in names else ()

    def left(self, why: str, obstacle: Obstacle) -> Answer:
        """Return the answer to leave the callback alone after all."""
        return Answer(
            "leave",
            why,
            self.candidates,
            seconds=self.seconds,
            obstacle=obstacle,
            failures=self.failures,
            has_port=self.has_port,
        )


def leave(shown: Shown) -> Answer:
    """Return the answer for a callback that is not measured."""
    return Answer("leave", shown.why_not, obstacle="no_gain" if shown.is_small else "no_port")


def decide(
    callback: Callback, step: Step, folder: Path, budget_seconds: float, minimum_effect: float = MINIMUM_EFFECT
) -> Answer:
    """Measure a callback against its possible replacements, and write the best one.

    Args:
        callback: which.
        step: of the program.
        folder: for its op file, its run and its port.
        budget_seconds: for sampling.
        minimum_effect: a share of a step that is worth a change.

    Returns:
        The answer; if anything goes wrong with this callback, that is a reason to leave it alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    op_file = write_op_file(callback, folder)
    return _decided(callback, op_file, step, budget_seconds, minimum_effect)


def _decided(callback: Callback, op_file: Path, step: Step, budget_seconds: float, minimum_effect: float) -> Answer:
    folder = op_file.parent
    others: tuple[Candidate, ...] = ()
    try:
        measure_it = _measured_in_pipeline if callback.in_input else _measured
        judgement = measure_it(callback, op_file, folder, budget_seconds)
    except PyopbenchError as error:
        why = f"{error.message}: {_last(error.received)}".replace(f"{op_file}: ", "")
        return Answer("leave", f"it could not be measured: {why}", obstacle="not_measured")
    if judgement.pipeline is not None:
        found = judgement.pipeline
        candidates, why = arrangements_that_save(callback, found), found.why_text()
        if found.action == "undecided":  # what else to measure would be about another command
            why = "measured alone, no change is clearly faster"
        elif candidates and current_key(callback) != CURRENT:
            why = throughput_text(callback, candidates[0])
        today = found.by_key[current_key(callback)].seconds if candidates else None
        reason, failures = why, _failures_in(callback, found)
        keys = found.by_key.keys() - {CURRENT, current_key(callback)}
        has_port = any(is_placeable(callback, key) for key in keys)
        best = found.choice.label
        if best and found.action != "undecided" and best != CURRENT and not is_placeable(callback, best):
            has_port = False
            reason = f"a patch cannot make the best change, `{best}`: {reason}"
    else:
        use = "training" if callback.gradient_calls else "inference"
        made = [one for one in judgement.decisions if one.use == use] or list(judgement.decisions)
        if not made:
            return Answer("leave", "it could not be measured", obstacle="not_measured")
        candidates, why, today = ports_that_save(made[0], judgement), made[0].reason.text(), _today(made[0])
        reason, failures = _why_kept(callback, made[0]), _failures_of(callback, made[0], judgement)
        if isinstance(made[0].reason, BaselineFailed):
            return Answer("leave", reason, obstacle="not_measured", failures=failures)
        others = ports_that_may_save(made[0], judgement, candidates)
        has_port = any_was_measured(ports_of(callback), made[0], judgement)
    known, tried = (
        tuple(replace(one, worth=worth_of(callback, step, one, today)) for one in several)
        for several in (candidates, others)
    )
    worthwhile = (*known, *(one for one in tried if _is_worth_it(one, minimum_effect)))
    if not worthwhile:
        obstacle: Obstacle = "no_gain" if has_port else "no_port"
        return Answer("leave", reason, seconds=today, obstacle=obstacle, failures=failures, has_port=has_port)
    worthwhile = least_work_first(worthwhile, minimum_effect)
    if not known:
        why = f"a port in the graph does not wait for a thread or the GIL. Measured alone, no change is worth it: {why}"
    elif worthwhile[0].variant != known[0].variant:
        saves = f"{worthwhile[0].variant} saves {formatting.percent(worthwhile[0].saved)} of the callback's time"
        why = f"{saves}, and no other change saves noticeably more of the program's time. {why}"
    answer = Answer("leave", why, worthwhile, seconds=today, failures=failures, has_port=has_port)
    return _first_written(callback, folder, answer, worthwhile, minimum_effect)


def decide_again(callback: Callback, folder: Path, answer: Answer, minimum_effect: float = MINIMUM_EFFECT) -> Answer:
    """Return the next best answer after one that was withdrawn; to leave the callback alone if there is none.

    Args:
        callback: which.
        folder: as for `decide`.
        answer: the one that was withdrawn.
        minimum_effect: a share of a step that is worth a change.
    """
    return _first_written(callback, folder, answer, answer.rest, minimum_effect)


def _first_written(
    callback: Callback, folder: Path, answer: Answer, candidates: Sequence[Candidate], minimum_effect: float
) -> Answer:
    """Return an answer with the first of some candidates that is worth it and can be written."""
    refused = ""
    worth = [one for one in candidates if _is_worth_it(one, minimum_effect)]
    if candidates and not worth:
        best = max(candidates, key=_worth)
        saves = f"may save {formatting.percent(max(_worth(best), 0.0))} of the program's time"
        which = "the best other change" if answer.is_change else "the best change"
        why = f"{which}{'' if answer.has_port else ' that could be measured'}, {variant_text(best.variant)}, {saves}"
        return answer.left(why, "no_gain" if answer.has_port else "no_port")
    for candidate in worth:
        place = f"port-{re.sub(NO_WORD, '-', candidate.variant)}"
        written = _write(callback, folder / f"{callback.name}.py", folder / place, candidate.variant)
        if isinstance(written, str):
            refused = written
            continue
        chosen = replace(answer, action=candidate.action, variant=candidate.variant, folder=place)
        port, test, function = written
        return replace(chosen, port=port, test=test, function=function)
    why = f"it cannot be written: {refused}" if refused else "nothing else would save enough of the program's time"
    return answer.left(why, "no_port" if refused else "no_gain")


def _worth(candidate: Candidate) -> float:
    assert candidate.worth is not None
    return candidate.worth


def _is_worth_it(candidate: Candidate, minimum_effect: float) -> bool:
    return _worth(candidate) >= minimum_effect


def _last(received: object) -> str:
    lines = [line for line in str(received).splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


def _measured(callback: Callback, op_file: Path, folder: Path, budget_seconds: float) -> Judgement:
    mix = folder / MIX_FILE if (folder / MIX_FILE).exists() else None
    run = folder / "run"
    result = measure.run(
        str(op_file),
        quick=True,
        variants=(BASELINES[callback.kind], *ports_of(callback), *bridges_of(callback)),
        axis=[
            *([] if callback.gradient_calls else ["direction=forward"]),
            f"mode={'node' if callback.mode == 'graph' else 'eager'}",
        ],
        mix=mix,
        budget_seconds=budget_seconds,
        parts=False,
        out=run,
    )
    return result.judgement  # type: ignore[union-attr]


def _measured_in_pipeline(callback: Callback, op_file: Path, folder: Path, budget_seconds: float) -> Judgement:
    """Measure a callback where it is called, in `Dataset.map`, against what a patch can make of it.

    A map that does nothing but call the callback, with a `batch` right after it, can get batches of that size.
    """
    run = folder / "run"
    (name,), own = read_ops([str(op_file)], ())
    mix, now = mix_of(callback), 1 if callback.stage is None else callback.stage.parallel
    batch = batch_size_of(callback)
    request = pipelines.PipelineRequest(
        name,
        size=max(mix, key=lambda one: mix[one]) if mix else None,
        parallel=tuple(dict.fromkeys((*pipelines.usual_parallel(), now))),
        batch=(batch,) if batch else (),
        baseline=BASELINES[callback.kind],
        budget_seconds=budget_seconds,
        forms=PLACEABLE_FORMS,
        variants=(*ports_of(callback), *bridges_of(callback)),
        in_program=current_key(callback),
        own=own,
    )
    listener = listener_here(progress=True)
    with alone_on_this_machine():
        with listener.busy("planning"):
            begun = pipelines.begin(run, request, ("pyopbench", "advise", name))
        say_planned(begun, listener)
        judging = Judging(request.baseline, request.minimum_effect)
        follow(begun, judging, listener)
        pipelines.require_current(begun)
    return judge([begun], judging)


def _failures_in(callback: Callback, found: PipelineJudgement) -> tuple[str, ...]:
    """Return why ports and the process pool were not measured."""
    said = []
    for one in found.rows.failures:
        arrangement = found.rows.plan.by_key.get(Case.from_id(one.case).arrangement)
        if arrangement is None:
            continue
        if arrangement.variant in ports_of(callback) or arrangement.form == "processes":
            said.append(f"{variant_text(arrangement.key)}: {_last(one.reason)}")
    return tuple(dict.fromkeys(said))


def _today(decision: Decision) -> float | None:
    return decision.seconds[-1].today if decision.seconds else None


def _failures_of(callback: Callback, decision: Decision, judgement: Judgement) -> tuple[str, ...]:
    """Return why ports were not measured."""
    failed = columns.FAILURES.frame(judgement)
    ports = [one for one in ports_of(callback) if not any_was_measured([one], decision, judgement)]
    mine = ((variant, failed.loc[failed["variant"] == variant, "reason"]) for variant in ports)
    return tuple(f"{variant_text(variant)}: {_last(reasons.iloc[0])}" for variant, reasons in mine if len(reasons))


def _why_kept(callback: Callback, decision: Decision) -> str:
    if not isinstance(decision.reason, NoCandidate):
        return decision.reason.text()
    return "no port could be measured" if ports_of(callback) else "not tried: there is no port for this callback"


def _write(callback: Callback, op_file: Path, place: Path, variant: str) -> tuple[str, str, str] | str:
    """Write a change into a folder, and return the names of its files and function, or why it cannot be written."""
    name, key = f"{callback.name}_port", read_key(variant)
    if key is not None and key.form == "map":
        return "", "", ""  # the callback stays
    place.mkdir(exist_ok=True)
    for left in (place / f"{name}.py", place / f"test_{name}.py"):
        if os.path.lexists(left):
            left.unlink()
    if variant in ("autograph", "port autograph"):
        return _write_body(callback, op_file, place, name)
    target = read_target(str(op_file), (), ())
    try:
        files = write_port(target, variant, place / f"{name}.py")
    except PyopbenchError as error:
        return f"{error.message}: {_last(error.received)}"
    return files.port.name, files.test.name, files.function if key is None else OUTPUTS


def _write_body(callback: Callback, op_file: Path, place: Path, module: str) -> tuple[str, str, str] | str:
    """Write the unchanged body of a py_function, and a test that its results in a graph equal those in eager code."""
    assert callback.kept is not None
    source = callback.kept.source
    text = source.text.strip()
    tensorflow, future = "import tensorflow as tf", "from __future__ import annotations\n"
    imports = "" if tensorflow in text.splitlines() else f"{tensorflow}\n"
    head = f"{future}\n{imports}{text.removeprefix(future).lstrip()}" if text.startswith(future) else imports + text
    inputs = recorded_inputs(callback, op_file.parent)
    named = {"name": source.name, "place": callback.place, "module": module, "suffix": IN_GRAPH}
    files = {
        f"{module}.py": AUTOGRAPH_PORT.format(head=f"{head}\n\n", **named),
        f"test_{module}.py": AUTOGRAPH_TEST.format(
            inputs=f"import base64\nimport zlib\n\nimport numpy\n\n{inputs}", **named
        ),
    }
    for file, content in files.items():
        write_atomically(place / file, content.encode())
    result = run_test(place, f"test_{module}", TEST_SECONDS)
    if "failed" in result:
        return f"its test fails: {_last(result['error'])}"
    return f"{module}.py", f"test_{module}.py", f"{source.name}_{IN_GRAPH}"


def output_dtypes(callback: Callback) -> list[str]:
    """Return the dtypes of the body's results."""
    assert callback.kept is not None
    outputs = callback.kept.examples[0].outputs
    arrays = [load(one, Path(callback.kept.folder)) for one in outputs]
    return ["string" if one.dtype.hasobject else one.dtype.name for one in arrays]
