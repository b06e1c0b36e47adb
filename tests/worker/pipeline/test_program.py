"""The stage of a user's program is found and rearranged, and everything else of the pipeline stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import BadInput, WrongResult
from pyopbench.model.own_target import read_program, read_target
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.worker.pipeline import program
from pyopbench.worker.pipeline.arrangements import PipelineContext, PipelineSettings, arrange_all
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.measure import RunningProgram
from pyopbench.worker.pipeline.program import InMap, Program, flat_arrays

BODY = """
import numpy as np
from pyopbench import OwnOp
def scaled(x):
    return 3 * x
OP = OwnOp(numpy=scaled, inputs=lambda size, rng: (rng.random((size, 2), np.float32),), sizes=(3,))
"""
HEAD = """
import sys
import numpy as np
import tensorflow as tf
sys.path.insert(0, {folder!r})
from {module} import scaled


def source():
    data = [np.full((3, 2), n, np.float32).tobytes() for n in range(12)]
    return tf.data.Dataset.from_tensor_slices((data, np.arange(12)))


def parse(raw, label):
    return tf.reshape(tf.io.decode_raw(raw, tf.float32), [3, 2]), label


def other(x):
    return x
"""
PLAIN = """
def called(x, label):
    y = tf.numpy_function(scaled, [x], tf.float32)
    y.set_shape([3, 2])
    return y, label


def make_dataset():
    return source().map(parse).map(called).batch(4).prefetch(tf.data.AUTOTUNE, "ahead")
"""
WRAPPED = """
def called(x, label):
    y = tf.py_function(func=lambda one: scaled(one.numpy()), inp=[x], Tout=tf.float32)
    return {"image": tf.ensure_shape(y, [3, 2]), "label": label}


def make_dataset():
    return source().map(parse).map(called, num_parallel_calls=2).batch(4)
"""
MORE = """
def called(raw, label):
    x, label = parse(raw, label)
    return tf.numpy_function(scaled, [x], tf.float32) + 1, label


def make_dataset():
    return source().map(called).padded_batch(4, padded_shapes=([3, 2], []))
"""
KEPT = """
@tf.function
def called(x, label):
    return tf.ensure_shape(tf.numpy_function(scaled, [x], tf.float32), [3, 2]), label


def make_dataset():
    return source().map(parse).map(called).batch(4)
"""
RANDOM = """
def called(x, label):
    return tf.ensure_shape(tf.numpy_function(scaled, [x], tf.float32), [3, 2]), label


def make_dataset():
    return source().map(parse).shuffle(12).map(called).batch(4)
