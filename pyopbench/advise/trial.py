"""Tries changes in a copy of the program: which are kept, what they save together, and their patch.

If there are several changes to try, the program runs once with each, the cheapest first: in a program, ports and
arrangements compete for cores with everything else, which measuring them alone cannot show. The best change of each
callback, all at once, is then compared with the original program in pairs of new runs.
"""

from __future__ import annotations

import ast
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyopbench.advise import turns
from pyopbench.advise.answers import GRAPH_BODY, OUTPUTS, Answer, Candidate, Obstacle, output_dtypes, variant_text
from pyopbench.advise.attempt import CALLBACKS, PATCH, TURNS, Advice, Attempt, CallbackAdvice, Withdrawn
from pyopbench.advise.callbacks import Callback
from pyopbench.advise.graph_body import graph_body_of
from pyopbench.advise.patch import CannotPlace, MapChange, Placement, needs_autograph, patch_text, replace_callbacks
from pyopbench.advise.program import Asked, Run
from pyopbench.advise.turns import Realised
from pyopbench.model import formatting
from pyopbench.model.arrangement import AUTOTUNE, read_key
from pyopbench.model.files import write_atomically
from pyopbench.model.variant import BRIDGE

LONGER = 3
"""A run before or after a change may take this many times as long as the recording, for the same steps."""

LEAST_GAIN = 0.05
"""Share of a step by which a change must be faster than a cheaper one: single runs differ by a few percent."""

MUCH_SLOWER = 1.25
"""A change with which a single run takes so many times as long is not compared further."""

LEAST_TURNS, USUAL_TURNS, MOST_TURNS = 3, 6, 12
"""Runs on each side. After three they stop as soon as the difference is clear, after six if the change hardly saves
anything; twelve limit the time if neither is so."""


@dataclass
class Trial:
    """The state of the runs.

    Attributes:
        run_seconds: of the longest run so far that did not fail, except the first run of a change, which may be much
            slower; of the recording before there is one.
        once: the changes of a callback that ran once without a fault, each with the seconds of a step, the best first.
        seconds: of a step with the change of a callback that is in place.
        compiled: file names and variants of the ports that Numba has compiled.
        shift: number of the last pair of runs, by which the seeds are shifted.
        has_run: has the program run since it was recorded?
    """

    attempt: Attempt
    advice: Advice
    recording: Run
    run_seconds: float
    once: dict[CallbackAdvice, list[tuple[float, Answer]]] = field(default_factory=dict)
    seconds: dict[CallbackAdvice, float] = field(default_factory=dict)
    compiled: set[tuple[str, str]] = field(default_factory=set)
    shift: int = 0
    has_run: bool = False

    def has_time(self, runs: int) -> bool:
        """Is there time for a number of runs?"""
        return runs * self.run_seconds <= self.attempt.left_seconds()

    def withdraw(
        self, row: CallbackAdvice, answer: Answer, why: str, obstacle: Obstacle, saved: Realised | None = None
    ) -> None:
        """Withdraw a change of a callback, which stays unless another change is set afterwards."""
        self.advice.withdrawn.append(Withdrawn(row.callback.name, answer.variant, why, answer.saved, saved))
        self.attempt.listener.warn(f"{_title(row, answer.variant)}: withdrawn: {why}")
        row.answer = answer.left(f"{answer.text}: withdrawn: {why}", obstacle)


def _title(row: CallbackAdvice, variant: str) -> str:
    return f"{row.callback.title}: {variant_text(variant)}"


def try_changes(attempt: Attempt, advice: Advice, recording: Run) -> None:
    """Try the candidates of all callbacks in the program, and write the patch of those that make it faster."""
    candidates = [(row, one) for row in advice.rows for one in row.answer.candidates]
    if not candidates:
        return
    if recording.ended == "seconds" and turns.unit_of(recording.elements) == "run":
        why = "the run was cut off and reports no steps to compare: give enough --seconds for the program to end"
        for row, _ in candidates:
            row.answer = row.answer.left(why, "not_measured")
        return
    trial = Trial(attempt, advice, recording, recording.seconds)
    candidates.sort(key=lambda one: one[1].rank)
    if len(candidates) == 1 or not trial.has_time(2 * LEAST_TURNS + 3):
        _take_cheapest(trial, candidates)
    else:
        _run_each_once(trial, candidates)
    for row, runs in trial.once.items():
        trial.seconds[row], row.answer = runs.pop(0)
    _compare_in_pairs(trial)


