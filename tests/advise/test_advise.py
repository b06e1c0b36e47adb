"""The path of `pyopbench advise`, on programs that are made up: no file of theirs is touched."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench.advise import advise as module
from pyopbench.advise.advice import PATCH, WITHDRAWN_PATCH, Advice
from pyopbench.advise.advise import advise, check
from pyopbench.advise.answers import Answer
from pyopbench.advise.attempt import Options, Tools
from pyopbench.advise.callbacks import Callback, Step
from pyopbench.advise.candidates import Candidate
from pyopbench.advise.program import Asked, Program, Run
from pyopbench.advise.report import (
    as_data,
    at_stake,
    commands,
    headline,
    realised_text,
    reasons,
    rows,
    savings_beyond_bound,
    withdrawn_patch_texts,
    write,
)
from pyopbench.advise.turns import Realised
from pyopbench.api.listeners import Listener
from pyopbench.model import formatting
from pyopbench.model.errors import BadInput, NothingMeasured

SOURCE = """import tensorflow as tf

y = tf.numpy_function(first, [a], tf.float32)
z = tf.numpy_function(second, [y], tf.float32)
"""
STEPS, STEP_SECONDS = 100, 0.01


class World:
    """A program of two callbacks, whose ports do what a test says.

    Attributes:
        seconds: of a step by the ports that are in place: `first`, `second`, with the variant unless it is traced.
        loss, code: likewise.
        variants: the candidates of each callback, the best first.
        elements: that the program takes from its input.
        in_input: are the callbacks in an input pipeline?
        is_same: do both have the same port?
        bodies: what each callback returns, in the words of the source; `a` is its input.
        ran, decided: what was done.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seconds: Callable[[frozenset[str]], float] = lambda ports: STEP_SECONDS * 0.5 ** len(ports)
        self.loss: Callable[[frozenset[str]], float] = lambda ports: 0.5
        self.code: Callable[[frozenset[str]], int] = lambda ports: 0
        self.share: Mapping[str, float] = {"first": 0.4, "second": 0.3}
        self.variants: dict[str, tuple[str, ...]] = {"first": ("traced",), "second": ("traced",)}
        self.ran: list[frozenset[str]] = []
        self.decided: list[str] = []
        self.asked: list[Asked] = []
        self.bodies = {"first": "a", "second": "a"}
        self.dies_after = 10**6
        self.now = 0.0
        self.elements = STEPS
        self.ended = ""
        self.budgets: list[float] = []
        self.out: Path | None = None
        self.in_input = False
        self.is_same = False

    def run(self, program: Program, copy: Path, parts: Path, asked: Asked) -> Run:
        if len(self.ran) >= self.dies_after:
            raise KeyboardInterrupt
        text = (copy / "train.py").read_text()
        there = [name for name in ("first", "second") if f"function({name}," not in text]
        files = {name: copy / f"{name}_port.py" for name in there}
        ports = frozenset(
            file.read_text().removeprefix("# ").removesuffix(" traced") if file.exists() else name
            for name, file in files.items()
        )
        self.ran.append(ports)
        self.asked.append(asked)
        self.now += 10.0
        parts.mkdir(parents=True)
        if asked.counts:
            self.write_counts(copy, parts)
        # Machines are noisy: a run is up to 1% slower than another.
        step = self.seconds(ports) * (1 + 0.01 * (len(self.ran) % 3))
        samples = [(1.0, 0.0), *((2 + step * n, float(n)) for n in range(1, self.elements + 1))]
        return Run(
            self.code(ports),
            3.0 + step * STEPS,
            ["done", str(copy)],
            ["Traceback", "no"],
            samples,
            [{"batch loss": self.loss(ports)}],
            ended=self.ended,
        )

    def write_counts(self, copy: Path, parts: Path) -> None:
        nothing = {"calls": 0, "raised": 0, "seconds": 0.0, "outside_calls": 0, "outside_seconds": 0.0}
        sites, kept = [], []
        (parts / "1.kept").mkdir()
        np.save(parts / "1.kept" / "x.npy", np.ones(3, np.float32))
        for line, name in ((3, "first"), (4, "second")):
            seconds = self.share[name] * STEPS * STEP_SECONDS
            key = [os.path.abspath(copy / "train.py"), line, "<module>", "numpy_function", "graph"]
            sites.append(
                dict(zip(("file", "line", "function", "kind", "mode"), key, strict=True))
                | {
                    "body": name,
                    "in_input": self.in_input,
                    "flight_seconds": seconds,
                    "gradient": nothing,
                    "shapes": [],
                }
                | {"forward": nothing | {"calls": STEPS, "seconds": 0.9 * seconds}}
            )
            array = {"file": "x.npy"}
            kept.append(
                {"key": key, "examples": [{"inputs": [array], "outputs": [array]}], "changed_values": [], "bodies": 1}
                | {"source": {"text": self.text_of(name), "name": name}, "refused": ""}
                | {"call": {"are_tensors": [True], "is_list": False, "dtypes": ["float32"], "package": ""}}
            )
        part = {"trouble": "", "sites": sites, "called": [0.0, 3.0]}
        (parts / "1.json").write_text(json.dumps(part))
        (parts / "1.kept" / "kept.json").write_text(json.dumps(kept))

    def text_of(self, name: str) -> str:
        return f"import numpy as np\n\n\ndef {name}(a):\n    return {self.bodies[name]}\n"

    @property
    def recordings(self) -> int:
        """How many of the runs were recorded; these are the first ones."""
        return sum(one.counts for one in self.asked)

    def decide(self, callback: Callback, step: Step, folder: Path, budget: float, minimum_effect: float) -> Answer:
        self.decided.append(callback.name)
        self.budgets.append(budget)
        worth = 0.3 if callback.name == "first" else 0.2
        candidates = tuple(Candidate(one, 0.9, worth) for one in self.variants[callback.name])
        answer = Answer("port", "it was measured", candidates, seconds=1e-3)
        return self.written(callback, folder, answer, candidates[0])

    def decide_again(self, callback: Callback, folder: Path, answer: Answer, minimum_effect: float) -> Answer:
        self.decided.append(f"{callback.name} again")
        return self.written(callback, folder, answer, answer.rest[0])

    def written(self, callback: Callback, folder: Path, answer: Answer, candidate: Candidate) -> Answer:
        port = folder / candidate.variant
        port.mkdir(parents=True, exist_ok=True)
        names = f"{callback.name}_port.py", f"test_{callback.name}_port.py"
        for name in names:
            (port / name).write_text("# first" if self.is_same else f"# {callback.name} {candidate.variant}")
        return replace(
            answer,
            variant=candidate.variant,
            port=names[0],
            test=names[1],
            function="both" if self.is_same else callback.name,
            folder=candidate.variant,
        )

    def advise(self, **options: Any) -> Advice:
        out = self.root / "out" if self.out is None else self.out
        program = Program.here([sys.executable, "train.py"], self.root / "program", [out])
        tools = Tools(self.run, self.decide, self.decide_again, lambda: self.now)
        return advise(program, out, Options(**options), Listener(), tools)


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "train.py").write_text(SOURCE)
    return World(tmp_path)


