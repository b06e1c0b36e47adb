"""The answer for a callback of an input pipeline, from measurements in a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

from kept_sites import kept_of
from pipelines import BATCH, CURRENT, PARALLEL, POOL, rows
from pyopbench.advise import answers, candidates
from pyopbench.advise.answers import Answer, decide, decide_again
from pyopbench.advise.callbacks import (
    Callback,
    KeptCall,
    KeptSource,
    Stage,
    Step,
)
from pyopbench.advise.candidates import (
    Candidate,
    least_work_first,
    ports_that_save,
    throughput_text,
    variant_text,
    worth_of,
)
from pyopbench.judge.decision import Decision
from pyopbench.judge.findings import BaselineFailed
from pyopbench.judge.pipeline import TrainingStep, judge
from pyopbench.model import formatting
from pyopbench.model.arrangement import AUTOTUNE, Arrangement, parallel_text
from pyopbench.model.portable import BRIDGE
from pyopbench.report import columns

EFFECT = 0.03
PORT = Arrangement("port", "port", "ds.map(traced)", AUTOTUNE, 0, "traced", 4.0)
COMPILED = Arrangement("port", "port", "ds.map(numba_op)", AUTOTUNE, 0, "numba_op", 1.0)
TWO = Arrangement("map", "parallel", "ds.map(f, num_parallel_calls=2)", 2, extra_effort=0.1)
ALL = (CURRENT, PARALLEL, TWO, BATCH, POOL, COMPILED, PORT)
STAGE = Stage("train.py", 5, 1, "parse", 3)
STEP = Step(0.01, 100, 0.9)
CALLBACK = Callback("f", "train.py", 3, "numpy_function", "graph", "f", True, 3200, 0, 0.8, 0.9, stage=STAGE)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Decide on a callback whose elements take so many tenths of a millisecond by arrangement."""
    monkeypatch.setattr(answers, "write_op_file", lambda callback, folder, **_: folder / "f.py")
    written: list[str] = []

    def write(callback: Callback, op_file: Path, place: Path, variant: str) -> tuple[str, str, str] | str:
        written.append(variant)
        return "no" if variant in refused else ("f_port.py", "test_f_port.py", answers.OUTPUTS)

    refused: set[str] = set()

    def decided(
        tenths: Mapping[str, float], callback: Callback = CALLBACK, refuse: tuple[str, ...] = (), step: Step = STEP
    ) -> Answer:
        refused.clear()
        refused.update(refuse)
        seconds = {one.key: 1e-4 * tenths.get(one.key, 1.0) for one in ALL}
        found = judge(rows(seconds, arrangements=ALL), EFFECT, TrainingStep(32))
        monkeypatch.setattr(answers, "_measured_in_pipeline", lambda *_: SimpleNamespace(pipeline=found))
        return decide(callback, step, tmp_path, 60.0, EFFECT)

    monkeypatch.setattr(answers, "_write", write)
    return decided


@pytest.mark.parametrize(
    ("tenths", "action", "variants"),
    [
        ({}, "leave", []),
        ({PARALLEL.key: 0.5, TWO.key: 0.55}, "arrange", [PARALLEL.key, TWO.key]),
        ({POOL.key: 0.3, COMPILED.key: 0.6}, "arrange", [POOL.key, COMPILED.key]),
        ({PORT.key: 0.1, POOL.key: 0.5}, "port", [PORT.key, POOL.key]),
        ({COMPILED.key: 0.1}, "port", [COMPILED.key]),
        (
            {PORT.key: 0.1, COMPILED.key: 0.3, POOL.key: 0.5, PARALLEL.key: 0.6},
            "port",
            [PORT.key, COMPILED.key, POOL.key],
        ),
    ],
)
def test_the_arrangement_that_is_decided_on_comes_first_and_those_that_save_less_follow(
    measured: Any, tenths: dict[str, float], action: str, variants: list[str]
) -> None:
    answer = measured(tenths)
    assert (answer.action, answer.variant) == (action, variants[0] if variants else "")
    assert [one.variant for one in answer.candidates] == variants


def test_nothing_is_worth_more_than_the_program_waits(measured: Any) -> None:
    assert measured({POOL.key: 0.5}).chosen.worth == pytest.approx(0.8 * 0.5, rel=0.1)
    assert measured({POOL.key: 0.5}, step=replace(STEP, waited=0.2)).chosen.worth == pytest.approx(0.2)


