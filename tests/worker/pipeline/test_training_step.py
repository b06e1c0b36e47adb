"""A training step takes the time asked for, gets its batch by one copy, and begins with a port whose values are right.

Nothing is timed on the simulated device: pipelines are only built and checked there, and their copies are counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from devices import needs_compiler
from pyopbench.model.arrangement import STEP, Arrangement
from pyopbench.model.case import GPU
from pyopbench.model.errors import Elsewhere, Unsupported, WrongResult
from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.worker.pipeline import measure, training_step
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.form import PipelineContext, PipelineSettings
from pyopbench.worker.pipeline.forms import FORMS, why_not_in_step
from pyopbench.worker.pipeline.measure import RunningPipeline
from pyopbench.worker.pipeline.training_step import PIECES, SimulatedStep, calibrate
from pyopbench.worker.prepare import gpu
from simulated import Process

ELEMENTS = 4
SETTINGS = PipelineSettings((1,), (), True, 2, step_seconds=1e-4, placement=GPU)
SOURCE = """
import numpy as np
from pyopbench import OwnOp
def body(x):
    return 2 * x + 1
def tensor(x):
    return 2 * x + OFFSET
OP = OwnOp(numpy=body, tensor=tensor, inputs=lambda size, rng: (rng.random(size, np.float32),), sizes=(3,))
"""


def write_op(folder: Path, offset: float = 1.0) -> Path:
    path = folder / "linear.py"
    path.write_text(SOURCE.replace("OFFSET", str(offset)), encoding="utf-8")
    return path


def context_of(path: Path, settings: PipelineSettings = SETTINGS, step_elements: int = ELEMENTS) -> PipelineContext:
    OWN_OPS["linear"] = read_target(str(path), [], [])
    elements = make_elements("linear", "numpy_function", 3, "float32", 6)
    return PipelineContext(replace(elements, step_elements=step_elements), settings)


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """Keep own ops from other tests."""
    yield
    OWN_OPS.clear()


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the CPU be the device of the step."""
    monkeypatch.setattr(training_step, "SCOPE", "/CPU:0")
    monkeypatch.setattr(gpu, "is_on_device", lambda tensor: True)


def running(context: PipelineContext, key: str) -> RunningPipeline:
    found = {one.key: (one, build) for arrange in FORMS.values() for one, build in arrange(context)}
    arrangement, build = found[key]
    assert callable(build), build
    return RunningPipeline(arrangement, build, context)


@pytest.mark.parametrize("key", ["map", STEP, "device native batch=4", "device traced batch=4", "port_batch"])
@pytest.mark.usefixtures("on_cpu")
def test_values_are_the_same_before_the_step_and_in_it(key: str, tmp_path: Path) -> None:
    settings = replace(SETTINGS, batch=(2,)) if key == "port_batch" else SETTINGS
    key = f"{key} native batch=2" if key == "port_batch" else key
    pipeline = running(context_of(write_op(tmp_path), settings), key)
    error, is_ordered = pipeline.check()
    assert error < 1e-6
    assert is_ordered
    elements, seconds = pipeline.block(0.0)
    assert elements % ELEMENTS == 0
    assert seconds > 0


@pytest.mark.usefixtures("on_cpu")
def test_every_delivery_of_a_block_goes_through_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = running(context_of(write_op(tmp_path)), "map")
    calls: list[int] = []
    called = SimulatedStep.__call__

    def counted(step: SimulatedStep, components: Any) -> list[Any]:
        calls.append(len(components))
        return called(step, components)

    monkeypatch.setattr(SimulatedStep, "__call__", counted)
    pipeline._timed(5 * ELEMENTS)
    assert calls == [1] * 5  # the inputs of a step, without the numbers of its elements


@pytest.mark.usefixtures("on_cpu")
def test_a_wrong_port_in_the_step_is_refused(tmp_path: Path) -> None:
    context = context_of(write_op(tmp_path, 1.001))
    with pytest.raises(Unsupported):  # already seen when the port is built
        running(context, "device native batch=4")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "port_of_batch", lambda context, arrangement: lambda x: 2 * x + 1.001)
        with pytest.raises(WrongResult):
            running(context, "device native batch=4").check()


