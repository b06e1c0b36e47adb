"""Tries changes in a copy of the program: which are kept, what they save together, and their patch."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pyopbench.advise import turns
from pyopbench.advise.advice import PATCH, WITHDRAWN_PATCH, Advice, Withdrawn
from pyopbench.advise.answers import OUTPUTS, Answer, Obstacle, output_dtypes
from pyopbench.advise.attempt import CALLBACKS, TURNS, Attempt
from pyopbench.advise.callbacks import Callback
from pyopbench.advise.candidates import variant_text
from pyopbench.advise.copied_constants import REQUIRE_VALUES_SOURCE, find_copied_constants, select_compared
from pyopbench.advise.patch import (
    CannotPlace,
    MapChange,
    Placement,
    needs_autograph,
    passed_constants,
    patch_text,
    replaced,
)
from pyopbench.advise.program import Asked, Run
from pyopbench.advise.turns import Difference, Realised
from pyopbench.model import formatting
from pyopbench.model.arrangement import AUTOTUNE, read_key
from pyopbench.model.portable import BRIDGE
from pyopbench.model.write_file import write_atomically

LONGER = 3
"""A run before or after a change may take this many times as long as the recording, for the same steps."""

LEAST_GAIN = 0.05
"""Share of a step by which a later change must be faster to be chosen: single runs differ by a few percent."""

LEAST_TURNS, USUAL_TURNS, MOST_TURNS = 3, 6, 12
"""Runs on each side. After three they stop as soon as the difference is clear, after six if the change hardly saves
anything; twelve limit the time if neither is so."""


class Trial:
    """The changes of an advice in a copy of its program.

    Attributes:
        attempt: the attempt whose budget and folder are used.
        advice: the advice whose rows change.
        is_random: does a changed callback draw random numbers? The change may draw others, so each pair of runs has its
            own seeds, and what the change alters is compared with what another seed alters.
        turns: how many runs of the original program alternated with runs of changes that were withdrawn.
        earlier: such runs of the original program, if they were seeded in the same way as the present ones.
        run_seconds: the longest run so far.
    """

    def __init__(self, attempt: Attempt, advice: Advice) -> None:
        self.attempt, self.advice = attempt, advice
        self.is_random = False
        self.turns = 0
        self.earlier: list[Run] = []
        self.run_seconds = 0.0
        self._passed: dict[tuple[str, int], set[str]] = {}

    def apply(self) -> None:
        """Try the changes in the program, withdraw those that do not work out, and write the patch."""
        changed = [number for number, row in enumerate(self.advice.rows) if row.answer.is_change]
        if not changed:
            return
        numbers = self._placeable(changed)
        for number in numbers:
            if self.advice.rows[number].callback.in_input and self.advice.rows[number].answer.rest:
                self._choose_change(number)
        self._try_changes([number for number in numbers if self.advice.rows[number].answer.is_change])

    def _choose_change(self, number: int) -> None:
        """Run the program once with each change of a callback in an input pipeline while there is time, and choose one.

        In the program, arrangements compete for cores with the training step, which measuring them alone cannot show.
        A later change is chosen only if it is faster by more than `LEAST_GAIN` than the best one so far. What the
        chosen one saves is measured afterwards, in other runs.
        """
        row, runs = self.advice.rows[number], list[tuple[float, Answer]]()
        answer, why = row.answer, ""
        obstacle: Obstacle = "withdrawn"
        while answer.is_change:
            self.advice.rows[number] = replace(row, answer=answer)
            seconds, why, obstacle = self._seconds_once(number, answer)
            if why:
                self.advice.withdrawn.append(Withdrawn(row.callback.name, answer.variant, why, answer.chosen.saved))
                self.attempt.listener.warn(f"{row.callback.title}: {answer.text}: withdrawn: {why}")
            else:
                runs.append((seconds, answer))
            needed = self._turns_seconds + self.run_seconds
            if answer.rest and self.attempt.left_seconds() < needed:
                self.advice.lacked_time |= not runs
                break
            if not answer.rest:
                break
            answer = self._next_best(row.callback, answer)
        if not runs:
            self.advice.rows[number] = replace(row, answer=row.answer.left(why, obstacle))
            return
        fastest, best = runs[0]
        for seconds, one in runs[1:]:
            if seconds < fastest * (1 - LEAST_GAIN):
                fastest, best = seconds, one
        chosen = best
        if len(runs) > 1:
            others = [one for _, one in sorted(runs, key=lambda run: run[0]) if one is not best]
            why = f"of {len(runs)} changes that each ran once in the program, none was over"
            why = f"{why} {formatting.percent(LEAST_GAIN)} faster than this one"
            why = f"{why}. {formatting.capital(best.why)}" if best is row.answer else why
            chosen = replace(best, why=why, candidates=tuple(one.chosen for one in (best, *others)), tried=len(runs))
            self.attempt.listener.say(f"{row.callback.title}: chosen: {best.text}")
        self.advice.rows[number] = replace(row, answer=chosen)

    def _seconds_once(self, number: int, answer: Answer) -> tuple[float, str, Obstacle]:
        """Run the program once with a change; return the seconds of a step, or a reason not to use it and its kind."""
        try:
            change = self._change([number])
        except CannotPlace as error:
            return math.nan, error.message, "no_port"
        if self._are_compiled([number]):
            self._compile(change)
        longest = self.run_seconds
        run = self._turn(f"once-{_mark(change)}", f"with the change: {answer.text}", change)
        if run.code:
            self.run_seconds = longest  # it may have been killed after a long time
            return math.nan, f"the program fails with it, with exit code {run.code}", "differs"
        return turns.seconds_of(run, run.elements), "", ""

    def _try_changes(self, numbers: list[int]) -> None:
        while numbers:
            is_random = any(self.advice.rows[number].callback.seed_with for number in numbers)
            if is_random != self.is_random:
                self.is_random, self.earlier = is_random, []
            change = self._change(numbers)
            if self._are_compiled(numbers):
                self._compile(change)
            has_rest = any(self.advice.rows[number].answer.rest for number in numbers)
            before, after, is_complete = self._take_turns(change, 2 * LEAST_TURNS if has_rest else 0)
            found = self._differences(before, after)
            if found:
                numbers = self._without_differing(numbers, before, found)
                self.earlier += before
                self.turns += len(before)
                continue
            realised = turns.realised(before, after)
            self._note_tried(numbers, realised, turns.largest_difference(before, after))
            if realised.is_faster:
                self._accept(numbers)
                return
            self.advice.lacked_time |= not is_complete
            write_atomically(self.attempt.folder / WITHDRAWN_PATCH, self._patch(change))
            self.advice.withdrawn_constants = self._constants_of(numbers)
            answers = (self.advice.rows[number] for number in numbers)
            self.advice.withdrawn_variants = {row.callback.name: row.answer.variant for row in answers}
            is_slower = realised.is_slower
            why = "the program is slower with it" if is_slower else "the runs do not show that the program is faster"
            least = min(numbers, key=lambda number: self.advice.rows[number].answer.chosen.worth or 0.0)
            why += "" if len(numbers) == 1 else " with all changes, of which this one is expected to save the least"
            alone, together = (realised, None) if len(numbers) == 1 else (None, realised)
            self._withdraw(least, why, alone, together=together)
            self.earlier += before
            self.turns += len(before)
            numbers = self._placeable([one for one in numbers if self.advice.rows[one].answer.is_change])
            if self.attempt.left_seconds() < self._turns_seconds:
                for number in numbers:
                    self.advice.lacked_time = True
                    together = realised if number != least else None  # that one has another change now
                    self._withdraw(number, "no time was left to try it without the others", together=together)
                return

    def _note_tried(self, numbers: Sequence[int], realised: Realised, loss: float) -> None:
        self.advice.realised, self.advice.loss_difference = realised, loss
        self.advice.tried = tuple(self.advice.rows[number].callback.name for number in numbers)

    def _placeable(self, numbers: Sequence[int]) -> list[int]:
        """Return the callbacks whose changes can be made; the others get their next best answer."""
        left = []
        for number in numbers:
            while self.advice.rows[number].answer.is_change:
                reason = self._why_not_placed(number)
                if not reason:
                    left.append(number)
                    break
                self._withdraw(number, reason, obstacle="no_port")
        return left

    def _why_not_placed(self, number: int) -> str:
        try:
            self._change([number])
        except CannotPlace as error:
            return error.message
        return ""

    def _compile(self, change: Mapping[str, bytes]) -> None:
        """Run the changed program once, so that Numba caches what it compiles: only later starts are timed."""
        longest = self.run_seconds
        self._turn(f"compiling-{_mark(change)}", "with Numba compiling the port, which is not timed", change)
        self.run_seconds = longest

    def _are_compiled(self, numbers: Sequence[int]) -> bool:
        return any("numba_op" in self.advice.rows[number].answer.variant for number in numbers)

    def _withdraw(
        self,
        number: int,
        why: str,
        realised: Realised | None = None,
        obstacle: Obstacle = "withdrawn",
        together: Realised | None = None,
    ) -> None:
        """Withdraw the change of a callback, and give it the next best answer if there is one and time is left."""
        row = self.advice.rows[number]
        callback, answer = row.callback, row.answer
        self.advice.withdrawn.append(
            Withdrawn(callback.name, answer.variant, why, answer.chosen.saved, realised, together)
        )
        self.attempt.listener.warn(f"{callback.title}: {answer.text}: withdrawn: {why}")
        why = f"{answer.text}: withdrawn: {why}"
        left = answer.left(why, obstacle)
        # Of changes that ran once in the program, the others are slower.
        rest = () if answer.tried and obstacle == "withdrawn" else answer.rest
        if rest and self.attempt.left_seconds() < self._turns_seconds:
            others = formatting.listing([variant_text(one.variant) for one in rest])
            left = replace(left, why=f"{left.why}. No time was left to try {others}")
            self.advice.lacked_time = True
        elif rest:
            left = self._decided_again(number, left)
        self.advice.rows[number] = replace(row, answer=left)

    def _decided_again(self, number: int, left: Answer) -> Answer:
        callback = self.advice.rows[number].callback
        again = self._next_best(callback, self.advice.rows[number].answer)
        if not again.is_change:
            return replace(left, why=f"{left.why}. {formatting.capital(again.why)}")
        self.attempt.listener.say(f"{callback.title}: {again.text}")
        return again

    def _next_best(self, callback: Callback, answer: Answer) -> Answer:
        """Return the next best answer, with its files written."""
        place = self.attempt.folder / CALLBACKS / callback.name
        with self.attempt.listener.busy(f"{callback.title}: writing the next best change"):
            return self.attempt.tools.decide_again(callback, place, answer, self.attempt.options.minimum_effect)

    @property
    def _turns_seconds(self) -> float:
        """About how long the fewest runs before and after a change take."""
        return 2 * LEAST_TURNS * self.run_seconds

    def _change(self, numbers: Sequence[int]) -> dict[str, bytes]:
        """Return the files that some changes change or add, by path from the root."""
        files: dict[str, bytes] = {}
        by_file: dict[str, tuple[list[Placement], list[MapChange]]] = {}
        for number, answer in self._with_shared_files(numbers).items():
            callback = self.advice.rows[number].callback
            assert callback.kept is not None
            folder = Path(callback.file).parent
            for name in filter(None, (answer.port, answer.test)):
                path = folder / name
                if os.path.lexists(self.attempt.program.root / path):
                    raise CannotPlace(f"the file {path.as_posix()} already exists")
                if path.as_posix() not in files:
                    files[path.as_posix()] = self._written(number, name)
            if answer.port:
                by_file.setdefault(callback.file, ([], []))[0].append(
                    _placement(callback, answer, files[(folder / answer.port).as_posix()].decode())
                )
            change = _map_change(callback, answer)
            if change is not None:
                by_file.setdefault(change.stage.file, ([], []))[1].append(change)
        for file, (placements, maps) in by_file.items():
            content = (self.attempt.program.root / file).read_bytes()
            for one in placements:
                self._passed[file, one.line] = set(passed_constants(content, one))
            files[file] = replaced(content, placements, maps)
            compared = {one.module for one in placements if self._passed[file, one.line]}
            for module in sorted(compared):
                port = (Path(file).parent / f"{module}.py").as_posix()
                if not files[port].endswith(REQUIRE_VALUES_SOURCE.encode()):  # for a callback in another file
                    files[port] += REQUIRE_VALUES_SOURCE.encode()
        return files

    def _with_shared_files(self, numbers: Sequence[int]) -> dict[int, Answer]:
        """Return the answers of callbacks; those in a folder whose ports are the same text have one file together."""
        found: dict[int, Answer] = {}
        first: dict[tuple[Path, bytes], Answer] = {}
        for number in numbers:
            row = self.advice.rows[number]
            answer = row.answer
            if answer.port:
                key = Path(row.callback.file).parent, self._written(number, answer.port)
                same = first.setdefault(key, answer)
                answer = replace(answer, port=same.port, test=same.test)
            found[number] = answer
        return found

    def _written(self, number: int, name: str) -> bytes:
        """Return a file of an answer."""
        row = self.advice.rows[number]
        return (self.attempt.folder / CALLBACKS / row.callback.name / row.answer.folder / name).read_bytes()

    def _constants_of(self, numbers: Sequence[int]) -> dict[str, dict[str, bool]]:
        return {self.advice.rows[number].callback.name: self._constants(number) for number in numbers}

    def _constants(self, number: int) -> dict[str, bool]:
        """Return the values of the program that a port contains, and whether the patched program checks each."""
        callback, answer = self.advice.rows[number].callback, self.advice.rows[number].answer
        if not answer.port or callback.kept is None:
            return {}
        constants = find_copied_constants(self._written(number, answer.port).decode(), callback.kept.source.spellings)
        passed = self._passed.get((callback.file, callback.line), set())
        return {text: name in passed for name, text in constants.items()}

    def _take_turns(self, change: Mapping[str, bytes], reserved_runs: int) -> tuple[list[Run], list[Run], bool]:
        """Run the original and the changed program alternately.

        The runs end as soon as there are enough, results differ, or no time is left.

        Args:
            change: files of the changed program.
            reserved_runs: for which time has to be left if there are more than the usual runs.

        Returns:
            The runs before and after the change, and whether there was time for as many as needed.
        """
        before, after = list[Run](), list[Run]()
        mark, first = _mark(change), self.turns
        is_complete = True
        while len(after) < MOST_TURNS:
            number = len(after)
            if number >= LEAST_TURNS:
                if is_enough(before, after, self.attempt.options.minimum_effect):
                    break
                needed = 2 + (reserved_runs if number >= USUAL_TURNS else 0)
                if needed * self.run_seconds > self.attempt.left_seconds():
                    is_complete = False
                    break
            # The two sides alternate in going first, so that neither always has the colder machine.
            place = first + number + 1
            shift = place if self.is_random else 0
            for side in ("before", "after") if number % 2 == 0 else ("after", "before"):
                if side == "after":
                    said = f"after the change, run {number + 1}"
                    after.append(self._turn(f"after-{number + 1}-{mark}", said, change, shift))
                else:
                    before.append(self._turn(f"before-{place}", f"before the change, run {place}", {}, shift))
            if self._differences(before, after) and len(before) >= 2:
                break
        return before, after, is_complete

    def _differences(self, before: Sequence[Run], after: Sequence[Run]) -> list[Difference]:
        return turns.differences([*self.earlier, *before], after, is_random=self.is_random)

    def _turn(self, name: str, said: str, change: Mapping[str, bytes], shift: int = 0) -> Run:
        begun = self.attempt.tools.clock()
        parts = self.attempt.folder / TURNS / name
        shutil.rmtree(parts, ignore_errors=True)
        # As many steps as were recorded, and more time, because a port may take long to compile.
        most = None if self.attempt.most_seconds is None else LONGER * self.attempt.most_seconds
        asked = Asked(False, self.attempt.steps, most, LONGER * self.attempt.timeout_seconds, shift=shift)
        with self.attempt.listener.busy(f"running the program {said}"):
            run, _ = self.attempt.run_copy(parts, asked, change)
        shutil.rmtree(parts, ignore_errors=True)
        self.run_seconds = max(self.run_seconds, run.seconds, self.attempt.tools.clock() - begun)
        self.attempt.listener.say(f"{said}: {formatting.seconds(run.seconds)}, exit code {run.code}")
        return run

    def _without_differing(self, numbers: Sequence[int], before: list[Run], found: Sequence[Difference]) -> list[int]:
        """Withdraw changes that affect what the program computes, and return the others and the next best answers."""
        differing = {numbers[0]: found[0]} if len(numbers) == 1 else {}
        for number in numbers if len(numbers) > 1 else ():
            change = self._change([number])
            # One run shows what differs if runs are repeatable; with random numbers, as many as of the original.
            runs = max(len(before), LEAST_TURNS) if self.is_random else 1
            alone = [
                self._turn(
                    f"alone-{place}-{_mark(change)}",
                    f"callback {number + 1} changed alone",
                    change,
                    self.turns + place if self.is_random else 0,
                )
                for place in range(1, runs + 1)
            ]
            mine = self._differences(before, alone)
            differing |= {number: mine[0]} if mine else {}
        for number in numbers:
            if number in differing:
                self._withdraw(number, differing[number].text(), obstacle="differs")
            elif not differing:  # none alone does, all together do
                why = f"together with the other changes: {found[0].text()}"
                self._withdraw(number, why, obstacle="differs")
        return self._placeable([one for one in numbers if self.advice.rows[one].answer.is_change])

    def _accept(self, numbers: list[int]) -> None:
        """Write the patch."""
        self.advice.constants = self._constants_of(numbers)
        self.advice.patch = self.attempt.folder / PATCH
        write_atomically(self.advice.patch, self._patch(self._change(numbers)))
        for number, answer in self._with_shared_files(numbers).items():
            self.advice.rows[number] = replace(self.advice.rows[number], answer=answer)

    def _patch(self, change: Mapping[str, bytes]) -> bytes:
        root = self.attempt.program.root
        old = {name: (root / name).read_bytes() for name in change if os.path.lexists(root / name)}
        return patch_text(old, change).encode("utf-8", "surrogateescape")


def is_enough(before: Sequence[Run], after: Sequence[Run], minimum_effect: float) -> bool:
    """Return whether no more runs are needed: the change is clearly faster or slower, or seems to save too little."""
    has_usual = len(after) >= USUAL_TURNS
    return turns.is_clear(before, after) or (has_usual and turns.realised(before, after).saved < minimum_effect)


def _placement(callback: Callback, answer: Answer, port: str) -> Placement:
    kept = callback.kept
    assert kept is not None
    # A py_function has a gradient to keep if the program asks for one, or if `autograph` calls its body unchanged.
    has_gradient = callback.kind == "py_function" and (callback.gradient_calls or answer.variant == "autograph")
    source = kept.source
    constants = find_copied_constants(port, source.spellings)
    without_gradient = not has_gradient and not callback.in_input
    return Placement(
        line=callback.line,
        kind=callback.kind,
        body=callback.body.rpartition(".")[2],
        module=answer.port.removesuffix(".py"),
        function=answer.function,
        package=kept.call.package,
        are_tensors=tuple(kept.call.are_tensors),
        is_list=kept.call.is_list,
        dtypes=tuple(kept.call.dtypes),
        port_dtypes=tuple(output_dtypes(callback)),
        stops_gradient=without_gradient and answer.variant not in ("numba_op", BRIDGE),
        takes_list=answer.function == OUTPUTS,
        # In eager code, each call would compare the values.
        copied_constants={} if callback.mode == "eager" else select_compared(port, source.text, source.name, constants),
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
    if key is None or stage is None:
        return None
    assert callback.kept is not None
    module, package = answer.port.removesuffix(".py"), callback.kept.call.package
    if key.form == "processes" and Path(stage.file).parent != Path(callback.file).parent:
        raise CannotPlace("the call of `Dataset.map` is in another folder than the callback")
    if key.batch and stage.file != callback.file:
        raise CannotPlace("the call of `Dataset.map` is in another file than the callback")
    # Ports and other callbacks are measured with AUTOTUNE in a pipeline.
    calls = 0 if key.form == "processes" else AUTOTUNE if key.variant else key.parallel
    if calls == stage.parallel and not key.batch:
        return None
    return MapChange(stage, calls, module, package, callback.line, moves_batch=bool(key.batch))


def _mark(change: Mapping[str, bytes]) -> str:
    """Return a short hash that identifies a change among those that are tried."""
    digest = hashlib.sha256()
    for path, content in sorted(change.items()):
        digest.update(path.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:12]