def test_shares_are_of_the_map_that_the_program_has(measured: Any) -> None:
    """With two calls at a time already, a pool that takes 40% of a sequential map saves a third of the rest."""
    two = replace(CALLBACK, stage=Stage("train.py", 5, 2, "parse", 3))
    answer = measured({TWO.key: 0.6, PARALLEL.key: 0.6, POOL.key: 0.4}, two)
    assert answer.variant == POOL.key
    assert answer.candidates[0].saved == pytest.approx(1 / 3, abs=0.03)
    assert TWO.key not in [one.variant for one in answer.candidates]
    assert measured({TWO.key: 0.5, PARALLEL.key: 0.5}, two).action == "leave"


def test_batches_are_candidates_and_do_not_take_the_places_of_other_arrangements(measured: Any, tmp_path: Path) -> None:
    stage = structs.replace(STAGE, batch=BATCH.batch)
    batched = replace(CALLBACK, stage=stage, kept=kept_of(tmp_path, np.ones(3)))
    tenths = {BATCH.key: 0.1, POOL.key: 0.2, COMPILED.key: 0.4, PORT.key: 0.3, PARALLEL.key: 0.5}
    answer = measured(tenths, batched)
    assert (answer.action, answer.variant) == ("arrange", BATCH.key)
    assert [one.variant for one in answer.rest] == [POOL.key, PORT.key, COMPILED.key]
    for other in (
        replace(batched, stage=structs.replace(stage, batch=BATCH.batch + 1)),
        replace(batched, stage=STAGE),
        replace(batched, kept=kept_of(tmp_path, np.ones(3), call=KeptCall([True, False]))),
    ):
        assert measured({BATCH.key: 0.1}, other).candidates == ()


def test_a_body_that_calls_numpy_is_not_called_in_the_graph(tmp_path: Path) -> None:
    callback = replace(CALLBACK, kind="py_function", kept=kept_of(tmp_path, np.ones(3)))
    assert "autograph" in candidates.ports_of(callback)
    source = KeptSource("def scale(x):\n    return 2 * x.numpy()\n", "scale")
    arrays = replace(callback, kept=kept_of(tmp_path, np.ones(3), source=source))
    assert candidates.ports_of(arrays) == ("traced", "numba_op")


def test_maps_that_a_patch_cannot_change_are_no_candidates(measured: Any) -> None:
    assert measured({BATCH.key: 0.1}).candidates == ()
    assert measured({POOL.key: 0.1}, replace(CALLBACK, stage=None)).candidates == ()
    elsewhere = replace(CALLBACK, stage=Stage("", 5, 1, "parse", 3))
    assert (measured({POOL.key: 0.1}, elsewhere).action, measured({}, elsewhere).obstacle) == ("leave", "no_port")


def test_what_cannot_be_written_is_passed_over_and_the_next_answer_is_the_next_candidate(
    measured: Any, tmp_path: Path
) -> None:
    answer = measured({PORT.key: 0.1, COMPILED.key: 0.3, POOL.key: 0.5}, refuse=(PORT.key,))
    assert (answer.variant, answer.folder) == (COMPILED.key, "port-port-numba_op")
    assert [one.variant for one in answer.rest] == [POOL.key]
    again = decide_again(CALLBACK, tmp_path, answer, EFFECT)
    assert (again.action, again.variant, again.folder, again.rest) == ("arrange", POOL.key, "port-processes", ())
    assert decide_again(CALLBACK, tmp_path, again, EFFECT).obstacle == "no_gain"
    assert measured({PORT.key: 0.1}, refuse=(PORT.key,)).obstacle == "no_port"


def test_a_change_that_is_predicted_to_save_too_little_is_not_tried(measured: Any) -> None:
    rare = replace(CALLBACK, calls=100, seconds=0.01, flight_seconds=0.02)
    answer = measured({PORT.key: 0.1}, rare)
    assert (answer.action, [one.variant for one in answer.candidates]) == ("leave", [PORT.key])


def test_a_candidate_says_what_it_is() -> None:
    actions = {
        one: Candidate(one, 0.5).action for one in ("numba_op", BRIDGE, PORT.key, COMPILED.key, POOL.key, TWO.key)
    }
    assert list(actions.values()) == ["port", "arrange", "port", "port", "arrange", "arrange"]
    assert len({variant_text(one) for one in actions}) == 5, "numba_op by either name"


def test_every_variant_that_was_measured_at_all_sizes_may_be_the_next_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ("numba_op", "forward", 1, 0.2, 0.1, 0.3),
        ("numba_op", "forward", 9, 0.4, 0.3, 0.5),
        ("traced", "forward", 1, 0.1, 0.1, 0.1),
        ("traced", "forward", 9, 0.3, 0.2, 0.4),
        ("traced", "forward_backward", 1, 9.0, 8.0, 10.0),
        ("autograph", "forward", 1, 0.1, 0.1, 0.1),
        ("autograph", "forward", 9, np.nan, np.nan, np.nan),
    ]
    verdicts = pd.DataFrame(rows, columns=["variant", "direction", "size", "ratio", "low", "high"])
    monkeypatch.setattr(columns, "VERDICTS", SimpleNamespace(frame=lambda _: verdicts))
    shares = {"saved": 0.9, "saved_low": 0.8, "saved_high": 0.95}
    decision = SimpleNamespace(reason=None, action="port", choice="autograph", use="inference", **shares)
    found = ports_that_save(decision, SimpleNamespace())  # type: ignore[arg-type]
    assert [one.variant for one in found] == ["autograph", "traced", "numba_op"]
    assert found[2].saved == pytest.approx(0.7)