@pytest.mark.usefixtures("on_cpu")
def test_a_port_that_mixes_up_the_elements_of_a_batch_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "port_of_batch", lambda context, arrangement: lambda x: tf.reverse(2 * x + 1, [0]))
    with pytest.raises(WrongResult):
        running(context_of(write_op(tmp_path)), "device native batch=4").check()


def test_a_step_that_lands_on_the_cpu_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_step, "SCOPE", "/CPU:0")
    with pytest.raises(Elsewhere):
        _ = context_of(write_op(tmp_path)).step


def test_why_no_port_is_in_the_step(tmp_path: Path) -> None:
    path = write_op(tmp_path)
    assert why_not_in_step(context_of(path)) is None
    without = context_of(path, replace(SETTINGS, placement="cpu"))
    assert without.step is None
    of_one = context_of(path, step_elements=1)
    in_program = PipelineContext(of_one.elements, SETTINGS, program=object())  # type: ignore[arg-type]
    reasons = [why_not_in_step(one) for one in (without, of_one, in_program)]
    assert len({*reasons}) == 3
    assert None not in reasons
    arranged = [*FORMS["device"](without), *FORMS["step"](without)]
    assert arranged == [(Arrangement("device", "port", arranged[0][0].code), reasons[0])]


@pytest.mark.usefixtures("on_cpu")
def test_a_step_of_one_element_has_no_batch_axis(tmp_path: Path) -> None:
    context = context_of(write_op(tmp_path), step_elements=1)
    for key in ("map", STEP):
        assert running(context, key).check() == (0.0, True)


@pytest.mark.parametrize("seconds", [2e-3, 0.03, 0.4])
@pytest.mark.parametrize("slow_at_first", [1.0, 3.0])
def test_a_step_is_calibrated_to_the_time_asked_for(seconds: float, slow_at_first: float) -> None:
    """By hand: a call takes 0.1 ms, and a product as long as its side says; the device is slow for some calls."""
    calls: list[int] = []

    def taken(side: int, products: int) -> float:
        return 1e-4 + products * (1e-5 + 1e-13 * side**3)

    def timed(side: int, products: int) -> float:
        calls.append(side)
        return taken(side, products) * (slow_at_first if len(calls) < 10 else 1)

    side, products = calibrate(timed, seconds)
    assert taken(side, products) == pytest.approx(seconds, rel=1 / PIECES)
    assert products >= PIECES - 1


def test_a_step_shorter_than_a_call_is_an_empty_one() -> None:
    assert calibrate(lambda side, products: 1e-3 + products * 1e-5, 1e-4)[1] == 0


COUNT = """
from dataclasses import replace
from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.form import PipelineContext, PipelineSettings
from pyopbench.worker.pipeline.measure import RunningPipeline, arrange_all
OWN_OPS["linear"] = read_target(PATH, [], [])
elements = replace(make_elements("linear", "numpy_function", 3, "float32", 6), step_elements=4)
context = PipelineContext(elements, PipelineSettings((1,), (), True, 2, step_seconds=1e-4, placement="gpu"))
found = {}
for arrangement, build in arrange_all(context):
    if arrangement.key in ("map", "step", "device native batch=4", "device traced batch=4"):
        pipeline = RunningPipeline(arrangement, build, context)
        error, ordered = pipeline.check()
        _, counts = count(lambda: pipeline._timed(12))
        found[arrangement.key] = [error < 1e-6, ordered, *(counts[name] for name in ("to_device_bytes", "to_host"))]
print(json.dumps(found))
"""


@needs_compiler
def test_each_step_copies_its_batch_to_the_device_and_a_number_back(tmp_path: Path, simulated: Process) -> None:
    """By hand: 3 steps of 4 elements of 3 numbers of 4 bytes; the port gets the inputs in place of the outputs."""
    found = simulated.run(COUNT.replace("PATH", json.dumps(str(write_op(tmp_path)))))
    assert {*found} == {"map", STEP, "device native batch=4", "device traced batch=4"}
    assert all(one[:2] == [True, True] for one in found.values())
    assert all(one[2:] == [3 * 4 * 3 * 4, 3] for key, one in found.items())
