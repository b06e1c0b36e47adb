"""What is tried in place of a callback, from measurements alone and in a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kept_sites import kept_of
from pipelines import BATCH, CURRENT, PARALLEL, POOL, rows
from pyopbench.advise import answers
from pyopbench.advise.answers import Answer, Candidate, cheapest_first, decide, most_saved, variant_text
from pyopbench.advise.callbacks import Callback, KeptSource, Stage, Step
from pyopbench.advise.graph_body import graph_body_of, write_graph_body
from pyopbench.judge.decision import Decision, Reason
from pyopbench.judge.pipeline import TrainingStep, judge
from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.case import Case, Failure
from pyopbench.model.variant import BRIDGE
from pyopbench.report import columns

EFFECT = 0.03
PORT = Arrangement("port", "port", "ds.map(traced)", AUTOTUNE, 0, "traced", 4.0)
COMPILED = Arrangement("port", "port", "ds.map(numba_op)", AUTOTUNE, 0, "numba_op", 1.0)
TWO = Arrangement("map", "parallel", "ds.map(f, num_parallel_calls=2)", 2, extra_effort=0.1)
ALL = (CURRENT, PARALLEL, TWO, BATCH, POOL, COMPILED, PORT)
STAGE = Stage("train.py", 5, 1)
STEP = Step(0.01, 100, 0.9)
CALLBACK = Callback("f", "train.py", 3, "numpy_function", "graph", "f", True, 3200, 0, 0.8, 0.9, stage=STAGE)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Decide on a callback whose elements take so many tenths of a millisecond by arrangement; others take one."""
    monkeypatch.setattr(answers, "write_op_file", lambda callback, folder: folder / "f.py")

    def decided(tenths: Mapping[str, float], callback: Callback = CALLBACK, step: Step = STEP) -> Answer:
        seconds = {one.key: 1e-4 * tenths.get(one.key, 1.0) for one in ALL}
        found = judge(rows(seconds, arrangements=ALL), EFFECT, TrainingStep(32))
        monkeypatch.setattr(answers, "_measure_in_pipeline", lambda *_: SimpleNamespace(pipeline=found))
        return decide(callback, step, tmp_path, 60.0, EFFECT)

    return decided


def variants(answer: Answer) -> list[str]:
    return [one.variant for one in answer.candidates]


@pytest.mark.parametrize(
    ("tenths", "expected"),
    [
        ({}, [PARALLEL.key]),
        ({PARALLEL.key: 0.5, TWO.key: 0.55}, [PARALLEL.key, TWO.key]),
        ({POOL.key: 0.3, COMPILED.key: 0.6}, [PARALLEL.key, COMPILED.key, POOL.key]),
        (
            {PORT.key: 0.1, COMPILED.key: 0.3, POOL.key: 0.5, PARALLEL.key: 0.6},
            [PARALLEL.key, PORT.key, COMPILED.key, POOL.key],
        ),
    ],
)
def test_what_saves_time_is_tried_the_cheapest_first_and_parallel_calls_in_any_case(
    measured: Any, tenths: dict[str, float], expected: list[str]
) -> None:
    answer = measured(tenths)
    assert (answer.action, variants(answer)) == ("leave", expected)


def test_what_is_not_measured_is_tried_beside_the_best_that_is(measured: Any) -> None:
    many = tuple(Candidate(one, saved) for one, saved in (("traced", 0.1), ("numba_op", 0.5), (BRIDGE, 0.3)))
    found = cheapest_first((*many, Candidate("processes", 0.2), Candidate(PARALLEL.key)))
    assert [one.variant for one in found] == [PARALLEL.key, BRIDGE, "numba_op", "processes"]


def test_a_change_that_is_slower_when_timed_alone_is_tried_last() -> None:
    found = cheapest_first((Candidate("traced", -0.2), Candidate("numba_op", 0.4), Candidate(PARALLEL.key)))
    assert [one.variant for one in found] == [PARALLEL.key, "numba_op", "traced"]


def test_shares_are_of_the_map_that_the_program_has(measured: Any) -> None:
    """With two calls at a time already, a pool that takes 40% of a sequential map saves a third of the rest."""
    two = replace(CALLBACK, stage=Stage("train.py", 5, 2))
    answer = measured({TWO.key: 0.6, PARALLEL.key: 0.6, POOL.key: 0.4}, two)
    (pool,) = (one for one in answer.candidates if one.variant == POOL.key)
    assert pool.saved == pytest.approx(1 / 3, abs=0.03)
    assert TWO.key not in variants(answer)


def test_a_map_that_a_patch_cannot_change_has_no_candidates(measured: Any) -> None:
    assert variants(measured({POOL.key: 0.1}, replace(CALLBACK, stage=None))) == []
    elsewhere = replace(CALLBACK, stage=Stage("", 5, 1))
    answer = measured({}, elsewhere)
    assert (variants(answer), answer.obstacle) == ([], "no_port")


