"""The measuring process: what it answers, and that whatever a body does ends in a row with a reason.

Most is asked of the handlers in this process; bodies that end or hang a process are in test_launch.py and test_cli.py.
"""

from __future__ import annotations

import gc
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import nodes, schema, worker
from pyopbench.catalogue import load_op, load_variant
from pyopbench.files import PATH_VARIABLE
from pyopbench.marker import Marker
from pyopbench.model import Axes, Case
from pyopbench.overhead import DURATIONS
from pyopbench.prepare import Prepared
from pyopbench.schema import check_line

EXTRAS = Path(__file__).parent / "extras"
SIZE = 4


@pytest.fixture(autouse=True)
def _extras(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(PATH_VARIABLE, str(EXTRAS))
    use = nodes.use_grappler
    yield
    use(enabled=True)


def case(variant: str, direction: str = "forward", gradient: str = "", op: str = "negate", mode: str = "call") -> str:
    usual = "none" if direction == "forward" else gradient or load_variant(variant).gradients[0]
    return Case(op, variant, usual, direction, mode, "float32", SIZE).id


def ignore(event: Mapping[str, Any]) -> None:
    pass


def measure(*cases: str, **changes: Any) -> dict[str, Any]:
    request = {
        "cases": cases,
        "launch": 0,
        "seed": 0,
        "rounds": 4,
        "block_seconds": 1e-6,
        "group_seconds": 60.0,
        "finite_differences": False,
        **changes,
    }
    emit = request.pop("emit", ignore)
    answer = worker.measure(request, emit)
    return dict(json.loads(json.dumps(answer)))


def verify(key: str, *, finite_differences: bool = False) -> dict[str, Any]:
    return worker.verify({"case": key, "finite_differences": finite_differences}, ignore)


def failure_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    assert "checked" not in answer
    return dict(answer["failure"])


def expected_gradient() -> Any:
    """The gradient of -x, from what flows into it: minus that."""
    rng = np.random.default_rng([1, SIZE, *b"negate"])
    return -rng.uniform(0.5, 1.5, SIZE).astype("float32")


def test_what_is_right_is_verified_with_its_errors() -> None:
    checked = verify(case("native", "backward"), finite_differences=True)["checked"]
    assert checked["values"] == 0.0
    assert checked["gradient"] == 0.0
    assert 0 <= checked["finite_difference"] < 5e-3


def test_a_body_that_raises_is_a_failure_with_its_message() -> None:
    failure = failure_of(verify(case("raising")))
    assert failure["status"] == "raised"
    assert "raised by the body" in failure["reason"]


def test_a_wrong_value_is_found_with_index_expected_and_got() -> None:
    failure = failure_of(verify(case("wrong_value")))
    assert failure["status"] == "wrong"
    outputs = load_op("negate").numpy(*worker_inputs())
    assert f"index [{SIZE - 1}]" in failure["reason"]
    assert f"expected {outputs[-1]!s}, got {outputs[-1] * np.float32(1.01)!s}" in failure["reason"]


def worker_inputs() -> tuple[Any, ...]:
    rng = np.random.default_rng([0, SIZE, *b"negate"])
    return (rng.uniform(1.0, 2.0, SIZE).astype("float32"),)


@pytest.mark.parametrize("gradient", ["custom_gradient", "override_map"])
@pytest.mark.parametrize("direction", ["backward", "forward_backward"])
def test_a_planted_wrong_gradient_is_found_with_index_expected_and_got(direction: str, gradient: str) -> None:
    failure = failure_of(verify(case("wrong_gradient", direction, gradient)))
    right = expected_gradient()[-1]
    assert failure["status"] == "wrong"
    assert failure["case"] == case("wrong_gradient", direction, gradient)
    assert f"gradient of input 0 differs at index [{SIZE - 1}]" in failure["reason"]
    assert f"expected {right!s}, got {right * np.float32(1.01)!s}" in failure["reason"]


def test_a_wrong_reference_is_found_by_finite_differences_alone() -> None:
    key = case("numpy_function", "backward", op="misderived")
    assert "checked" in verify(key)
    failure = failure_of(verify(key, finite_differences=True))
    assert failure["status"] == "wrong"
    assert "against finite differences" in failure["reason"]


def test_a_speculative_variant_that_does_not_work_is_unsupported() -> None:
    key = Case("log_huber", "tnp", "none", "forward", "call", "float32", 1).id
    failure = failure_of(verify(key))
    assert failure["status"] == "unsupported"
    assert failure["reason"].startswith("tnp does not work for log_huber")


def test_every_case_has_a_sample_for_each_round() -> None:
    keys = [case("native"), case("numpy_function"), case("twin"), case("slowed")]
    answer = measure(*keys)
    assert list(answer["samples"]) == keys
    for rows in answer["samples"].values():
        assert [row[0] for row in rows] == [0, 1, 2, 3]
        assert all(calls >= 1 and seconds >= 0 for _, _, calls, seconds in rows)
    for number in range(4):
        assert sorted(rows[number][1] for rows in answer["samples"].values()) == [0, 1, 2, 3]
    assert answer["failures"] == []
    assert answer["timer_seconds"] > 0


def test_what_else_went_on_is_told_in_the_shape_that_is_stored() -> None:
    answer = measure(case("native"))
    line = {"kind": "group", "launch": 0, "group": Case.from_id(case("native")).group, **answer}
    check_line(line, "here")
    noise = answer["noise"]
    blocks = [seconds for rows in answer["samples"].values() for _, _, _, seconds in rows]
    assert noise["wall_seconds"] >= sum(blocks) > 0
    assert noise["collections"] == 0


def test_a_body_that_collects_garbage_while_it_is_timed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = worker.measure_block
    monkeypatch.setattr(worker, "measure_block", lambda *args: (gc.collect(), real(*args))[1])
    assert measure(case("native"))["noise"]["collections"] == 4


def test_backward_and_forward_backward_come_from_the_same_pass() -> None:
    backward, both = case("numpy_function", "backward"), case("numpy_function", "forward_backward")
    samples = measure(backward, both)["samples"]
    for part, whole in zip(samples[backward], samples[both], strict=True):
        assert part[:3] == whole[:3]
        assert part[3] < whole[3]


def places(answer: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the place of each case in each round."""
    return {key: [row[1] for row in rows] for key, rows in answer["samples"].items()}


def test_a_case_of_mode_node_has_a_sample_for_each_number_of_copies_in_each_round() -> None:
    keys = [case("native", mode="node"), case("numpy_function", mode="node")]
    answer = measure(*keys)
    assert answer["failures"] == []
    rows = [row for key in keys for row in answer["samples"][key]]
    for key in keys:
        copies = {row[4] for row in answer["samples"][key]}
        assert copies >= {1, 2, 4}
        assert sorted((row[0], row[4]) for row in answer["samples"][key]) == [
            (i, k) for i in range(4) for k in sorted(copies)
        ]
    for number in range(4):
        places = sorted(row[1] for row in rows if row[0] == number)
        assert places == list(range(len(places))), "all copies of all variants take turns in one order"
    group = Case.from_id(keys[0]).group
    line = {"kind": "group", "launch": 0, "group": group, **answer}
    schema.check_line(line, "here")


def test_forward_and_backward_of_mode_node_are_one_graph() -> None:
    key = case("numpy_function", "forward_backward", mode="node")
    answer = measure(key)
    assert answer["failures"] == []
    assert all(len(row) == 5 and row[3] > 0 for row in answer["samples"][key])


def test_copies_that_are_not_executed_are_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    use = nodes.use_grappler
    monkeypatch.setattr(nodes, "use_grappler", lambda *, enabled: use(enabled=True))
    keys = [case("native", mode="node"), case("numpy_function", mode="node")]
    answer = measure(*keys)
    (failure,) = answer["failures"]
    assert (failure["case"], failure["status"]) == (keys[0], "elided")
    assert "the executed graph of 2 copies has 1 Neg instead of 2" in failure["reason"]
    assert list(answer["samples"]) == keys[1:], "callbacks are stateful, and Grappler keeps them"


def test_a_seed_repeats_the_order_of_rounds() -> None:
    keys = [case("native"), case("numpy_function"), case("twin")]
    first = places(measure(*keys, seed=1, rounds=12))
    assert places(measure(*keys, seed=1, rounds=12)) == first
    assert places(measure(*keys, seed=2, rounds=12)) != first
    assert places(measure(*keys, seed=1, rounds=12, launch=1)) != first


def test_what_fails_is_a_row_and_the_rest_of_the_group_is_measured() -> None:
    keys = [case(name, "backward") for name in ("numpy_function", "wrong_gradient", "twin")]
    answer = measure(*keys, launch=3)
    assert list(answer["samples"]) == [keys[0], keys[2]]
    (failure,) = answer["failures"]
    assert (failure["case"], failure["status"], failure["launch"]) == (keys[1], "wrong", 3)


def test_what_is_wrong_is_wrong_in_every_direction_of_its_group() -> None:
    keys = [case("wrong_gradient", direction) for direction in ("backward", "forward_backward")]
    answer = measure(*keys)
    assert answer["samples"] == {}
    assert [(failure["case"], failure["status"]) for failure in answer["failures"]] == [(key, "wrong") for key in keys]


def test_nothing_wrong_is_ever_called_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    timed: list[str] = []
    sample = worker._sample

    def spy(prepared: Mapping[str, tuple[Prepared, ...]], *others: Any) -> Any:
        timed.extend(prepared)
        return sample(prepared, *others)

    monkeypatch.setattr(worker, "_sample", spy)
    measure(case("native"), case("wrong_value"), case("raising"))
    assert timed == ["native/none"]


def test_a_case_that_raises_while_it_is_timed_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [case("numpy_function"), case("twin"), case("wrong_value")]
    prepare_all = worker.prepare_all

    def prepare_flaky(one: Case, **options: Any) -> tuple[Prepared, ...]:
        (prepared,) = prepare_all(one, **options)
        calls = iter(range(3))
        segments = (lambda: next(calls),) if one.variant == "twin" else prepared.segments
        return (Prepared(prepared.case, segments, prepared.checked),)

    monkeypatch.setattr(worker, "prepare_all", prepare_flaky)
    answer = measure(*keys)
    assert list(answer["samples"]) == keys[:1]
    assert len(answer["samples"][keys[0]]) == 4
    earlier, failure = answer["failures"]
    assert (earlier["case"], earlier["status"]) == (keys[2], "wrong")
    assert (failure["case"], failure["status"]) == (keys[1], "raised")
    assert "StopIteration" in failure["reason"]


def test_every_step_that_may_hang_is_announced_with_its_case() -> None:
    keys = [case("native"), case("twin")]
    events: list[Mapping[str, Any]] = []
    measure(*keys, emit=events.append, rounds=2)
    assert [event["event"] for event in events] == 2 * ["at"] + (len(events) - 2) * ["timing"]
    prepared, calibrated, timed = events[:2], events[2:4], events[4:]
    assert [event["case"] for event in prepared] == keys
    assert [event["case"] for event in calibrated] == keys
    assert sorted(event["case"] for event in timed) == sorted(keys * 2)


def plan(**axes: Any) -> dict[str, Any]:
    return worker.plan({"axes": json.loads(json.dumps(asdict(Axes(**axes))))}, ignore)


def test_a_plan_holds_cases_skips_catalogue_and_environment() -> None:
    made = plan(ops=("negate",), variants=("native", "crashing", "autograph"), sizes=(4,))
    assert case("native") in made["cases"]
    assert case("crashing") in made["cases"]
    reasons = {skip["case"]: skip["reason"] for skip in made["skips"]}
    assert reasons[case("crashing", "backward")] == "crashing is for forward cases only"
    assert "no python body" in reasons[case("autograph")]
    assert set(made["catalogue"]["ops"]) == {"negate"}
    assert made["environment"]["tensorflow"] == tf.__version__
    assert made["environment"]["cores"] >= 1
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("import nothing_of_this_name", "No module named"),
        ("x = (", "never closed"),
        ("", "does not hold what its name says"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, words: str
) -> None:
    name = f"broken_{len(content)}"  # modules are loaded once, so each has a name of its own
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / f"{name}.py").write_text(content, encoding="utf-8")
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path))
    error = plan()["error"]
    assert words in error
    assert name in error


def test_requests_are_answered_line_by_line_until_the_parent_is_gone() -> None:
    request = {"do": "verify", "case": case("native"), "finite_differences": False}
    answers, log = io.StringIO(), io.StringIO()
    marker = Marker()
    worker.serve(io.StringIO(f"{json.dumps(request)}\n" * 2), worker.Line(answers, log, marker))
    assert marker.get() == case("native")
    events = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert [event["event"] for event in events] == ["ready", "at", "done", "at", "done"]
    ready = events[0]["environment"]
    assert ready["tensorflow"] == tf.__version__
    assert ready["numpy"] == np.__version__
    assert {"pid", "load", "cpu"} <= set(ready)
    assert events[2]["checked"]["values"] == 0.0
    assert log.getvalue() == f"{case('native')}\n" * 2


def test_timing_is_told_now_and_then_and_marked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([10.0, 10.5, 11.2])
    monkeypatch.setattr(worker.time, "monotonic", lambda: next(now))
    line = worker.Line(io.StringIO(), io.StringIO(), Marker())
    marked = []
    for name in ("one", "two", "three"):
        line.emit({"event": "timing", "case": name})
        marked.append(line.marker.get())
    assert marked == ["one", "two", "three"]
    assert [json.loads(told)["case"] for told in line.answers.getvalue().splitlines()] == ["one", "three"]
    assert line.log.getvalue() == "one\nthree\n"


# What explains callbacks


def plan_of(**axes: Any) -> dict[str, Any]:
    asked = {"ops": ["sinh"], "variants": ["numpy_function"], "directions": ["forward"], "sizes": [10], **axes}
    return worker.plan({"axes": {**asdict(Axes()), **asked}}, ignore)


def test_parts_are_planned_and_described_unless_they_are_not_wanted() -> None:
    with_parts, without = plan_of(), plan_of(parts=False)
    only = "sinh/numpy_function/none/forward/call/float32/10/cpu"
    assert without["cases"] == [only]
    assert (without["catalogue"]["parts"], without["catalogue"]["floor"]) == ({}, {})
    assert with_parts["cases"][0] == only
    assert "sinh/numpy_alone/none/forward/call/float32/10/cpu" in with_parts["cases"]
    assert {part["kind"] for part in with_parts["catalogue"]["parts"].values()} == {"part"}
    planned = {Case.from_id(key).op for key in with_parts["cases"]}
    assert planned == {"sinh", *with_parts["catalogue"]["floor"]}
    assert set(without["catalogue"]["ops"]) == set(with_parts["catalogue"]["ops"]) == {"sinh"}


def test_a_group_tells_what_crosses_the_bridge() -> None:
    keys = [Case("sinh", name, "none", "forward", "call", "float32", 10).id for name in ("numpy_alone", "native")]
    answer = measure(*keys)
    assert set(answer["samples"]) == set(keys)
    assert answer["bytes"] == {keys[0]: [40, 40]}
    assert list(answer["aligned"]) == keys[:1]


def test_a_part_is_called_no_more_often_in_a_block_than_its_callback() -> None:
    """Else it would be measured warmer than the callback that it explains."""
    names = ("numpy_function", "numpy_alone", "native_floor", "native")
    keys = [Case("sinh", name, "none", "forward", "call", "float32", 10).id for name in names]
    answer = measure(*keys, block_seconds=1e-4)
    calls = {key: {sample[2] for sample in answer["samples"][key]} for key in keys}
    assert all(len(found) == 1 for found in calls.values())
    callback, alone, floor, _ = (min(calls[key]) for key in keys)
    assert max(alone, floor) <= callback


def test_bodies_of_known_cost_are_timed_as_cases_are() -> None:
    """That an event names each body before each block; what is found depends on the machine, and is not held here."""
    events: list[Mapping[str, Any]] = []
    request = {"rounds": 2, "block_seconds": 1e-5, "group_seconds": 60.0}
    answer = json.loads(json.dumps(worker.overhead(request, events.append)))
    assert [known > seconds for (known, _), seconds in zip(answer["overheads"], DURATIONS, strict=True)] == [True] * 3
    assert all(found >= seconds for (_, found), seconds in zip(answer["overheads"], DURATIONS, strict=True))
    assert answer["timer_seconds"] >= 0
    named = Counter(event["case"].split("/")[0] for event in events)
    assert named == {"wait_20us": 3, "wait_200us": 3, "wait_2000us": 3}