def _write(trial: Trial, row: CallbackAdvice, candidate: Candidate) -> Answer | None:
    """Return the answer with a change whose files are written and that can be made; None if that is not possible."""
    place = trial.attempt.folder / CALLBACKS / row.callback.name
    with trial.attempt.listener.busy(f"{_title(row, candidate.variant)}: writing the files", is_long=True):
        answer = trial.attempt.tools.write(row.callback, place, row.answer, candidate)
    if isinstance(answer, str):
        failure = f"{variant_text(candidate.variant)}: {answer}"
        left = row.answer.left(f"it cannot be written: {failure}", "no_port")
        row.answer = replace(left, failures=(*left.failures, failure))
        return None
    try:
        changed_files(trial, {row: answer})
    except CannotPlace as error:
        trial.withdraw(row, answer, error.message, "no_port")
        return None
    return answer


def _take_cheapest(trial: Trial, candidates: Sequence[tuple[CallbackAdvice, Candidate]]) -> None:
    """Take the cheapest change of each callback that has none yet, without a run of its own."""
    for row, candidate in candidates:
        if row in trial.once:
            trial.advice.untried.append(_title(row, candidate.variant))
            trial.advice.lacked_time = True
        elif (answer := _write(trial, row, candidate)) is not None:
            trial.once[row] = [(math.inf, answer)]


def _run_each_once(trial: Trial, candidates: Sequence[tuple[CallbackAdvice, Candidate]]) -> None:
    """Run the original program once, and once with each change, while time is left for the comparison in pairs.

    If no other change has passed, the last one needs no run of its own: the pairs compare it.
    """
    trial.attempt.listener.say(
        f"running the program once as it is, and with each of {formatting.count(len(candidates), 'change')}, for about "
        f"{formatting.duration(trial.recording.seconds)} each"
    )
    original = _run(trial, "as it is", {})
    for place, (row, candidate) in enumerate(candidates):
        is_only_one_left = place == len(candidates) - 1 and not trial.once
        if is_only_one_left or not trial.has_time(2 * LEAST_TURNS + 1):
            _take_cheapest(trial, candidates[place:])
            break
        answer = _write(trial, row, candidate)
        if answer is None:
            continue
        change = changed_files(trial, {row: answer})
        _compile(trial, [answer], change)
        run = _run(trial, f"with one change, {_title(row, candidate.variant)}", change, is_usual=False)
        before = [trial.recording, original]
        found = turns.differences(before, [run]) if run.code or not row.callback.seed_with else []
        seconds = turns.seconds_of(run, run.elements) if not run.code else 0.0
        if found:
            trial.withdraw(row, answer, found[0], "differs")
        elif seconds > turns.seconds_of(original, original.elements) * MUCH_SLOWER:
            trial.withdraw(row, answer, "the program was much slower with it in a run", "withdrawn")
        else:
            trial.once.setdefault(row, []).append((seconds, answer))
    for row, runs in trial.once.items():
        trial.once[row] = _best_first(runs)


def _best_first(runs: list[tuple[float, Answer]]) -> list[tuple[float, Answer]]:
    """Order changes that each ran once: the cheapest one that none is clearly faster than, then by their seconds."""
    best = runs[0]
    for one in runs[1:]:
        if one[0] < best[0] * (1 - LEAST_GAIN):
            best = one
    others = sorted((one for one in runs if one is not best), key=lambda one: one[0])
    if others:
        compared = f"of {len(runs)} changes that each ran once in the program, none was over"
        why = f"{compared} {formatting.percent(LEAST_GAIN)} faster than this one; {best[1].why}"
        best = best[0], replace(best[1], why=why)
    return [best, *others]