def test_a_program_that_hardly_waits_for_its_input_gains_nothing(measured: Any) -> None:
    answer = measured({POOL.key: 0.1}, step=replace(STEP, waited=0.01))
    assert POOL.key not in variants(answer)


def test_a_candidate_says_what_it_is() -> None:
    names = ("numba_op", BRIDGE, PORT.key, COMPILED.key, POOL.key, TWO.key, "autograph", "port autograph")
    actions = [Candidate(one, 0.5).action for one in names]
    assert actions == ["port", "arrange", "port", "port", "arrange", "arrange", "port", "port"]
    assert len({variant_text(one) for one in names}) == 6, "numba_op and the body in the graph by either name"


ALONE = 1e-4
"""Seconds of a call of the callback alone; in the program it takes twice as long (below)."""
IN_GRAPH = replace(CALLBACK, in_input=False, stage=None, calls=1000, seconds=0.12, flight_seconds=0.2)
WHOLE = Step(0.01, 100, 0.0)


def test_the_most_that_a_change_can_save_is_the_callbacks_share_of_what_it_saves_alone() -> None:
    """The callback takes 0.4 s of 1 s at most, with 200 us a call for threads."""
    found = [most_saved(IN_GRAPH, WHOLE, Candidate(BRIDGE, saved), ALONE) for saved in (0.5, None)]
    assert found == pytest.approx([0.2, 0.4])


@pytest.mark.parametrize(("saved", "left"), [(0.0, 0.075), (-0.3, 0.0975)])
def test_a_port_that_saves_nothing_alone_saves_the_time_that_the_program_waits(saved: float, left: float) -> None:
    """A port does not wait for a thread or the GIL: what remains is three quarters of its own 0.1 s or 0.13 s."""
    assert most_saved(IN_GRAPH, WHOLE, Candidate("traced", saved), ALONE) == pytest.approx(0.2 - left)
    eager = replace(IN_GRAPH, mode="eager")
    assert most_saved(eager, WHOLE, Candidate("traced", saved), ALONE) == pytest.approx(0.4 * saved)


def of_ratios(monkeypatch: pytest.MonkeyPatch, ratios: Mapping[str, float], **decided: Any) -> None:
    """Have every callback be measured with ratios of its time, at one size; a variant may lack one."""
    verdicts = [(name, "forward", 9, ratio) for name, ratio in ratios.items()]
    frame = pd.DataFrame(verdicts, columns=["variant", "direction", "size", "ratio"])
    monkeypatch.setattr(columns, "VERDICTS", SimpleNamespace(frame=lambda _: frame))
    monkeypatch.setattr(answers, "write_op_file", lambda callback, folder: folder / "f.py")
    reason = Reason("none_worth_it", "kept")
    decision = SimpleNamespace(reason=reason, use="inference", seconds=[SimpleNamespace(today=ALONE)], **decided)
    found = SimpleNamespace(pipeline=None, decisions=(decision,), run=SimpleNamespace(failures=()))
    monkeypatch.setattr(answers, "_measure", lambda *_: found)


@pytest.mark.parametrize(
    ("kind", "ratios", "tried", "obstacle"),
    [
        ("numpy_function", {"traced": 0.5, "numba_op": 0.2}, ["traced", "numba_op"], "no_gain"),
        ("numpy_function", {"traced": 5.0}, [], "no_gain"),
        ("numpy_function", {"traced": np.nan}, [], "no_port"),
        ("numpy_function", {BRIDGE: 0.5}, [], "no_port"),
        ("py_function", {BRIDGE: 0.8, "traced": 0.5, "native": 0.1}, [BRIDGE, "traced"], "no_gain"),
    ],
)
def test_ports_that_were_measured_and_may_save_enough_are_tried(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
    ratios: dict[str, float],
    tried: list[str],
    obstacle: str,
) -> None:
    of_ratios(monkeypatch, ratios)
    answer = decide(replace(IN_GRAPH, kind=kind), WHOLE, tmp_path, 1.0, EFFECT)
    assert variants(answer) == tried
    assert answer.obstacle == obstacle


def test_without_time_to_measure_only_what_needs_no_measurement_is_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(answers, "write_op_file", lambda callback, folder: folder / "f.py")
    assert variants(decide(CALLBACK, STEP, tmp_path, 0.0, EFFECT)) == [PARALLEL.key]
    answer = decide(IN_GRAPH, STEP, tmp_path, 0.0, EFFECT)
    assert (variants(answer), answer.obstacle) == ([], "not_measured")
    eager = replace(IN_GRAPH, kind="py_function", mode="eager")
    assert variants(decide(eager, STEP, tmp_path, 0.0, EFFECT)) == [BRIDGE]
    assert variants(decide(replace(eager, gradient_calls=1), STEP, tmp_path, 0.0, EFFECT)) == []
    assert variants(decide(replace(CALLBACK, kind="py_function"), STEP, tmp_path, 0.0, EFFECT)) == [
        PARALLEL.key,
        f"port {BRIDGE}",
    ]