"""
PROGRAMS = {"plain": PLAIN, "wrapped": WRAPPED, "more": MORE, "kept": KEPT, "random": RANDOM}
SETTINGS = PipelineSettings((1, 2), (2,), processes=2)


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    yield
    OWN_OPS.clear()


def context_of(folder: Path, name: str, text: str = "", body: str = BODY) -> PipelineContext:
    op = folder / f"body_{name}.py"
    op.write_text(body, encoding="utf-8")
    train = folder / f"train_{name}.py"
    head = HEAD.format(folder=str(folder), module=op.stem)
    train.write_text(head + (text or PROGRAMS[name]), encoding="utf-8")
    target = read_target(str(op), [], [])
    OWN_OPS[target.name] = replace(target, program=read_program(f"{train}:make_dataset"))
    elements = make_elements(target.name, "numpy_function", 3, "float32", 8)
    return PipelineContext(elements, SETTINGS, Program(OWN_OPS[target.name].program, elements))


OWN_BODIES = {
    "function": ("def own(x):\n    return 3 * x\n\n\nbody = own\n", 1, 2),
    "method": ("class Own:\n    def of(self, x):\n        return 3 * x\n\n\nbody = Own().of\n", 2, 2),
    "lambda": ("body = lambda x: 3 * x\n", 1, 1),
}
"""Kind -> text of a program, line in it at which the body begins, and lines of the body."""
LAST_LINE = 5
"""The line of `BODY` at which its function ends."""


def copied_body(file: str, line: int, lines: int) -> str:
    """Return an op file whose body is a copy of lines of a program, counted from the end of its head."""
    place = HEAD.count("\n") + line
    return BODY.replace("OwnOp(", f"OwnOp(copied=(({LAST_LINE + 1 - lines}, {lines}, {file!r}, {place}),), ", 1)


@pytest.mark.parametrize("kind", OWN_BODIES)
def test_the_body_of_an_op_file_that_has_a_copy_of_it_is_found_in_the_program(tmp_path: Path, kind: str) -> None:
    """As in the op files that `advise` writes."""
    text, line, lines = OWN_BODIES[kind]
    program_text = text + PLAIN.replace("scaled, [x]", "body, [x]")
    names = ("train_own.py", f"{tmp_path.name}/train_own.py", str(tmp_path / "train_own.py"))
    for file in names if kind == "function" else names[:1]:
        context = context_of(tmp_path, "own", program_text, copied_body(file, line, lines))
        assert running(context, "map parallel=2").check() == 0.0
        OWN_OPS.clear()


def running(context: PipelineContext, key: str) -> RunningProgram:
    arrangements = [one for one, _ in arrange_all(context)]
    return RunningProgram(next(one for one in arrangements if one.key == key), context)


ELEMENT_KEYS = ("map", "map parallel=2", "port traced", "processes")
BATCH_KEYS = ("batch_loop batch=2", "batch_body batch=2", "port_batch traced batch=2")


def test_every_arrangement_of_elements_gives_what_the_program_gave(tmp_path: Path) -> None:
    context = context_of(tmp_path, "wrapped")
    try:
        assert context.program is not None
        assert context.program.is_repeatable
        assert context.program.step_elements == 4
        assert Path(context.program.place[0]).name == "train_wrapped.py"
        for key in ELEMENT_KEYS:
            pipeline = running(context, key)
            assert pipeline.check() == 0.0, key
            elements, seconds = pipeline.block(0.0)
            assert elements % 4 == 0
            assert seconds > 0
    finally:
        context.close()


def test_a_port_with_a_loop_of_the_graph_is_converted_as_in_a_map(tmp_path: Path) -> None:
    looped = BODY.replace("    return 3 * x", "    while np.sum(x) < 10000:\n        x = x + 1\n    return x")
    context = context_of(tmp_path, "looped", PLAIN, looped)
    pipeline = running(context, "port traced")
    assert pipeline.check() == 0.0


@pytest.mark.parametrize("name", ["plain", "kept"])
def test_what_stands_in_the_place_of_the_callback_is_what_is_drawn(tmp_path: Path, name: str) -> None:
    context = context_of(tmp_path, name)
    assert context.program is not None
    dataset, _ = context.program.build(InMap(lambda inputs: [inputs[0] - 1], 2))
    first = next(iter(dataset))[0].numpy()
    np.testing.assert_array_equal(first[:, 0, 0], np.arange(4) - 1)


def test_a_stage_that_does_nothing_else_is_moved_behind_batch(tmp_path: Path) -> None:
    context = context_of(tmp_path, "kept")
    for key in BATCH_KEYS:
        assert running(context, key).check() == 0.0, key


def test_the_batch_behind_the_stage_is_the_one_that_the_file_gets(tmp_path: Path) -> None:
    context = context_of(tmp_path, "plain")
    assert context.program is not None
    seen = []

    def arrange(dataset: tf.data.Dataset, take: Any, put: Any, deterministic: Any = None) -> tf.data.Dataset:
        seen.append(dataset.element_spec[0].shape.as_list())
        return dataset.map(lambda *element: put([3 * one for one in take(*element)], *element))

    dataset, _ = context.program.build(program.InBatches(arrange, 2))
    assert [None, 3, 2] in seen
    assert context.program.check([flat_arrays(one) for one in dataset.take(3)]) == 0


def test_values_of_another_element_are_an_error(tmp_path: Path) -> None:
    """The fault is planted: outputs are off by one."""
    context = context_of(tmp_path, "plain")
    assert context.program is not None
    dataset, _ = context.program.build(InMap(lambda inputs: [3 * inputs[0] + 1], 1))
    with pytest.raises(WrongResult):
        context.program.check([flat_arrays(one) for one in dataset.take(3)])


def test_values_of_a_random_pipeline_are_not_compared_and_dtypes_are(tmp_path: Path) -> None:
    context = context_of(tmp_path, "random")
    assert context.program is not None
    assert not context.program.is_repeatable
    running(context, "processes").check()
    dataset, _ = context.program.build(InMap(lambda inputs: [tf.cast(inputs[0] > 0, tf.float32)], 1))
    drawn = [flat_arrays(one) for one in dataset.take(3)]
    context.program.check(drawn)
    with pytest.raises(WrongResult):
        context.program.check([one[:1] for one in drawn])
    with pytest.raises(WrongResult):
        context.program.check([[one[0].astype(np.float64), one[1]] for one in drawn])
    context.close()


def test_nothing_is_watched_any_more_when_the_dataset_is_made(tmp_path: Path) -> None:
    before = tf.data.Dataset.map, tf.data.Dataset.batch, tf.numpy_function, tf.py_function
    context_of(tmp_path, "plain")
    assert (tf.data.Dataset.map, tf.data.Dataset.batch, tf.numpy_function, tf.py_function) == before


@pytest.mark.parametrize(
    "text",
    [
        "def make_dataset():\n    return source().map(parse)\n",
        "def make_dataset():\n    return 3\n",
        "def make_datasets():\n    return source()\n",
        PLAIN.replace("scaled, [x]", "other, [x]"),
        PLAIN.replace(".map(called)", ".map(called).map(called)"),
        PLAIN.replace(".map(called)", ".map(called).take(0)"),
        PLAIN.replace("make_dataset()", "make_dataset(needed)"),
        f"{PLAIN}\nraise KeyError('no data')\n",
        PLAIN.replace(".batch(4)", ".batch(4).map(lambda *one: tf.debugging.assert_equal(tf.shape(one[0])[0], 9))"),
    ],
)
def test_a_program_that_fails_or_has_not_one_stage_of_the_function_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput):
        context_of(tmp_path, "refused", text)


def test_what_is_ahead_of_the_stage_and_a_long_prefetch_are_not_counted(tmp_path: Path) -> None:
    text = PLAIN.replace(".map(called)", ".prefetch(50).batch(2).unbatch().map(called)").replace(
        "tf.data.AUTOTUNE", "100"
    )
    program = context_of(tmp_path, "ahead", text).program
    assert program is not None
    assert program.step_elements == 4
    assert program.build(None)[1] < 10


def test_a_stage_that_may_give_another_order_is_not_compared_by_value(tmp_path: Path) -> None:
    text = PLAIN.replace("map(called)", "map(called, num_parallel_calls=2, deterministic=False)")
    program = context_of(tmp_path, "unordered", text).program
    assert program is not None
    assert not program.is_repeatable