ALONE = 1e-4
"""Seconds of a call of the callback alone; in the program it takes twice as long (below)."""
IN_GRAPH = replace(CALLBACK, in_input=False, stage=None, calls=1000, seconds=0.12, flight_seconds=0.2)
WHOLE = Step(0.01, 100, 0.0)


@pytest.mark.parametrize("saved", [0.6, 0.0, -0.3])
@pytest.mark.parametrize("cores", [1, 2])
def test_a_port_in_the_graph_saves_the_time_of_the_callback_minus_its_own(
    monkeypatch: pytest.MonkeyPatch, saved: float, cores: int
) -> None:
    """With a second core, its ops may overlap with others, and then add only half of their time to the step."""
    monkeypatch.setattr(candidates, "usable_cores", lambda: frozenset(range(cores)))
    found = {name: worth_of(IN_GRAPH, WHOLE, Candidate(name, saved), ALONE) for name in ("traced", BRIDGE)}
    left = 0.1 * (1 - saved)  # the callback takes longer in the program, also as seen from Python, than alone
    assert found["traced"] == pytest.approx(0.2 - left * (1 + 1 / cores) / 2)
    assert found[BRIDGE] == pytest.approx(0.12 * saved)


def test_an_eager_port_takes_the_time_that_it_takes_alone() -> None:
    """Eager ops run one after another."""
    eager = worth_of(replace(IN_GRAPH, mode="eager"), WHOLE, Candidate("traced", 0.6), ALONE)
    assert eager == pytest.approx(0.12 * 0.6)


def test_recordings_give_the_mean_over_all_of_them() -> None:
    """In the second recording the callback is not called, and in the third a step takes half of the time."""
    candidate = Candidate("numba_op", 0.5)
    none = replace(IN_GRAPH, calls=0, seconds=0.0, flight_seconds=0.0)
    slow = replace(WHOLE, seconds=WHOLE.seconds / 2)
    found = worth_of(IN_GRAPH.add_recording(none, WHOLE).add_recording(IN_GRAPH, slow), WHOLE, candidate, ALONE)
    alone = [worth_of(one, step, candidate, ALONE) for one, step in ((IN_GRAPH, WHOLE), (IN_GRAPH, slow))]
    assert found == pytest.approx(sum(alone) / 3)


def _of_rows(monkeypatch: pytest.MonkeyPatch, ratios: Mapping[str, float]) -> Decision:
    rows = [(name, "forward", 9, ratio, ratio - 0.05, ratio + 0.05) for name, ratio in ratios.items()]
    verdicts = pd.DataFrame(rows, columns=["variant", "direction", "size", "ratio", "low", "high"])
    monkeypatch.setattr(columns, "VERDICTS", SimpleNamespace(frame=lambda _: verdicts))
    none = pd.DataFrame({"variant": [], "reason": []})
    monkeypatch.setattr(columns, "FAILURES", SimpleNamespace(frame=lambda _: none))
    reason = SimpleNamespace(text=lambda: "kept", candidates=())
    seconds = [SimpleNamespace(today=ALONE)]
    return SimpleNamespace(reason=reason, action="keep", choice=None, use="inference", seconds=seconds)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("ratios", "flight", "tried"),
    [
        ({"traced": 1.2, BRIDGE: 1.1}, 0.2, ["traced"]),
        ({"traced": 1.2}, 0.12, []),  # in the program it takes no longer than is seen from Python
        ({"traced": 3.0}, 0.2, []),
        ({"traced": 0.9}, 0.2, ["traced"]),
    ],
)
def test_a_port_that_saves_nothing_alone_is_tried_where_the_program_waits_for_the_callback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ratios: dict[str, float], flight: float, tried: list[str]
) -> None:
    monkeypatch.setattr(answers, "write_op_file", lambda callback, folder, **_: folder / "f.py")
    monkeypatch.setattr(candidates, "usable_cores", lambda: frozenset({0}))
    decision = _of_rows(monkeypatch, ratios)
    monkeypatch.setattr(answers, "_measured", lambda *_: SimpleNamespace(pipeline=None, decisions=(decision,)))
    monkeypatch.setattr(answers, "_write", lambda *_: ("f_port.py", "test_f_port.py", "f"))
    found = decide(replace(IN_GRAPH, flight_seconds=flight), WHOLE, tmp_path, 1.0, EFFECT)
    assert [one.variant for one in found.candidates] == tried
    assert found.action == ("port" if tried else "leave")
    assert found.obstacle == ("" if tried else "no_gain")