def _compare_in_pairs(trial: Trial) -> None:
    """Compare the original program with all changes at once, until they are kept or none is left."""
    advice, effect = trial.advice, trial.attempt.options.minimum_effect
    while rows := advice.changed:
        answers = {row: row.answer for row in rows}
        try:
            change = changed_files(trial, answers)
        except CannotPlace as error:  # two changes of the same `Dataset.map`
            trial.withdraw(rows[-1], rows[-1].answer, error.message, "no_port")
            continue
        _compile(trial, list(answers.values()), change)
        drawing = [row for row in rows if row.callback.seed_with]
        before, after, is_complete = _take_turns(trial, change, is_random=bool(drawing))
        found = turns.differences(before, after, is_random=bool(drawing))
        if found:
            # A change of a body that draws is the more likely reason; all of them are withdrawn, or all that there are.
            for row in drawing or rows:
                trial.withdraw(row, row.answer, found[0], "differs")
                others = trial.once.get(row)
                if others and trial.has_time(2 * LEAST_TURNS):
                    trial.seconds[row], row.answer = others.pop(0)
            continue
        realised = turns.estimate_saving(before, after)
        if realised.is_faster and realised.saved >= effect:
            advice.realised = realised
            _accept(trial, answers, change)
            return
        advice.lacked_time |= not is_complete
        with_it = "with it and the changes of other callbacks" if len(rows) > 1 else "with it"
        why = f"the runs do not show that the program is faster {with_it}"
        if len(after) < 2:
            why = "no time was left to compare the program with and without it"
        elif realised.is_faster:
            why = f"less than {formatting.percent(effect)} of the time is saved {with_it}"
        elif realised.is_slower:
            why = f"the program is slower {with_it}"
        for row in rows:
            trial.withdraw(row, row.answer, why, "withdrawn", realised)
        # Changes that together do not help may do alone: the fastest one of those that ran once.
        fastest = min(rows, key=lambda row: trial.seconds[row])
        if len(rows) > 1 and trial.has_time(2 * LEAST_TURNS):
            advice.withdrawn = [one for one in advice.withdrawn if one.name != fastest.callback.name]
            fastest.answer = answers[fastest]
            trial.attempt.listener.say(f"{_title(fastest, fastest.answer.variant)}: compared alone")


def _take_turns(trial: Trial, change: Mapping[str, bytes], *, is_random: bool) -> tuple[list[Run], list[Run], bool]:
    """Run the original and the changed program alternately.

    The runs end as soon as there are enough, results differ, or no time is left. If a changed callback draws random
    numbers, the change may draw others, so each pair of runs has its own seeds.

    Returns:
        The runs before and after the change, and whether there was time for as many as needed.
    """
    before, after = list[Run](), list[Run]()
    effect = trial.attempt.options.minimum_effect
    trial.attempt.listener.say(
        f"comparing {LEAST_TURNS} to {MOST_TURNS} pairs of runs, about {formatting.duration(trial.run_seconds)} a run; "
        f"{formatting.duration(max(trial.attempt.left_seconds(), 0))} of the budget left"
    )
    while len(after) < MOST_TURNS and not (len(after) >= LEAST_TURNS and is_enough(before, after, effect)):
        if not trial.has_time(2):
            return before, after, False
        number, trial.shift = len(after) + 1, trial.shift + 1
        shift = trial.shift if is_random else 0
        # The two sides alternate in going first, so that neither always has the colder machine.
        for side in ("before", "after") if number % 2 else ("after", "before"):
            if side == "after":
                after.append(_run(trial, f"after the change, run {number}", change, shift))
            else:
                before.append(_run(trial, f"before the change, run {number}", {}, shift))
        if len(before) >= 2 and turns.differences(before, after, is_random=is_random):
            break
    return before, after, True


def is_enough(before: Sequence[Run], after: Sequence[Run], minimum_effect: float) -> bool:
    """Return whether no more runs are needed: the change is clearly faster or slower, or seems to save too little."""
    has_usual = len(after) >= USUAL_TURNS
    return turns.is_clear(before, after) or (has_usual and turns.estimate_saving(before, after).saved < minimum_effect)


def _run(trial: Trial, said: str, change: Mapping[str, bytes], shift: int = 0, *, is_usual: bool = True) -> Run:
    """Run a copy of the program. If `is_usual`, its seconds are used to estimate those of later runs."""
    attempt = trial.attempt
    begun, parts = attempt.tools.clock(), attempt.folder / TURNS / "run"
    # As many steps as were recorded, and more time, because a port may take long to compile.
    most = None if attempt.most_seconds is None else LONGER * attempt.most_seconds
    asked = Asked(False, attempt.steps, most, LONGER * attempt.timeout_seconds, shift=shift)
    doing = f"running the program {said}, about {formatting.duration(trial.run_seconds)}"
    run, _ = attempt.run_copy(parts, asked, change, doing)
    shutil.rmtree(parts, ignore_errors=True)
    if is_usual and not run.code:
        # The recording, which has other work to do, is only a first estimate.
        earlier = trial.run_seconds if trial.has_run else 0.0
        trial.run_seconds = max(earlier, run.seconds, attempt.tools.clock() - begun)
        trial.has_run = True
    failed = f", exit code {run.code}" if run.code else ""
    attempt.listener.say(f"{said}: {formatting.seconds(run.seconds)}{failed}")
    return run


def _compile(trial: Trial, answers: Sequence[Answer], change: Mapping[str, bytes]) -> None:
    """Run the changed program, so that Numba caches what it compiles: only later starts are timed."""
    ports = {(answer.port, answer.variant) for answer in answers if "numba_op" in answer.variant} - trial.compiled
    if ports:
        trial.compiled |= ports
        _run(trial, "with Numba compiling the port, which is not timed", change, is_usual=False)


