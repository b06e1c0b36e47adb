"""`pyopbench advise` on a real program with callbacks of all forms: recorded, extracted, ported, put in place, run."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from commands import ENVIRONMENT
from places import ROOT
from pyopbench.advise import answers, graph_body, trial
from pyopbench.advise.advise import advise as make_advice
from pyopbench.advise.answers import Answer, Candidate
from pyopbench.advise.attempt import PATCH, Advice, Options, Tools
from pyopbench.advise.callbacks import Callback, Step, write_op_file
from pyopbench.advise.program import Program
from pyopbench.advise.turns import Realised
from pyopbench.api.listeners import Listener
from pyopbench.engine.worker_process import Worker

pytestmark = [pytest.mark.slow, pytest.mark.long]

TRAIN = '''"""Trains, with callbacks of all forms."""

from __future__ import annotations

import functools

import numpy as np
import tensorflow as tf

from .bodies import Scaler, clip, moments, noisy

weights = tf.Variable(tf.ones([4]))
scaler = Scaler(0.5)
as_float = functools.partial(tf.numpy_function, clip, Tout=np.float32)
count = 0


def make(limit):
    def bounded(x):
        return np.minimum(x, limit)

    return bounded


@tf.py_function(Tout=tf.float32)
def shifted(x):
    # on tensors
    return x.numpy() + 1.0


def softened(x):
    if tf.reduce_mean(x) > 0:
        return tf.nn.softplus(x)
    else:
        return x


def counted(x):
    return x + np.float32(count)


def prepare(x):
    x = tf.numpy_function(lambda v: clip(v), [x], tf.float32)  # a lambda
    x.set_shape([4])
    return x


@tf.function
def step(x):
    mean, total = tf.numpy_function(
        moments,
        [x, 2],  # and a number
        [tf.float32, tf.int64],
    )
    y = tf.compat.v1.py_func(scaler.scale, [x], tf.float32)
    y.set_shape([None, 4])
    z = as_float([y])
    z.set_shape([None, 4])
    u = tf.py_function(func=make(0.75), inp=(z,), Tout=tf.float64)
    v = shifted(z)
    w = tf.numpy_function(counted, [z], tf.float32)
    n = noisy(z)
    s = tf.py_function(softened, [z], tf.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(weights * y) ** 2
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    sums = [tf.reduce_sum(one) for one in (u, v, w, s)]
    return [loss, mean, total, *sums, tf.abs(0 * tf.reduce_sum(n))]


def main():
    global count
    rng = np.random.default_rng(0)
    data = tf.data.Dataset.from_tensor_slices(rng.normal(size=(40, 4)).astype(np.float32))
    read = prepare
    data = data.map(read).map(tf.identity).batch(4)
    for number, x in enumerate(data):
        count = number
        print(number, *[f"{float(one):.4f}" for one in step(x)])


if __name__ == "__main__":
    main()
'''
CHAINED = ".map(tf.identity)" if sys.version_info >= (3, 11) else ""
"""A second map on the line of the first, which only newer Pythons tell apart."""
BODIES = '''"""What is called back."""
import numpy as np
import tensorflow

LOW = -1.0


def clip(x):
    return np.maximum(x, np.float32(LOW))


def moments(x, power):
    return np.mean(x**power).astype(np.float32), np.int64(x.size)


class Scaler:
    def __init__(self, factor):
        self.factor = np.float32(factor)

    def scale(self, x):
        return x * self.factor


def draw(x):
    return x + np.random.normal(size=x.shape).astype(np.float32)


def noisy(x):
    return tensorflow.numpy_function(draw, [x], tensorflow.float32)
'''


PORTS_TESTS = """
import importlib, pathlib

for path in sorted(pathlib.Path().glob("test_*.py")):
    for name, test in vars(importlib.import_module(path.stem)).copy().items():
        if name.startswith("test_"):
            test()
    print(path.name)