@pytest.fixture
def pipeline(world: World) -> World:
    """A program of two callbacks in an input pipeline, of which only the first is costly."""
    world.share = {"first": 0.4, "second": 0.005}
    world.in_input = True
    world.variants["first"] = ("traced", "numba_op")
    return world


def answers(advice: Advice) -> dict[str, str]:
    return {row.callback.name: row.answer.action for row in advice.rows}


def test_ports_that_make_the_program_faster_become_a_patch_that_git_applies(world: World) -> None:
    advice = world.advise()
    assert answers(advice) == {"first": "port", "second": "port"}
    assert advice.realised is not None
    assert advice.realised.saved == pytest.approx(0.75, abs=0.01)
    assert advice.realised.before_run_seconds == pytest.approx(3 + STEPS * STEP_SECONDS, rel=0.02)
    assert advice.realised.after_run_seconds == pytest.approx(3 + STEPS * STEP_SECONDS / 4, rel=0.02)
    assert advice.loss_difference == 0
    assert advice.patch == world.root / "out" / PATCH
    assert (world.root / "program" / "train.py").read_text() == SOURCE
    subprocess.run(["git", "apply", str(advice.patch)], cwd=world.root / "program", check=True)
    assert (world.root / "program" / "train.py").read_text().splitlines()[-2:] == [
        "y = tf.stop_gradient(first_port.first(a))",
        "z = tf.stop_gradient(second_port.second(y))",
    ]
    assert (world.root / "program" / "test_first_port.py").exists()


def test_callbacks_with_the_same_port_share_its_file(world: World) -> None:
    world.is_same = True
    advice = world.advise()
    assert advice.patch is not None
    subprocess.run(["git", "apply", str(advice.patch)], cwd=world.root / "program", check=True)
    assert {one.name for one in (world.root / "program").iterdir()} == {
        "train.py",
        "first_port.py",
        "test_first_port.py",
    }
    assert (world.root / "program" / "train.py").read_text().splitlines()[-2:] == [
        "y = tf.stop_gradient(first_port.both(a))",
        "z = tf.stop_gradient(first_port.both(y))",
    ]
    assert [row.answer.port for row in advice.rows] == ["first_port.py"] * 2