def _accept(trial: Trial, answers: Mapping[CallbackAdvice, Answer], change: Mapping[str, bytes]) -> None:
    """Write the patch."""
    advice, root = trial.advice, trial.attempt.program.root
    for row, answer in answers.items():
        callback = row.callback
        if answer.port and callback.kept is not None:
            port = _file_of(trial, callback, answer, answer.port).decode()
            advice.constants[callback.name] = copied_constants(port, callback.kept.source.spellings)
    old = {name: (root / name).read_bytes() for name in change if os.path.lexists(root / name)}
    advice.patch = trial.attempt.folder / PATCH
    write_atomically(advice.patch, patch_text(old, change).encode("utf-8", "surrogateescape"))


def copied_constants(port: str, spellings: Mapping[str, str]) -> list[str]:
    """Return the expressions of the program, by name in the extracted source, whose values a port has as constants."""
    statements = [one for one in ast.parse(port).body if isinstance(one, ast.Assign)]
    names = {target.id for one in statements for target in one.targets if isinstance(target, ast.Name)}
    return [spelled for name, spelled in spellings.items() if name in names]


def changed_files(trial: Trial, answers: Mapping[CallbackAdvice, Answer]) -> dict[str, bytes]:
    """Return the files that some changes change or add, by path from the root of the program.

    Raises:
        CannotPlace: a change cannot be made.
    """
    root = trial.attempt.program.root
    files: dict[str, bytes] = {}
    by_file: dict[str, tuple[list[Placement], list[MapChange]]] = {}
    for row, answer in answers.items():
        callback = row.callback
        folder = Path(callback.file).parent
        for name in filter(None, (answer.port, answer.test)):
            path = folder / name
            if os.path.lexists(root / path):
                raise CannotPlace(f"the file {path.as_posix()} already exists")
            files[path.as_posix()] = _file_of(trial, callback, answer, name)
        if answer.port:
            port = files[(folder / answer.port).as_posix()].decode()
            by_file.setdefault(callback.file, ([], []))[0].append(_placement(callback, answer, port))
        map_change = _map_change(callback, answer)
        if map_change is not None:
            by_file.setdefault(map_change.stage.file, ([], []))[1].append(map_change)
    for file, (placements, maps) in by_file.items():
        files[file] = replace_callbacks((root / file).read_bytes(), placements, maps)
    return files


def _file_of(trial: Trial, callback: Callback, answer: Answer, name: str) -> bytes:
    return (trial.attempt.folder / CALLBACKS / callback.name / answer.folder / name).read_bytes()


def _placement(callback: Callback, answer: Answer, port: str) -> Placement:
    kept = callback.kept
    assert kept is not None
    # A py_function has a gradient to keep if the program may ask for one, or if its body is called unchanged.
    body = graph_body_of(callback) if GRAPH_BODY in answer.variant else None
    is_unchanged = body == kept.source.text.strip()
    is_cut = not callback.gradient_calls and ".numpy()" in kept.source.text  # a body that leaves its tape
    may_need = callback.may_need_gradient and not is_cut
    has_gradient = callback.kind == "py_function" and (may_need or is_unchanged)
    without_gradient = not has_gradient and not callback.in_input
    return Placement(
        line=callback.line,
        kind=callback.kind,
        body=callback.body.rpartition(".")[2],
        module=answer.port.removesuffix(".py"),
        function=answer.function,
        call=kept.call,
        port_dtypes=tuple(output_dtypes(callback)),
        stops_gradient=without_gradient and answer.variant not in ("numba_op", BRIDGE),
        takes_list=answer.function == OUTPUTS,
        converts_port=(
            callback.mode == "graph"
            and answer.variant == "traced"
            and not kept.call.is_converted
            and needs_autograph(port)
        ),
    )


def _map_change(callback: Callback, answer: Answer) -> MapChange | None:
    """Return how a change affects the call of `Dataset.map`; None if the call stays the same."""
    key, stage = read_key(answer.variant), callback.stage
    if key is None or stage is None or not stage.file:
        return None
    assert callback.kept is not None
    module, package = answer.port.removesuffix(".py"), callback.kept.call.package
    if key.form == "processes" and Path(stage.file).parent != Path(callback.file).parent:
        raise CannotPlace("the call of `Dataset.map` is in another folder than the callback")
    # Ports and other callbacks are measured with AUTOTUNE in a pipeline.
    calls = 0 if key.form == "processes" else AUTOTUNE if key.variant else key.parallel
    return None if calls == stage.parallel else MapChange(stage, calls, module, package)