"""


def untested(*_: object) -> dict[str, list[str]]:
    return {"passed": []}


def name_port(callback: Callback, step: Step, folder: Path, budget: float, minimum_effect: float) -> Answer:
    """Name the change to try, without measuring what it saves."""
    folder.mkdir(parents=True)
    if callback.seed_with:
        return Answer("leave", "draws")
    variant = "autograph" if callback.body == "softened" else "processes" if callback.in_input else "traced"
    write_op_file(callback, folder)
    return Answer("leave", "", candidates=(Candidate(variant, 0.1),))


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}


@pytest.fixture(scope="module")
def advice(tmp_path_factory: pytest.TempPathFactory) -> Advice:
    root = tmp_path_factory.mktemp("advise")
    package = root / "program" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(TRAIN.replace(".map(tf.identity)", CHAINED))
    (package / "bodies.py").write_text(BODIES)
    before = files_in(root / "program")
    program = Program.here([sys.executable, "-m", "pkg.train"], root / "program")

    def estimate_saving(*_: Any) -> Realised:
        return Realised("step", 0.2, 0.1, 0.5, 0.4, 0.6, 3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial.turns, "estimate_saving", estimate_saving)
        patch.setattr(trial, "LEAST_TURNS", 1)
        patch.setattr(trial, "MUCH_SLOWER", math.inf)
        patch.setenv("PYTHONPATH", str(ROOT))
        options = Options(minimum_effect=0.0)
        with Worker(120.0) as worker:  # one for all ports; their own tests are run together, see below
            patch.setattr(graph_body, "port_tester", lambda: nullcontext(untested))
            patch.setattr(answers, "write_port", partial(answers.write_port, ask=worker.ask, test=untested))
            made = make_advice(program, root / "out", options, Listener(), Tools(decide=name_port))
    assert files_in(root / "program") == before, "nothing of the user's is touched"
    return made


def test_callbacks_of_every_form_are_ported_and_those_that_cannot_be_are_left(advice: Advice) -> None:
    found = {row.callback.body.rpartition(".")[2]: (row.answer.action, row.answer.why) for row in advice.rows}
    assert {name for name, (action, _) in found.items() if action == "port"} == {
        *("moments", "scale", "clip", "bounded", "shifted", "softened")
    }, found
    assert {name for name, (action, _) in found.items() if action == "arrange"} == {"<lambda>"}
    assert {name for name, (action, _) in found.items() if action == "leave"} == {"counted", "draw"}


def test_the_patch_applies_and_the_program_computes_the_same(advice: Advice, tmp_path: Path) -> None:
    assert advice.patch == advice.folder / PATCH
    shutil.copytree(advice.program.root, tmp_path / "program")
    command = [sys.executable, "-m", "pkg.train"]

    def run() -> str:
        done = subprocess.run(
            command, cwd=tmp_path / "program", env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = run()
    subprocess.run(["git", "apply", str(advice.patch)], cwd=tmp_path / "program", check=True)
    assert run() == before
    text = (tmp_path / "program" / "pkg" / "train.py").read_text()
    for line in (
        "from . import clip_port",
        "    mean, total = [tf.stop_gradient(one) for one in moments_port.moments(x, tf.convert_to_tensor(2))]",
        "    y = tf.stop_gradient(scale_port.scale(x))",
        "    u = tf.stop_gradient(tf.cast(bounded_port.bounded(z), tf.float64))",
        "    w = tf.numpy_function(counted, [z], tf.float32)",
        "    s = softened_port.softened_in_graph(z)",
        "    x = body_43_port.outputs_of([x])[0]  # a lambda",
        f"    data = data.map(read, num_parallel_calls=body_43_port.usual_pool().processes){CHAINED}.batch(4)",
    ):
        assert text.splitlines().count(line) == 1, text
    done = subprocess.run(
        [sys.executable, "-c", PORTS_TESTS],
        cwd=tmp_path / "program" / "pkg",
        env={**ENVIRONMENT, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == sorted(row.answer.test for row in advice.rows if row.answer.is_change)