def test_a_folder_may_be_named_from_here(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)
    world.out = Path("out")
    assert answers(world.advise()) == {"first": "port", "second": "port"}


def test_the_printed_command_applies_the_patch_wherever_the_folder_was_named_from(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = world.advise()
    monkeypatch.chdir(world.root / "out")
    (command,) = commands(replace(advice, patch=Path(PATCH)))
    subprocess.run(shlex.split(command), check=True)
    assert (world.root / "program" / "train.py").read_text() != SOURCE


def test_before_and_after_take_turns_from_fresh_copies(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.advise()
    first = frozenset({"first"})
    assert world.ran[world.recordings :] == [frozenset(), first, first, frozenset(), frozenset(), first]
    assert not (world.root / "out" / "copies").exists() or not any((world.root / "out" / "copies").iterdir())


def test_runs_have_seeds_in_pairs_while_a_changed_callback_draws(world: World) -> None:
    """The change that draws is withdrawn first; the other one does not draw, so its runs are repeatable."""
    world.bodies["second"] = "a * np.random.rand()"
    world.seconds = lambda ports: STEP_SECONDS * (2.0 if "second" in ports else 0.5 if ports else 1.0)
    advice = world.advise(budget_seconds=2000.0)
    assert answers(advice) == {"first": "port", "second": "leave"}
    first = world.recordings
    shifts = [asked.shift for asked in world.asked]
    assert set(shifts[:first]) == {0}
    pairs = [tuple(shifts[place : place + 2]) for place in range(first, len(shifts) - 1, 2)]
    assert all(one == other for one, other in pairs)
    drawing = [pair[0] for pair, ran in zip(pairs, world.ran[first::2], strict=False) if pair[0]]
    assert drawing == [*range(1, len(drawing) + 1)]
    assert len(drawing) >= 3
    assert {shift for shift, ports in zip(shifts, world.ran, strict=True) if ports == {"first"}} == {0}


def test_the_change_among_several_that_breaks_the_program_is_found_among_random_numbers(world: World) -> None:
    """Its runs alone are as many as those of the original program."""
    world.bodies = {"first": "a * np.random.rand()", "second": "a + np.random.rand()"}
    noise = iter(np.random.default_rng(0).normal(0, 0.01, 1000))
    world.loss = lambda ports: (2.0 if "second" in ports else 0.5) * (1 + float(next(noise)))
    advice = world.advise(budget_seconds=4000.0)
    assert answers(advice) == {"first": "port", "second": "leave"}
    assert [one.name for one in advice.withdrawn] == ["second"]
    alone = [asked.shift for asked, ports in zip(world.asked, world.ran, strict=True) if ports == {"second"}]
    assert alone == [1, 2, 3]


def test_a_callback_that_takes_too_little_is_named_and_not_measured(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    advice = world.advise()
    assert world.decided == ["first"]
    assert answers(advice) == {"first": "port", "second": "leave"}
    most = {row.callback.name: row.shown.most for row in advice.rows}
    assert most == pytest.approx({"first": 0.42, "second": 0.025}, rel=0.02)  # with 200 us a call


def test_a_port_that_changes_a_loss_is_taken_back_and_the_other_one_stays(world: World) -> None:
    world.loss = lambda ports: 0.6 if "second" in ports else 0.5
    advice = world.advise()
    assert answers(advice) == {"first": "port", "second": "leave"}
    assert [(one.name, one.variant) for one in advice.withdrawn] == [("second", "traced")]
    assert advice.realised is not None
    assert advice.realised.saved == pytest.approx(0.5, abs=0.01)
    assert advice.patch is not None
    assert "second_port" not in advice.patch.read_text()


def of_variant(fast: frozenset[str]) -> Callable[[frozenset[str]], float]:
    """Return the seconds of a step: half for each fast port, a tenth more for any other."""
    return lambda ports: STEP_SECONDS * 0.5 ** len(ports & fast) * 1.1 ** len(ports - fast)


def test_after_a_port_that_is_not_faster_the_next_one_is_tried(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = ("traced", "numba_op", "autograph")
    world.seconds = of_variant(frozenset({"first numba_op"}))
    advice = world.advise()
    assert [row.answer.variant for row in advice.rows] == ["numba_op", ""]
    assert [(one.name, one.variant, one.realised.is_slower) for one in advice.withdrawn if one.realised] == [
        ("first", "traced", True)
    ]
    assert world.decided == ["first", "first again"]
    assert advice.realised is not None
    assert advice.realised.saved == pytest.approx(0.5, abs=0.01)
    assert [row[3] for row in rows(advice)] == ["port to numba_op", "port to traced", "leave it"]
    taken = world.ran[world.recordings :]
    changed = [ports for ports in taken if ports]
    assert {*changed} == {frozenset({"first"}), frozenset({"first numba_op"})}
    compiling = 1
    assert taken.count(frozenset()) == len(changed) - compiling, "each change has its own runs before it"
    assert advice.withdrawn_variants == {"first": "traced"}
    stored = as_data(advice)["callbacks"][0]
    assert (stored["variant"], [one["variant"] for one in stored["withdrawn"]]) == ("numba_op", ["traced"])


def test_the_fastest_change_in_the_program_is_chosen_in_an_input_pipeline(pipeline: World) -> None:
    pipeline.variants["first"] = ("traced", "numba_op", "autograph")
    pipeline.seconds = lambda ports: (
        STEP_SECONDS * {"first numba_op": 0.6, "first autograph": 0.5}.get(min(ports, default=""), 1)
    )
    advice = pipeline.advise()
    assert [row.answer.variant for row in advice.rows] == ["autograph", ""]
    assert advice.withdrawn == []
    assert advice.realised is not None
    assert advice.realised.saved == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("seconds", "budget", "variant"), [(0.97, 480.0, "traced"), (0.5, 75.0, "traced"), (0.5, 480.0, "numba_op")]
)
def test_a_later_change_is_chosen_only_if_it_is_clearly_faster_and_there_is_time(
    pipeline: World, seconds: float, budget: float, variant: str
) -> None:
    pipeline.seconds = lambda ports: STEP_SECONDS * {"": 2.0, "first": 1.0}.get(min(ports, default=""), seconds)
    advice = pipeline.advise(budget_seconds=budget)
    assert advice.rows[0].answer.variant == variant


def test_a_change_that_fails_in_the_program_is_not_taken(pipeline: World) -> None:
    pipeline.code = lambda ports: int(ports == {"first"})
    advice = pipeline.advise()
    assert [row.answer.variant for row in advice.rows] == ["numba_op", ""]
    assert [(one.variant, one.realised) for one in advice.withdrawn] == [("traced", None)]
    assert pipeline.ran.count(frozenset({"first"})) == 1


def test_if_the_fastest_change_alters_a_loss_the_next_fastest_is_tried(pipeline: World) -> None:
    pipeline.variants["first"] = ("traced", "numba_op", "autograph")
    times = {"first": 1.0, "first numba_op": 0.6, "first autograph": 0.5}
    pipeline.seconds = lambda ports: STEP_SECONDS * times.get(min(ports, default=""), 1)
    pipeline.loss = lambda ports: 0.6 if ports == {"first autograph"} else 0.5
    advice = pipeline.advise()
    assert [row.answer.variant for row in advice.rows] == ["numba_op", ""]
    assert [one.variant for one in advice.withdrawn] == ["autograph"]


def test_if_the_fastest_change_is_not_faster_than_the_program_no_other_is_tried(pipeline: World) -> None:
    pipeline.seconds = lambda ports: STEP_SECONDS * {"first": 1.2, "first numba_op": 1.1}.get(min(ports, default=""), 1)
    advice = pipeline.advise()
    assert advice.patch is None
    assert [one.variant for one in advice.withdrawn] == ["numba_op"]


def test_if_no_change_runs_in_the_program_the_callback_is_left_alone(pipeline: World) -> None:
    pipeline.code = lambda ports: int(bool(ports))
    advice = pipeline.advise()
    assert answers(advice) == {"first": "leave", "second": "leave"}
    assert [one.variant for one in advice.withdrawn] == ["traced", "numba_op"]


def test_after_a_port_that_changes_a_loss_the_next_one_is_tried_with_the_others(world: World) -> None:
    world.variants["second"] = ("traced", "numba_op")
    world.loss = lambda ports: 0.6 if "second" in ports else 0.5
    advice = world.advise()
    assert [row.answer.variant for row in advice.rows] == ["traced", "numba_op"]
    assert [(one.name, one.variant) for one in advice.withdrawn] == [("second", "traced")]
    assert world.ran.count(frozenset()) == world.recordings + 2 + 3, "a pair is two runs next to each other"


def test_no_next_port_is_tried_without_time_for_it(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = ("traced", "numba_op")
    world.seconds = of_variant(frozenset({"first numba_op"}))
    advice = world.advise(budget_seconds=100.0)
    assert (advice.patch, world.decided) == (None, ["first"])
    assert [(one.variant, one.name) for one in advice.withdrawn] == [("traced", "first")]


def test_of_ports_that_together_do_not_help_the_one_that_is_worth_least_goes_first(world: World) -> None:
    world.seconds = lambda ports: STEP_SECONDS * (0.5 if ports == {"first"} else 1 + 0.1 * len(ports))
    advice = world.advise()
    assert [row.answer.variant for row in advice.rows] == ["traced", ""]
    assert [(one.name, one.realised) for one in advice.withdrawn] == [("second", None)]


def test_a_port_that_fails_in_the_program_is_taken_back(world: World) -> None:
    world.code = lambda ports: int("first" in ports)
    assert answers(world.advise()) == {"first": "leave", "second": "port"}


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_ports_that_do_not_make_the_program_faster_are_taken_back(world: World, factor: float) -> None:
    world.seconds = lambda ports: STEP_SECONDS * (factor if ports else 1)
    advice = world.advise()
    assert set(answers(advice).values()) == {"leave"}
    assert advice.patch is None
    assert not (world.root / "out" / PATCH).exists()
    assert advice.withdrawn_patch == world.root / "out" / WITHDRAWN_PATCH
    assert as_data(advice)["withdrawn_patch"] == str(advice.withdrawn_patch)


def test_the_reports_name_the_withdrawn_patch_and_the_constants_in_it(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    assert withdrawn_patch_texts(world.advise()) == []
    world.out = world.root / "again"
    world.seconds = lambda ports: STEP_SECONDS * (1.5 if ports else 1)
    advice = world.advise()
    assert advice.withdrawn_constants == {"first": {}}
    assert len(withdrawn_patch_texts(advice)) == 1
    advice.withdrawn_constants = {"first": {"self.std": True, "scale": False}}
    html = write(advice).read_text()
    markdown = (advice.folder / "report.md").read_text()
    for shown in (str(advice.withdrawn_patch), "self.std", "scale"):
        assert f"<code>{shown}</code>" in html
        assert shown in markdown
    assert "`" not in html


@pytest.mark.parametrize(("budget_seconds", "runs"), [(4000.0, 12), (240.0, 7), (220.0, 6)])
def test_an_open_saving_is_run_longer_while_time_is_left_for_other_changes(
    world: World, budget_seconds: float, runs: int
) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = ("traced", "autograph")
    factors = itertools.cycle((0.6, 1.2))
    world.seconds = lambda ports: STEP_SECONDS * (next(factors) if ports else 1.0)
    advice = world.advise(budget_seconds=budget_seconds)
    assert world.ran.count(frozenset({"first"})) == runs
    assert [one.variant for one in advice.withdrawn] == ["traced", "autograph"]


def test_a_change_that_fails_in_the_program_is_not_one_that_was_not_faster(pipeline: World) -> None:
    pipeline.code = lambda ports: 1 if ports else 0
    advice = pipeline.advise()
    assert [row.answer.obstacle for row in advice.rows] == ["differs", "no_gain"]


def test_a_longer_start_of_a_withdrawn_change_is_reported(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.seconds = lambda ports: STEP_SECONDS * (1.5 if ports else 1)
    advice = world.advise()
    before = reasons(advice)
    (one,) = advice.withdrawn
    assert one.realised is not None
    for seconds, more in ((0.9, 0), (2.0, 1)):
        advice.withdrawn = [replace(one, realised=replace(one.realised, start_seconds=seconds))]
        assert len(reasons(advice)) == len(before) + more


def test_what_changes_saved_together_is_shown_where_they_were_withdrawn_together(world: World) -> None:
    world.seconds = lambda ports: STEP_SECONDS * (1.5 if len(ports) == 2 else 1.2 if ports else 1.0)
    advice = world.advise()
    assert [one.name for one in advice.withdrawn] == ["second", "first"]
    second, first = advice.withdrawn
    assert second.realised is None
    assert second.together is not None
    assert second.together.saved == pytest.approx(-0.5, abs=0.02)
    assert first.together is None
    assert first.realised is not None
    assert first.realised.saved == pytest.approx(-0.2, abs=0.02)
    shown = {row[3]: row[5] for row in rows(advice) if row[0] == "withdrawn:"}
    assert all("–" not in one.split()[0] for one in shown.values())
    withdrawn = {one["name"]: one["withdrawn"] for one in as_data(advice)["callbacks"]}
    assert [one["together"]["value"] for one in withdrawn["second"]] == pytest.approx([second.together.saved])


def test_changes_that_no_time_was_left_to_try_alone_have_what_they_saved_together(world: World) -> None:
    world.seconds = lambda ports: STEP_SECONDS * (1.5 if ports else 1.0)
    advice = world.advise(budget_seconds=100.0)
    assert [one.name for one in advice.withdrawn] == ["second", "first"]
    assert [one.together and one.together.is_slower for one in advice.withdrawn] == [True, True]


@pytest.mark.parametrize(
    ("factor", "budget_seconds", "lacked_time"),
    [(1.5, 480.0, False), (1.0, 480.0, False), (1.5, 40.0, False), (1.0, 60.0, True)],
    ids=["clearly slower", "not clear after all runs", "clearly slower in little time", "no time for more runs"],
)
def test_a_larger_budget_is_advised_only_if_time_was_short(
    world: World, factor: float, budget_seconds: float, lacked_time: bool
) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.seconds = lambda ports: STEP_SECONDS * (factor if ports else 1)
    advice = world.advise(budget_seconds=budget_seconds)
    assert answers(advice) == {"first": "leave", "second": "leave"}
    assert advice.lacked_time == lacked_time
    assert ("--budget" in headline(advice)) == lacked_time


def test_a_program_that_fails_is_an_error_with_its_last_words(world: World) -> None:
    world.code = lambda ports: 1
    with pytest.raises(NothingMeasured) as caught:
        world.advise()
    assert caught.value.received == "no"
    assert len(world.ran) == 2, "once with ops around its callbacks, once without"


def test_a_folder_of_another_program_or_of_something_else_is_refused(world: World) -> None:
    world.advise()
    with pytest.raises(BadInput):
        world.advise(steps=5)
    with pytest.raises(BadInput):
        world.advise(minimum_effect=0.3)
    (world.root / "program" / "train.py").write_text(f"{SOURCE}# changed\n")
    with pytest.raises(BadInput):
        world.advise()
    shutil.rmtree(world.root / "out")
    (world.root / "out").mkdir()
    (world.root / "out" / "mine.txt").write_text("")
    with pytest.raises(BadInput):
        world.advise()


def test_a_folder_in_which_nothing_was_recorded_is_anyones(world: World) -> None:
    world.code = lambda ports: 1
    with pytest.raises(NothingMeasured):
        world.advise(steps=5)
    world.code = lambda ports: 0
    assert answers(world.advise()) == {"first": "port", "second": "port"}


def test_a_program_that_cannot_be_started_leaves_no_folder(world: World) -> None:
    def fail(*anything: object) -> Run:
        raise BadInput("cannot start it", received="pyhton", hint="python")

    world.run = fail  # type: ignore[method-assign]
    with pytest.raises(BadInput):
        world.advise()
    assert not (world.root / "out").exists()


@pytest.mark.parametrize(
    ("options", "recording", "turns"),
    [
        ({}, (None, 40.0, 180.0), (None, 120.0, 540.0)),
        ({"seconds": 10.0}, (None, 10.0, 90.0), (None, 30.0, 270.0)),
        ({"steps": 7}, (7, None, 540.0), (7, None, 1620.0)),
        ({"steps": 7, "seconds": 10.0}, (7, 10.0, 90.0), (7, 30.0, 270.0)),
    ],
)
def test_a_run_is_ended_after_what_was_asked_for_alone(
    world: World, options: dict[str, Any], recording: tuple[Any, ...], turns: tuple[Any, ...]
) -> None:
    world.advise(**options)
    asked = [(one.steps, one.seconds, one.timeout_seconds) for one in world.asked]
    assert world.recordings == 3
    assert (set(asked[:3]), set(asked[3:])) == ({recording}, {turns})


def test_a_program_is_recorded_again_while_there_is_time(world: World) -> None:
    """A run of `World` takes 4 s; all recordings together take at most an eighth of the budget."""
    for number, budget in enumerate((10.0, 70.0, 100.0), start=1):
        world.asked, world.out = [], world.root / f"out-{number}"
        world.advise(budget_seconds=budget)
        assert world.recordings == number
        assert [one.keeps for one in world.asked[:number]] == [True, *[False] * (number - 1)]


def test_a_program_without_a_costly_callback_is_recorded_once(world: World) -> None:
    world.share = {"first": 0.005, "second": 0.005}
    world.advise()
    assert len(world.ran) == 1


def test_the_share_is_the_mean_of_the_recordings_and_the_limit_the_largest(world: World) -> None:
    """Shares of 40%, 20% and 30%."""
    shares = iter((0.4, 0.2, 0.3))
    write_counts = world.write_counts

    def write(copy: Path, parts: Path) -> None:
        world.share = {"first": next(shares), "second": 0.005}
        write_counts(copy, parts)

    world.write_counts = write  # type: ignore[method-assign]
    row = world.advise().rows[0]
    assert [one.seconds for one in row.callback.further_costs] == pytest.approx([0.18, 0.27])
    assert row.shown.share == pytest.approx(0.27, abs=0.01)
    assert row.shown.most == pytest.approx(0.4 + 2e-4 / STEP_SECONDS, abs=0.01)


@pytest.mark.parametrize("ended", ["", "steps", "seconds"])
def test_of_a_program_that_is_ended_early_no_later_gradient_is_known(world: World, ended: str) -> None:
    world.ended = ended
    assert {row.callback.was_ended for row in world.advise().rows} == {bool(ended)}


def test_the_report_has_a_row_for_each_callback_and_the_change(world: World) -> None:
    advice = world.advise()
    assert [row[0] for row in rows(advice)] == ["train.py:3 first", "train.py:4 second", "all changes"]
    page = write(advice)
    assert page.read_text().count("<tr>") == 4
    stored = json.loads((world.root / "out" / "report.json").read_text())
    assert [one["variant"] for one in stored["callbacks"]] == ["traced", "traced"]
    assert stored["realised"]["saved" if "saved" in stored["realised"] else "value"] == pytest.approx(0.75, abs=0.01)
    assert headline(advice) in (world.root / "out" / "report.md").read_text().replace("\\", "")


def test_a_change_that_could_not_be_measured_is_reported_once_for_all_callbacks(world: World) -> None:
    advice = world.advise()
    before = reasons(advice)
    first, second = advice.rows
    advice.rows[0] = replace(
        first, answer=replace(first.answer, failures=("port to numba_op: A", "port to autograph: B"))
    )
    advice.rows[1] = replace(second, answer=replace(second.answer, failures=("port to numba_op: A",)))
    new = [one for one in reasons(advice) if one not in before]
    titles = [row.callback.title for row in advice.rows]
    assert [[title in one for title in titles] for one in new] == [[True, True], [True, False]]
    write(advice)
    stored = json.loads((world.root / "out" / "report.json").read_text())["callbacks"]
    assert [one["failures"] for one in stored] == [
        ["port to numba_op: A", "port to autograph: B"],
        ["port to numba_op: A"],
    ]


def test_a_gain_beyond_what_the_callbacks_take_is_questioned(world: World) -> None:
    world.share = {"first": 0.2, "second": 0.005}
    advice = world.advise()
    assert len(reasons(advice)) == 4, "two answers, a note, the losses"
    ((title, saved, most),) = savings_beyond_bound(advice)
    assert title == advice.rows[0].callback.title
    assert (saved, most) == (pytest.approx(0.5, abs=0.01), advice.rows[0].shown.most)
    world.seconds = lambda ports: STEP_SECONDS * (1 - 0.1 * len(ports))
    world.out = world.root / "again"
    assert savings_beyond_bound(world.advise()) == []
    assert len(reasons(world.advise())) == 3


def test_a_file_of_the_port_that_is_there_already_keeps_the_callback(world: World) -> None:
    (world.root / "program" / "first_port.py").write_text("")
    assert answers(world.advise()) == {"first": "leave", "second": "port"}


def test_no_callback_leaves_nothing_to_do(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "callbacks_of", lambda usage, kept, original: [])
    advice = world.advise()
    assert rows(replace(advice, rows=[])) == []
    lines = [headline(replace(advice, ended=ended)) for ended in ("", "steps", "seconds")]
    assert len({*lines}) == 3, "it may call some later"
    assert ["--budget" in one for one in lines] == [False, False, True]
    assert world.decided == []


def checked(world: World, **options: Any) -> list[tuple[str, str]]:
    program = Program.here([sys.executable, "train.py"], world.root / "program")
    tools = Tools(world.run, world.decide, clock=lambda: 0.0)
    report, folder = world.root / "out" / "report.json", world.root / f"check-{len(world.ran)}"
    found = check(program, folder, Options(**options), report, Listener(), tools)
    return [(one.place.split()[-1], one.kind) for one in found]


def test_a_check_finds_a_new_callback_and_one_that_was_ported(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    write(world.advise())
    assert checked(world) == [("first", "back")]
    stored = world.root / "out" / "report.json"
    content = json.loads(stored.read_text())
    content["callbacks"] = [one | {"action": "leave"} for one in content["callbacks"]]
    rewrite(stored, content)
    assert checked(world) == []
    content["callbacks"] = content["callbacks"][1:]
    rewrite(stored, content)
    assert checked(world) == [("first", "new")]
    assert checked(world, minimum_effect=0.5) == []


def rewrite(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content))


def test_a_check_refuses_what_is_no_report(world: World) -> None:
    world.advise()
    report = world.root / "out" / "report.json"
    received = []
    for content in (b'{"callbacks": 3}', b"{}", b"no JSON"):
        report.write_bytes(content)
        with pytest.raises(BadInput) as caught:
            checked(world)
        received.append(str(caught.value))
    assert all(str(report) in one for one in received)
    assert len(world.ran) == world.recordings + 6, "it is read before the program runs"


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        ((0.239, 0.1, 0.357), "24% (10–36%)"),
        ((0.03, -0.02, 0.075), "3% (−2% to 7.5%)"),
        ((-20.0, -40.0, 0.9), formatting.TOO_NOISY),
        (None, "–"),
    ],
)
def test_a_share_is_short_and_has_its_interval(share: tuple[float, float, float] | None, shown: str) -> None:
    assert realised_text(None if share is None else Realised("step", 2.0, 1.0, *share, 3)) == shown


def test_the_last_line_distinguishes_why_callbacks_are_left_alone(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.seconds = lambda ports: STEP_SECONDS * (1.5 if ports else 1)
    advice = world.advise()
    assert [one["obstacle"] for one in as_data(advice)["callbacks"]] == ["withdrawn", "no_gain"]
    row = advice.rows[0]
    lines = {
        headline(replace(advice, rows=[replace(row, answer=replace(row.answer, obstacle=one))]))
        for one in ("no_port", "not_measured", "no_gain", "withdrawn")
    }
    assert len(lines) == 4


def test_what_is_at_stake_is_told_if_nothing_can_replace_a_callback(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.2}
    advice = world.advise()
    rows_of = {
        obstacle: [replace(row, answer=replace(row.answer, action="leave", obstacle=obstacle)) for row in advice.rows]
        for obstacle in ("no_port", "no_gain")
    }
    lacking, small = (replace(advice, rows=rows_of[one], patch=None) for one in ("no_port", "no_gain"))
    assert at_stake(lacking) == pytest.approx(sum(row.shown.most for row in advice.rows))
    assert at_stake(small) == 0
    assert formatting.percent(at_stake(lacking)) in headline(lacking)
    assert "%" not in headline(small)


@pytest.mark.parametrize(("variant", "uncounted"), [("numba_op", 1), ("traced", 0)])
def test_what_numba_compiles_is_kept_for_the_runs_that_count(
    world: World, variant: str, uncounted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = (variant,)
    cached: list[bool] = []
    run = world.run

    def run_and_compile(program: Program, copy: Path, parts: Path, asked: Asked) -> Run:
        port = copy / "first_port.py"
        found = run(program, copy, parts, asked)
        if not port.exists():
            return found
        cache = copy / "__pycache__" / "first_port.first-3.py311.nbi"
        is_cached = cache.exists() and cache.read_text() == str(port.stat().st_mtime_ns)
        cached.append(is_cached)
        if not is_cached:
            cache.parent.mkdir(exist_ok=True)
            cache.write_text(str(port.stat().st_mtime_ns))
        return found

    monkeypatch.setattr(world, "run", run_and_compile)
    advice = world.advise()
    assert advice.realised is not None
    assert cached == [False, *[True] * (len(cached) - 1)]
    assert len(cached) == advice.realised.runs + uncounted


def test_the_report_says_which_copied_values_are_checked(world: World) -> None:
    advice = world.advise()
    assert not any("self.std" in one for one in reasons(advice))
    advice.constants = {"first": {"self.std": True, "scale": False}}
    checked, unchecked = ([one for one in reasons(advice) if name in one] for name in ("`self.std`", "`scale`"))
    assert len(checked) == 1
    assert checked == unchecked
    assert checked[0].index("`self.std`") < checked[0].index("`scale`")


@pytest.mark.parametrize("which", [2, 3])
def test_a_recording_that_fails_is_not_used(world: World, which: int) -> None:
    run = world.run

    def failing(program: Program, copy: Path, parts: Path, asked: Asked) -> Run:
        found = run(program, copy, parts, asked)
        return replace(found, code=1) if asked.counts and world.recordings == which else found

    world.run = failing  # type: ignore[method-assign]
    advice = world.advise()
    assert world.recordings == which
    assert len(advice.rows[0].callback.further_costs) == which - 2


def test_later_recordings_have_no_ops_around_callbacks_if_the_first_could_not(world: World) -> None:
    run = world.run

    def failing(program: Program, copy: Path, parts: Path, asked: Asked) -> Run:
        found = run(program, copy, parts, asked)
        return replace(found, code=1) if asked.flights else found

    world.run = failing  # type: ignore[method-assign]
    world.advise()
    assert [one.flights for one in world.asked if one.counts] == [True, False, False, False]


@pytest.mark.parametrize("runs", [3, 5])
def test_an_interrupted_advice_goes_on_with_its_recordings(world: World, runs: int) -> None:
    world.dies_after = runs
    with pytest.raises(KeyboardInterrupt):
        world.advise()
    world.dies_after = 10**6
    assert answers(world.advise()) == {"first": "port", "second": "port"}
    assert world.recordings == 3
    assert (world.root / "program" / "train.py").read_text() == SOURCE
