"""Every form gives the elements of the body, in their order, in every arrangement; and says why where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.model.case import BASELINE
from pyopbench.model.errors import Unsupported, WrongResult
from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.worker.pipeline.arrangements import Build, PipelineContext, PipelineSettings, arrange_all
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.measure import RunningPipeline

SETTINGS = PipelineSettings((1, 2), (4,), processes=2)
DOUBLE = """
import numpy as np
from pyopbench import OwnOp
def body(x):
    return 2 * x
def tensor(x):
    return 2 * x
OP = OwnOp(numpy=body, tensor=tensor, inputs=lambda size, rng: (rng.random(size, np.float32) + 2,), sizes=(3,))
"""
SUMS = """
import numpy as np
from pyopbench import OwnOp
def body(x):
    return np.float32(sum(x.tolist())), len(x)
OP = OwnOp(numpy=body, inputs=lambda size, rng: (rng.integers(0, 9, size).astype(np.float32),), sizes=(3,))
"""
RAGGED = """
import numpy as np
from pyopbench import OwnOp
def body(x):
    return x[x > 0.5]
OP = OwnOp(numpy=body, inputs=lambda size, rng: (rng.random(size, np.float32),), sizes=(16,))
"""


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """Keep own ops from other tests."""
    yield
    OWN_OPS.clear()


def context_of(
    source: str, folder: Path, settings: PipelineSettings = SETTINGS, name: str = "twofold"
) -> PipelineContext:
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    OWN_OPS[name] = read_target(str(path), [], [])
    size = {DOUBLE: 3, SUMS: 3, RAGGED: 16}.get(source, 3)
    return PipelineContext(make_elements(name, BASELINE, size, "float32", 10), settings)


@pytest.fixture
def double(tmp_path: Path) -> Iterator[PipelineContext]:
    context = context_of(DOUBLE, tmp_path)
    yield context
    context.close()


def arranged(context: PipelineContext) -> dict[str, tuple[Arrangement, Build | str]]:
    found = arrange_all(context)
    keys = [arrangement.key for arrangement, _ in found]
    assert len(keys) == len(set(keys))
    return {arrangement.key: (arrangement, build) for arrangement, build in found}


def running(context: PipelineContext, key: str) -> RunningPipeline:
    arrangement, build = arranged(context)[key]
    assert callable(build), build
    return RunningPipeline(arrangement, build, context)


def test_every_form_gives_every_element_in_order_or_says_why_not(double: PipelineContext) -> None:
    unsupported: list[str] = []
    for key, (arrangement, build) in arranged(double).items():
        if not callable(build):
            assert build, key
            continue
        try:
            pipeline = RunningPipeline(arrangement, build, double)
            error = pipeline.check()
        except Unsupported:  # of a port that is tried
            unsupported.append(arrangement.variant)
            continue
        assert error < 1e-6, key
        elements, seconds = pipeline.block(0.0)
        assert elements % pipeline.period == 0
        assert seconds > 0
    assert not {"", "native"} & {*unsupported}


def test_bodies_of_several_outputs_are_batched_by_a_loop_and_not_as_they_stand(tmp_path: Path) -> None:
    context = context_of(SUMS, tmp_path, name="sums")
    for key in ("map", "map parallel=2", "batch_loop batch=4"):
        assert running(context, key).check() == 0.0
    with pytest.raises(Unsupported):
        running(context, "batch_body batch=4")


def test_outputs_of_different_shapes_come_one_by_one_and_in_no_batch(tmp_path: Path) -> None:
    context = context_of(RAGGED, tmp_path, name="ragged")
    assert context.elements.delivered == 1
    assert running(context, "map parallel=2").check() == 0.0
    kinds = {key: build for key, (_, build) in arranged(context).items() if "batch" in key}
    assert kinds
    assert not any(callable(build) for build in kinds.values())


def test_another_order_than_the_promised_one_is_an_error(double: PipelineContext) -> None:
    def swapped(context: PipelineContext) -> tf.data.Dataset:
        source = context.elements.source().batch(2)
        return source.map(lambda x, numbers: (2 * x[::-1], numbers[::-1])).unbatch()

    with pytest.raises(WrongResult):
        RunningPipeline(Arrangement("map", "keep", ""), swapped, double).check()


def test_values_of_another_element_are_an_error(double: PipelineContext) -> None:
    def shifted(context: PipelineContext) -> tf.data.Dataset:
        return context.elements.source().map(lambda x, number: (2 * x, (number + 1) % 10))

    with pytest.raises(WrongResult):
        RunningPipeline(Arrangement("map", "keep", ""), shifted, double).check()


def test_a_body_that_changes_its_shape_fails_where_it_is_drawn(double: PipelineContext) -> None:
    calls = iter(range(10_000))

    def shrinking(x: Any) -> Any:
        return 2 * x if next(calls) < 40 else x[:1]

    def build(context: PipelineContext) -> tf.data.Dataset:
        elements = context.elements
        return elements.source().map(
            lambda x, number: (*elements.shaped(tf.numpy_function(shrinking, [x], tf.float32)), number)
        )

    pipeline = RunningPipeline(Arrangement("map", "keep", ""), build, double)
    assert pipeline.check() == 0.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        pipeline.block(0.0), pipeline.block(0.0)