@pytest.mark.parametrize(
    ("ratios", "obstacle"),
    [({BRIDGE: 0.97}, "no_port"), ({BRIDGE: 1.2}, "no_port"), ({BRIDGE: 0.97, "traced": 3.0}, "no_gain")],
)
def test_a_callback_has_no_port_if_only_another_callback_could_be_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ratios: dict[str, float], obstacle: str
) -> None:
    monkeypatch.setattr(answers, "write_op_file", lambda callback, folder, **_: folder / "f.py")
    decision = _of_rows(monkeypatch, ratios)
    monkeypatch.setattr(answers, "_measured", lambda *_: SimpleNamespace(pipeline=None, decisions=(decision,)))
    found = decide(IN_GRAPH, WHOLE, tmp_path, 1.0, EFFECT)
    assert (found.action, found.obstacle) == ("leave", obstacle)


def test_the_candidate_that_is_worth_enough_is_tried_also_if_another_one_was_decided_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(answers, "write_op_file", lambda callback, folder, **_: folder / "f.py")
    decision = _of_rows(monkeypatch, {"traced": 1.0, BRIDGE: 0.8})
    shares = {"saved": 0.2, "saved_low": 0.1, "saved_high": 0.3}
    decision = SimpleNamespace(**{**vars(decision), "action": "port", "choice": BRIDGE, **shares})  # type: ignore[assignment]
    monkeypatch.setattr(answers, "_measured", lambda *_: SimpleNamespace(pipeline=None, decisions=(decision,)))
    monkeypatch.setattr(answers, "_write", lambda *_: ("f_port.py", "test_f_port.py", "f"))
    found = decide(IN_GRAPH, WHOLE, tmp_path, 1.0, EFFECT)
    assert [one.variant for one in found.candidates] == [BRIDGE, "traced"]
    assert found.candidates[0].worth < EFFECT
    assert (found.variant, found.rest) == ("traced", ())


@pytest.mark.parametrize(("bridge", "first"), [(0.29, BRIDGE), (0.35, BRIDGE), (0.2, "numba_op")])
def test_numpy_function_comes_first_where_nothing_else_saves_noticeably_more(bridge: float, first: str) -> None:
    worth = {"numba_op": 0.3, "traced": 0.1, BRIDGE: bridge}
    given = tuple(Candidate(one, 0.5, value) for one, value in worth.items())
    found = least_work_first(given, EFFECT)
    assert found[0].variant == first
    assert [one for one in found if one.variant != BRIDGE] == list(given[:2])


def test_a_callback_that_fails_when_it_is_measured_is_not_one_that_nothing_is_gained_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(answers, "write_op_file", lambda callback, folder, **_: folder / "f.py")
    failed = BaselineFailed(label="py_function_numpy+tape", size=1024, status="wrong", message="another gradient")
    decision = Decision("f", "training", "node", "float32", "cpu", failed.label, "undecided", *[None] * 4, failed)  # type: ignore[arg-type]
    monkeypatch.setattr(answers, "_measured", lambda *_: SimpleNamespace(pipeline=None, decisions=(decision,)))
    reasons = pd.DataFrame({"variant": ["traced", "native"], "reason": ["it is refused", "of no interest"]})
    monkeypatch.setattr(columns, "FAILURES", SimpleNamespace(frame=lambda _: reasons))
    none = pd.DataFrame({one: [] for one in ("variant", "direction", "size", "ratio", "low", "high")})
    monkeypatch.setattr(columns, "VERDICTS", SimpleNamespace(frame=lambda _: none))
    found = decide(replace(CALLBACK, in_input=False), STEP, tmp_path, 1.0, EFFECT)
    assert (found.action, found.obstacle, found.why) == ("leave", "not_measured", failed.text())
    assert found.failures == ("port to traced: it is refused",)


@pytest.mark.parametrize(("saved", "ratio"), [(0.5, 2.0), (0.0, 1.0), (0.99, 100.0)])
def test_less_time_for_an_element_is_more_elements_in_the_same_time(saved: float, ratio: float) -> None:
    """By hand: with half of the time for each, twice as many."""
    for calls in (1, 7):
        callback = replace(CALLBACK, stage=Stage("train.py", 5, calls, "parse", 3))
        said = throughput_text(callback, Candidate(POOL.key, saved))
        assert formatting.ratio(ratio) in said
        assert parallel_text(calls) in said