def test_a_callback_that_fails_when_it_is_measured_is_not_one_that_nothing_is_gained_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of_ratios(monkeypatch, {})
    failed = Reason("baseline_failed", "py_function_numpy+tape has no number")
    where = ("f", "training", "node", "float32", "cpu", "py_function_numpy+tape")
    decision = Decision(*where, failed)
    reasons = (("traced", "it is refused"), ("native", "of no interest"), ("traced", "it is refused again"))
    failures = [
        Failure(Case("f", name, "none", "forward", "node", "float32", 9).id, "raised", reason)
        for name, reason in reasons
    ]
    found = SimpleNamespace(pipeline=None, decisions=(decision,), run=SimpleNamespace(failures=failures))
    monkeypatch.setattr(answers, "_measure", lambda *_: found)
    answer = decide(IN_GRAPH, STEP, tmp_path, 1.0, EFFECT)
    assert (answer.action, answer.obstacle, answer.why) == ("leave", "not_measured", failed.sentence)
    assert answer.failures == ("port to traced: it is refused",)


HEAD = "import numpy as np\nimport tensorflow as tf\n\n\ndef scale(x):\n    "


@pytest.mark.parametrize(
    ("body", "in_graph"),
    [
        ("return tf.nn.relu(x)", "return tf.nn.relu(x)"),
        ("return tf.nn.relu(x).numpy()", "return tf.nn.relu(x)"),
        ("return np.array(tf.nn.relu(x + tf.random.uniform([])))", "return tf.nn.relu(x + tf.random.uniform([]))"),
        ("return tf.stack([tf.sin(y).numpy() for y in x])", "return tf.stack([tf.sin(y) for y in tf.unstack(x)])"),
        ("return tf.nn.relu(x + np.array([1.0, 2.0]))", "return tf.nn.relu(x + np.array([1.0, 2.0]))"),
        ("return np.sort(x)", None),
        ("return tf.convert_to_tensor(np.sort(x))", None),
        ("return tf.nn.relu(x + np.random.rand())", None),  # in a graph it would be drawn once
    ],
)
def test_a_body_of_tensorflow_ops_is_a_body_for_the_graph(tmp_path: Path, body: str, in_graph: str | None) -> None:
    source = KeptSource(f"{HEAD}{body}\n", "scale")
    callback = replace(IN_GRAPH, kept=kept_of(tmp_path, np.ones(3), source=source))
    found = graph_body_of(callback)
    assert (None if found is None else found.splitlines()[-1].strip()) == in_graph
    trained = graph_body_of(replace(callback, kind="py_function", gradient_calls=9))
    assert (trained is None) == (found is None or found != source.text.strip()), "its gradient might be another one"


def test_a_body_that_also_logs_is_not_called_in_the_graph(tmp_path: Path) -> None:
    source = KeptSource(f"import logging\n{HEAD}logging.info('called')\n    return tf.multiply(x, 1.0)\n", "scale")
    why = write_graph_body(replace(IN_GRAPH, kept=kept_of(tmp_path, np.ones(3), source=source)), tmp_path, "in_graph")
    assert "logging.info" in why


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "is_right"),
    [
        ("return tf.multiply(x, 2.0).numpy()", True),
        ("with tf.GradientTape() as tape:\n        tape.watch(x)\n    return tf.multiply(x, 2.0)", True),
        ("return tf.random.uniform(x.shape).numpy()", True),
        ("return tf.multiply(x, 3.0).numpy()", False),
        ("return np.sort(tf.multiply(x, 2.0).numpy())", False),
    ],
)
def test_a_body_in_the_graph_is_tried_if_it_returns_there_what_it_returned_in_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, is_right: bool
) -> None:
    """What was kept returns twice its input; a body that draws may return anything of the same kind."""
    source = KeptSource(f"{HEAD}{body}\n", "scale")
    kept = kept_of(tmp_path, np.arange(3, dtype=np.float32), source=source)
    np.save(tmp_path / "twice.npy", 2 * np.arange(3, dtype=np.float32))
    kept.examples[0].outputs[0].file = "twice.npy"
    callback = replace(IN_GRAPH, kept=kept)
    of_ratios(monkeypatch, {})
    answer = decide(callback, WHOLE, tmp_path / "callback", 1.0, EFFECT)
    assert variants(answer) == (["autograph"] if is_right else [])
    assert bool(answer.failures) != is_right
