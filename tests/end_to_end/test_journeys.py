"""From a program's callback to a written port by the commands that are printed, each just as it is printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from commands import ENVIRONMENT, Call
from pyopbench.engine import settings
from pyopbench.find.draft import draft
from pyopbench.model.own_target import read_target
from written_ports import run_its_test, write

pytestmark = pytest.mark.slow

PROGRAM = '''"""A training loop with callbacks of all kinds."""
import numpy as np
import tensorflow as tf

LIMIT = 3.0


def shorten(x):
    return np.minimum(np.sinh(x), LIMIT)


def join(x, y):
    return np.maximum(x * y, 0.0) + LIMIT


def blend(x, y, z):
    return x * y + np.exp(-z)


def make():
    scale = 0.5

    def half(x):
        return x * scale

    def nested(x, y):
        return half(x) + np.tanh(y)

    return lambda x, y: tf.numpy_function(nested, [x, y], tf.float32)  # nested


class Mixer:
    def mix(self, x, y, z):
        total = np.zeros_like(x)
        for step in range(300):
            total = total + (x + step) * y
        return total / 300 + z

    def __call__(self, x, y, z):
        return tf.numpy_function(self.mix, [x, y, z], tf.float32)  # method


@tf.function
def train(x, mixer=Mixer(), joined=make()):
    one = tf.py_function(lambda v: np.tanh(v.numpy()) * 2, [x], tf.float32)  # lambda
    two = tf.numpy_function(shorten, [one], tf.float32)  # one
    three = tf.numpy_function(join, [one, two], tf.float32)  # two
    four = tf.py_function(lambda a, b, c: blend(a.numpy(), b.numpy(), c.numpy()), [one, two, x], tf.float32)  # three
    return mixer(joined(three, four), one, two)


if __name__ == "__main__":
    numbers = np.random.default_rng(0).random((160, 6), np.float32)
    for batch in tf.data.Dataset.from_tensor_slices(numbers).batch(8):
        train(batch)
'''


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def place_of(program: Path, word: str) -> str:
    """Return the line that ends with this comment."""
    lines = program.read_text(encoding="utf-8").splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if text.endswith(f"  # {word}"))
    return f"{program.name}:{line}"


def commands_in(printed: str) -> list[list[str]]:
    """Return the commands of pyopbench that are printed, in words and without its name."""
    return [shlex.split(found)[1:] for found in re.findall(r"^ +(pyopbench .*)$", printed, re.MULTILINE)]


@pytest.mark.measures
def test_the_printed_commands_lead_from_a_program_to_ports_that_pass_their_tests(
    program: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callbacks of one, two and three arguments: a lambda, a nested function and a method."""
    monkeypatch.setattr(settings, "QUICK_OP_SECONDS", 1.0)  # the answer does not matter
    words = [sys.executable, "-m", "pyopbench", "record", "--out", "r.json", "--", sys.executable, program.name]
    recorded = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    scan, first_run = commands_in(recorded.stderr)
    assert scan[:2] == ["scan", "--draft"]
    for word in ("method", "nested", "lambda"):
        place = place_of(program, word)
        if word == "method":  # it takes most of the time
            assert scan[2] == place
        printed = call(*scan[:2], place, *scan[3:-1], f"{word}_op.py").out
        verify, run, port = commands_in(printed)
        assert [verify[0], run[0], port[0]] == ["verify", "run", "port"]
        if word == "method":
            assert run[2:] == first_run[2:]
        assert {"--baseline", "--mix", "--calls-per-step", "--step-ms"} <= {*run}
        assert run[run.index("--calls-per-step") + 1] == "1"
        assert call(*run).code == 0
        written = call(*port)
        assert written.code == 0
        subprocess.run(shlex.split(written.out.splitlines()[-1].rpartition(": ")[2]), check=True, capture_output=True)


@pytest.mark.parametrize("word", ["one", "two", "three", "lambda", "nested", "method"])
def test_every_draft_without_a_recording_can_be_written_as_a_port(
    word: str, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / f"{word}_op.py"
    made = draft(place_of(program, word), out)
    out.write_text(made.code, encoding="utf-8")
    ported = write(str(out))
    assert made.baseline == read_target(str(out), [], []).baseline
    assert "test_values" in run_its_test(ported, tmp_path, monkeypatch)
