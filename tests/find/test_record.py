"""A program runs as it would, and leaves its counts however it ends. One is real; the others need no TensorFlow."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pyopbench.find.injected.tallies import FROM_GENERATOR
from pyopbench.find.record import record
from pyopbench.model.errors import BadInput

PROGRAM = """
import sys, threading
import numpy as np
import tensorflow as tf

calls = {"data": 0, "loss": 0, "eager": 0}
lock = threading.Lock()

def note(name):
    with lock:
        calls[name] += 1

def load(x):
    note("data")
    return x.numpy() + 1

def square(x):
    note("loss")
    return tf.square(x)

def double(x):
    note("eager")
    return 2 * x

data = tf.data.Dataset.range(12).map(lambda x: tf.py_function(load, [x], tf.int64), num_parallel_calls=4)
assert len(list(data)) == 12
rows = tf.data.Dataset.from_generator(lambda: range(3), output_signature=tf.TensorSpec([], tf.int64))
assert len(list(rows)) == 3
v = tf.Variable([1.0, 2.0])

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.py_function(square, [v + 0.0], tf.float32))
    return tape.gradient(loss, v)

for _ in range(3):
    step()
@tf.function
def read(iterator):
    total = tf.constant(0, tf.int64)
    for _ in tf.range(4):
        total += next(iterator)
    return total

assert read(iter(tf.data.Dataset.range(4))) == 6
for size in (2, 2, 5):
    tf.numpy_function(double, [np.ones(size)], tf.float64)
print(calls["data"], calls["loss"], calls["eager"], sys.argv[1:])
raise SystemExit(5)
"""


def test_a_real_program_is_counted_call_for_call(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    code, used = record([sys.executable, str(program), "--flag"], tmp_path / "r.json")
    assert code == 5
    assert "12 3 3 ['--flag']" in capfd.readouterr().out
    counts = {site.body: (site.mode, site.forward.calls, site.gradient.calls) for site in used.sites}
    generator = counts.pop(FROM_GENERATOR)
    assert (generator[0], generator[1] > 3) == ("graph", True)
    assert counts == {"load": ("graph", 12, 0), "square": ("graph", 3, 3), "double": ("eager", 3, 0)}
    double = next(site for site in used.sites if site.body == "double")
    assert double.calls_by_size == {2: 2, 5: 1}
    assert {site.body for site in used.sites if site.in_input} == {"load", FROM_GENERATOR}
    assert used.elements == 12 + 3 + 4
    assert used.input_share is not None
    assert 0 < used.input_share.waited <= 1
    lines = PROGRAM.splitlines()
    assert all(site.body.rpartition(".")[2] in lines[site.line - 1] for site in used.sites)
    assert not used.troubles


def test_the_file_holds_the_command_and_the_exit_code_and_nothing_is_left_beside(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    code, used = record(command, tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_text())
    assert (code, content["exit_code"], content["command"], content["version"]) == (3, 3, command, 1)
    assert (used.sites, used.processes) == ([], 0)
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_what_is_sent_to_the_recording_process_is_passed_on(tmp_path: Path) -> None:
    """Without a terminal, which would have sent an interrupt to the program as well."""
    program = (
        "import os, signal, time\nsignal.signal(signal.SIGINT, lambda *_: os._exit(7))\n"
        "os.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)"
    )
    recording = (
        "import sys\nfrom pathlib import Path\nfrom pyopbench.find.record import record\n"
        f"sys.exit(record([sys.executable, '-c', {program!r}], Path({str(tmp_path / 'r.json')!r}))[0])"
    )
    assert subprocess.run([sys.executable, "-c", recording], stdin=subprocess.DEVNULL, check=False).returncode == 7


def test_what_is_sent_before_the_program_starts_is_passed_on_and_leaves_no_parts(tmp_path: Path) -> None:
    recording = (
        "import os, signal, sys\nfrom pyopbench.find.record import record, Path\nmake = Path.mkdir\n"
        "def interrupted(*given, **named):\n    make(*given, **named)\n    os.kill(os.getpid(), signal.SIGTERM)\n"
        "Path.mkdir = interrupted\ncommand = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        f"sys.exit(record(command, Path({str(tmp_path / 'r.json')!r}))[0])"
    )
    assert subprocess.run([sys.executable, "-c", recording], check=False).returncode == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_the_program_has_its_own_sitecustomize_and_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('its own')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    record([sys.executable, "-c", "import sys; print([p for p in sys.path if 'injected' in p])"], tmp_path / "r.json")
    assert capfd.readouterr().out.split("\n")[:2] == ["its own", "[]"]


def test_what_cannot_be_started_is_bad_input_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        record(["no-program-of-this-name"], tmp_path / "r.json")
    assert refused.value.received == "no-program-of-this-name"
    assert list(tmp_path.iterdir()) == []


def test_a_recording_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "r.json").touch()
    with pytest.raises(BadInput) as refused:
        record([sys.executable, "-c", ""], tmp_path / "r.json")
    assert refused.value.received == tmp_path / "r.json"


def test_what_a_program_leaves_among_the_parts_costs_neither_its_exit_code_nor_the_recording(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    program = "import os, sys; open(os.environ['PYOPBENCH_RECORD'] + '/1.json', 'wb').write(b'[[['); sys.exit(7)"
    code, used = record([sys.executable, "-c", program], out)
    assert code == 7
    assert json.loads(out.read_text())["exit_code"] == 7
    assert len(used.troubles) == 1
    assert list(tmp_path.iterdir()) == [out]
