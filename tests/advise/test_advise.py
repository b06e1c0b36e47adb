"""The path of `pyopbench advise`, on programs that are made up: no file of theirs is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench.advise import advise as module
from pyopbench.advise.advise import advise, check
from pyopbench.advise.answers import Answer, Candidate
from pyopbench.advise.attempt import PATCH, Advice, Options, Tools
from pyopbench.advise.callbacks import Callback, Step
from pyopbench.advise.program import Asked, Program, Run
from pyopbench.advise.report import (
    at_stake,
    commands,
    headline,
    realised_text,
    reasons,
    rows,
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
        took, loss, code: likewise; `took` is the seconds of a whole run.
        variants: the candidates of each callback, the best first.
        elements: that the program takes from its input.
        refused: variants that cannot be written.
        bodies: what each callback returns, in the words of the source; `a` is its input.
        ran, decided: what was done.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seconds: Callable[[frozenset[str]], float] = lambda ports: STEP_SECONDS * 0.5 ** len(ports)
        self.took: Callable[[frozenset[str]], float] = lambda ports: 10.0
        self.loss: Callable[[frozenset[str]], float] = lambda ports: 0.5
        self.code: Callable[[frozenset[str]], int] = lambda ports: 0
        self.share: Mapping[str, float] = {"first": 0.4, "second": 0.3}
        self.variants: dict[str, tuple[str, ...]] = {"first": ("traced",), "second": ("traced",)}
        self.ran: list[frozenset[str]] = []
        self.decided: list[str] = []
        self.asked: list[Asked] = []
        self.bodies = {"first": "a", "second": "a"}
        self.now = 0.0
        self.elements = STEPS
        self.ended = ""
        self.budgets: list[float] = []
        self.out: Path | None = None
        self.refused: set[str] = set()

    def run(self, program: Program, copy: Path, parts: Path, asked: Asked) -> Run:
        text = (copy / "train.py").read_text()
        there = [name for name in ("first", "second") if f"function({name}," not in text]
        files = {name: copy / f"{name}_port.py" for name in there}
        ports = frozenset(
            file.read_text().removeprefix("# ").removesuffix(" traced") if file.exists() else name
            for name, file in files.items()
        )
        self.ran.append(ports)
        self.asked.append(asked)
        self.now += self.took(ports)
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
        nothing = {"calls": 0, "raised": 0, "seconds": 0.0}
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

    def decide(self, callback: Callback, step: Step, folder: Path, budget: float, minimum_effect: float) -> Answer:
        self.decided.append(callback.name)
        self.budgets.append(budget)
        Path("cache.npy").write_bytes(b"")
        candidates = tuple(Candidate(one, 0.9) for one in self.variants[callback.name])
        return Answer("leave", "", candidates=candidates)

    def write(self, callback: Callback, folder: Path, answer: Answer, candidate: Candidate) -> Answer | str:
        if candidate.variant in self.refused:
            return "no"
        port = folder / candidate.variant
        port.mkdir(parents=True, exist_ok=True)
        names = f"{callback.name}_port.py", f"test_{callback.name}_port.py"
        for name in names:
            (port / name).write_text(f"# {callback.name} {candidate.variant}")
        return replace(
            answer,
            action="port",
            why="it was measured",
            variant=candidate.variant,
            saved=candidate.saved,
            port=names[0],
            test=names[1],
            function=callback.name,
            folder=candidate.variant,
        )

    def advise(self, **options: Any) -> Advice:
        out = self.root / "out" if self.out is None else self.out
        program = Program.here([sys.executable, "train.py"], self.root / "program", [out])
        tools = Tools(self.run, self.decide, self.write, lambda: self.now)
        return advise(program, out, Options(**options), Listener(), tools)


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "train.py").write_text(SOURCE)
    return World(tmp_path)


def answers(advice: Advice) -> dict[str, str]:
    return {row.callback.name: row.answer.action for row in advice.rows}


def test_ports_that_make_the_program_faster_become_a_patch_that_git_applies(world: World) -> None:
    advice = world.advise()
    assert answers(advice) == {"first": "port", "second": "port"}
    assert advice.realised is not None
    assert advice.realised.saved == pytest.approx(0.75, abs=0.01)
    assert advice.patch == world.root / "out" / PATCH
    assert (world.root / "program" / "train.py").read_text() == SOURCE
    subprocess.run(["git", "apply", str(advice.patch)], cwd=world.root / "program", check=True)
    assert (world.root / "program" / "train.py").read_text().splitlines()[-2:] == [
        "y = tf.stop_gradient(first_port.first(a))",
        "z = tf.stop_gradient(second_port.second(y))",
    ]
    assert (world.root / "program" / "test_first_port.py").exists()


def test_what_a_body_writes_while_it_is_measured_is_not_in_the_folder_of_the_program(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.root / "program")
    world.advise()
    assert world.decided
    assert [path.name for path in Path().iterdir()] == ["train.py"]


def test_a_callback_that_takes_too_little_is_named_and_not_measured(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    advice = world.advise()
    assert world.decided == ["first"]
    assert answers(advice) == {"first": "port", "second": "leave"}
    most = {row.callback.name: row.most for row in advice.rows}
    assert most == pytest.approx({"first": 0.42, "second": 0.025}, rel=0.02)  # with 200 us a call


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


def test_a_change_that_saves_less_than_the_minimum_effect_is_withdrawn(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.seconds = lambda ports: STEP_SECONDS * (0.9 if ports else 1)
    assert world.advise(minimum_effect=0.05).patch is not None
    world.out = world.root / "again"
    advice = world.advise(minimum_effect=0.2)
    assert (advice.patch, advice.rows[0].answer.obstacle) == (None, "withdrawn")
    assert formatting.percent(0.2) in advice.withdrawn[0].why


def test_a_program_that_was_not_observed_is_an_error(world: World) -> None:
    run = world.run
    world.run = lambda *given: replace(run(*given), samples=[])  # type: ignore[method-assign]
    with pytest.raises(NothingMeasured) as caught:
        world.advise()
    assert "train.py" in str(caught.value.received)


def test_runs_that_are_ended_by_their_time_without_steps_are_not_compared(world: World) -> None:
    world.elements, world.ended = 1, "seconds"
    advice = world.advise()
    assert set(answers(advice).values()) == {"leave"}
    assert len(world.ran) == 1, "the recording alone"


def test_a_program_that_fails_is_an_error_with_its_last_words(world: World) -> None:
    world.code = lambda ports: 1
    with pytest.raises(NothingMeasured) as caught:
        world.advise()
    assert caught.value.received == "no"
    assert len(world.ran) == 2, "once with ops around its callbacks, once without"


@pytest.mark.parametrize("interrupted", [1, 3, 0])
def test_no_copy_of_the_program_is_left_however_it_ends(world: World, interrupted: int) -> None:
    run = world.run

    def interrupt(*given: Any) -> Run:
        given[1].with_name("large").mkdir(exist_ok=True)
        found = run(*given)
        if len(world.ran) == interrupted:
            raise KeyboardInterrupt
        return found

    world.run = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
        write(world.advise())
        checked(world)
    assert not [one for one in world.root.glob("*/*") if one.name in ("copies", "turns")]


def test_a_folder_with_content_is_refused_and_kept(world: World) -> None:
    (world.root / "out" / "copies").mkdir(parents=True)
    with pytest.raises(BadInput):
        world.advise()
    assert (world.root / "out" / "copies").exists()


def test_a_program_that_cannot_be_started_leaves_no_folder(world: World) -> None:
    def fail(*anything: object) -> Run:
        raise BadInput("cannot start it", received="pyhton", hint="python")

    world.run = fail  # type: ignore[method-assign]
    with pytest.raises(BadInput):
        world.advise()
    assert not (world.root / "out").exists()


@pytest.mark.parametrize("ended", ["", "steps", "seconds"])
def test_of_a_program_that_is_ended_early_no_later_gradient_is_known(world: World, ended: str) -> None:
    world.ended = ended
    assert {row.callback.was_ended for row in world.advise().rows} == {bool(ended)}


def test_the_report_has_a_row_for_each_callback_and_the_change(world: World) -> None:
    advice = world.advise()
    assert [row[0] for row in rows(advice)] == ["train.py:3 first", "train.py:4 second"]
    page = write(advice)
    assert page.read_text().count("<tr>") == 3
    stored = json.loads((world.root / "out" / "report.json").read_text())
    assert [one["variant"] for one in stored["callbacks"]] == ["traced", "traced"]
    assert stored["realised"]["saved"] == pytest.approx(0.75, abs=0.01)


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


def checked(world: World, **options: Any) -> list[str]:
    program = Program.here([sys.executable, "train.py"], world.root / "program")
    tools = Tools(world.run, world.decide, world.write, clock=lambda: 0.0)
    report, folder = world.root / "out" / "report.json", world.root / f"check-{len(world.ran)}"
    return check(program, folder, Options(**options), report, Listener(), tools)


def test_a_check_finds_a_new_callback_and_one_that_was_ported(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    write(world.advise())
    (back,) = checked(world)
    stored = world.root / "out" / "report.json"
    content = json.loads(stored.read_text())
    content["callbacks"] = [one | {"action": "leave"} for one in content["callbacks"]]
    rewrite(stored, content)
    assert checked(world) == []
    content["callbacks"] = content["callbacks"][1:]
    rewrite(stored, content)
    (new,) = checked(world)
    assert "train.py:3 first" in new
    assert "train.py:3 first" in back
    assert new != back
    assert checked(world, minimum_effect=0.5) == []


def rewrite(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content))


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


def by_port(**factors: float) -> Callable[[frozenset[str]], float]:
    """Return the seconds of a step: those of the program, times the factors of the ports that are in place."""

    def seconds(ports: frozenset[str]) -> float:
        found = STEP_SECONDS
        for one in ports:
            found *= factors.get(one.replace(" ", "_"), 1.0)
        return found

    return seconds


def changes(advice: Advice) -> list[str]:
    return [row.answer.variant for row in advice.rows]


def test_a_single_change_takes_turns_with_the_original_from_fresh_copies(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.advise()
    first = frozenset({"first"})
    assert world.ran == [frozenset(), frozenset(), first, first, frozenset(), frozenset(), first]


def test_of_several_changes_each_runs_once_the_cheapest_first_and_the_fastest_is_compared(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = ("numba_op", "traced", "autograph")
    world.seconds = by_port(first_numba_op=0.5, first=0.8, first_autograph=0.9)
    advice = world.advise()
    assert changes(advice) == ["numba_op", ""]
    once = [min(ports) for ports in world.ran[: world.ran.index(frozenset({"first numba_op"})) + 1] if ports]
    assert once == ["first autograph", "first", "first numba_op"]
    assert advice.realised is not None
    assert advice.realised.saved == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("factor", "variant"), [(0.97, "traced"), (0.5, "numba_op")])
def test_a_costlier_change_is_chosen_only_if_it_is_clearly_faster(world: World, factor: float, variant: str) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = ("traced", "numba_op")
    world.seconds = by_port(first=0.7, first_numba_op=0.7 * factor)
    assert changes(world.advise()) == [variant, ""]


def test_changes_for_which_no_time_is_left_are_named_with_the_command_that_tries_them(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = ("traced", "numba_op")
    world.seconds = by_port(first=0.99)
    advice = world.advise(budget_seconds=75.0, steps=90, minimum_effect=0.005)
    assert advice.untried == ["train.py:3 first: port to numba_op"]
    assert advice.patch is None
    assert any("numba_op" in one for one in reasons(advice))
    assert "--budget" in headline(advice)
    assert "advise --budget 150s --steps 90 --min-effect 0.5% --" in commands(advice)[0]


def test_a_change_that_is_much_slower_leaves_the_time_for_the_others(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = ("traced", "numba_op")
    world.seconds = by_port(first=3.0, first_numba_op=0.5)
    world.took = lambda ports: 30.0 if "first" in ports else 10.0
    advice = world.advise(budget_seconds=112.0)
    assert (changes(advice), advice.realised is not None) == (["numba_op", ""], True)
    assert [one.variant for one in advice.withdrawn] == ["traced"]


def test_a_callback_is_measured_although_the_runs_that_compare_may_not_fit(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.advise(budget_seconds=60.0)
    assert world.budgets == [pytest.approx(20.0)], "of 60 s, 10 were recorded, and preparing takes 30"


def test_without_time_to_measure_the_command_has_a_larger_budget(world: World) -> None:
    world.variants = {"first": (), "second": ()}
    advice = world.advise(budget_seconds=30.0)
    assert set(world.budgets) == {0.0}
    assert "--budget" in headline(advice)
    assert "--budget 60s" in commands(advice)[0]


@pytest.mark.parametrize("budget", [30.0, 60.0, 150.0, 300.0])
def test_the_budget_is_kept(world: World, budget: float) -> None:
    world.variants = {"first": ("traced", "numba_op"), "second": ("traced", "autograph")}
    world.seconds = lambda ports: STEP_SECONDS
    world.advise(budget_seconds=budget)
    assert world.now <= budget * 1.1


@pytest.mark.parametrize(
    ("broken", "patched", "withdrawn"),
    [("second", ["traced", ""], ["traced"]), ("first", ["numba_op", "traced"], ["traced"])],
)
def test_a_change_that_alters_a_loss_or_fails_is_withdrawn_after_a_run(
    world: World, broken: str, patched: list[str], withdrawn: list[str]
) -> None:
    world.variants["first"] = ("traced", "numba_op")
    world.seconds = by_port(first=0.5, second=0.5, first_numba_op=0.6)
    if broken == "first":
        world.code = lambda ports: int("first" in ports)
    else:
        world.loss = lambda ports: 0.6 if "second" in ports else 0.5
    advice = world.advise(budget_seconds=4000.0)
    assert changes(advice) == patched
    assert [one.variant for one in advice.withdrawn] == withdrawn
    assert world.ran.count(frozenset({broken})) == 1
    assert advice.patch is not None


def test_the_obstacle_says_why_a_callback_is_left_alone(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = ("traced", "numba_op")
    lines = []
    for number, (code, factor) in enumerate([(1, 1.0), (0, 1.5), (0, 1.0)]):
        world.out = world.root / f"out-{number}"
        world.code = lambda ports, code=code: code if ports else 0  # type: ignore[misc]
        world.seconds = lambda ports, factor=factor: STEP_SECONDS * (factor if ports else 1)  # type: ignore[misc]
        advice = world.advise(budget_seconds=4000.0)
        assert advice.patch is None
        lines.append((advice.rows[0].answer.obstacle, headline(advice)))
    assert [one for one, _ in lines] == ["differs", "withdrawn", "withdrawn"]
    assert len({line for _, line in lines}) == 2


def test_if_several_changes_do_not_help_together_the_best_of_them_is_compared(world: World) -> None:
    world.seconds = lambda ports: STEP_SECONDS * {0: 1.0, 2: 1.2}.get(len(ports), 0.5 if "first" in ports else 0.9)
    advice = world.advise(budget_seconds=4000.0)
    assert changes(advice) == ["traced", ""]
    (one,) = advice.withdrawn
    assert one.name == "second"
    assert one.realised is not None
    assert one.realised.saved == pytest.approx(-0.2, abs=0.02)


def test_runs_have_seeds_in_pairs_while_a_changed_callback_draws(world: World) -> None:
    world.bodies["second"] = "a * np.random.rand()"
    world.advise(budget_seconds=4000.0)
    shifts = [asked.shift for asked in world.asked]
    drawing = [shift for shift in shifts if shift]
    assert drawing == [number for number in range(1, len(drawing) // 2 + 1) for _ in range(2)]
    assert len(drawing) >= 6


def test_a_change_that_draws_is_withdrawn_first_if_results_differ_in_pairs(world: World) -> None:
    world.bodies["second"] = "a * np.random.rand()"
    noise = iter(np.random.default_rng(0).normal(0, 0.01, 1000))
    world.loss = lambda ports: 2.0 + float(next(noise)) if "second" in ports else 0.5
    advice = world.advise(budget_seconds=4000.0)
    assert changes(advice) == ["traced", ""]
    assert [one.name for one in advice.withdrawn] == ["second"]


def test_a_change_that_cannot_be_written_is_reported_as_impossible(world: World) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.refused = {"traced"}
    advice = world.advise()
    assert (advice.patch, advice.rows[0].answer.obstacle) == (None, "no_port")
    assert advice.rows[0].answer.failures == ("port to traced: no",)
    assert formatting.percent(at_stake(advice)) in headline(advice)


@pytest.mark.parametrize(
    ("options", "recording", "turns"),
    [
        ({}, (None, 12.0, 96.0), (None, 36.0, 288.0)),
        ({"seconds": 10.0}, (None, 10.0, 90.0), (None, 30.0, 270.0)),
        ({"steps": 7}, (7, None, 300.0), (7, None, 900.0)),
        ({"steps": 7, "seconds": 10.0}, (7, 10.0, 90.0), (7, 30.0, 270.0)),
    ],
)
def test_a_run_is_ended_after_what_was_asked_for_alone(
    world: World, options: dict[str, Any], recording: tuple[Any, ...], turns: tuple[Any, ...]
) -> None:
    world.advise(**options)
    asked = [(one.steps, one.seconds, one.timeout_seconds) for one in world.asked]
    assert (set(asked[:1]), set(asked[1:])) == ({recording}, {turns})


@pytest.mark.parametrize(("variant", "uncounted"), [("numba_op", 1), ("traced", 0)])
def test_what_numba_compiles_is_not_timed_and_is_compiled_once(world: World, variant: str, uncounted: int) -> None:
    world.share = {"first": 0.4, "second": 0.005}
    world.variants["first"] = (variant,)
    times = set[int]()
    run = world.run

    def run_and_note(program: Program, copy: Path, parts: Path, asked: Asked) -> Run:
        times.update(path.stat().st_mtime_ns for path in copy.glob("first_port.py"))
        return run(program, copy, parts, asked)

    world.run = run_and_note  # type: ignore[method-assign]
    advice = world.advise()
    assert advice.realised is not None
    assert sum(map(bool, world.ran)) == advice.realised.runs + uncounted
    assert len(times) == 1, "Numba compiles a file again if its time differs"


def test_the_report_names_copied_values_and_a_saving_beyond_the_bound(world: World) -> None:
    world.share = {"first": 0.2, "second": 0.005}
    advice = world.advise()
    before = reasons(advice)
    assert any(formatting.percent(advice.rows[0].most) in one for one in before), "half of a step is more"
    advice.constants = {"first": ["self.std"]}
    assert [one for one in reasons(advice) if one not in before] != []
    world.out, world.seconds = world.root / "again", by_port(first=0.9)
    assert len(reasons(world.advise())) == len(before) - 1
