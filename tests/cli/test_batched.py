"""`pyopbench verify --batch` lists the batched forms of an op, with the reason of each that is not right."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from commands import CRASHED, Call, told
from places import FAKE_WORKER_COMMAND
from pyopbench.cli import verify
from pyopbench.engine import worker_process
from pyopbench.model.portable import BATCHED


@pytest.fixture(autouse=True)
def _forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    forms = [["double", "numpy_loop"], ["double", "wrong"], ["double", "impossible"]]
    monkeypatch.setenv("FAKE_WORKER_FORMS", json.dumps(forms))


def test_each_form_has_a_row(call: Call) -> None:
    ended = call("verify", "double", "--batch", 8)
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split()[:3] for line in ended.out.splitlines() if line.startswith("double/")]
    assert lines == [
        ["double/numpy_loop/float32/1", "right", "0.5"],
        ["double/wrong/float32/1", "wrong", "–"],
        ["double/impossible/float32/1", "unsupported", "–"],
    ]
    assert ended.out.splitlines()[-1] == "1 of 3 batched forms right"


def test_a_lost_worker_ends_with_1(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_WORKER_FORMS", json.dumps([["double", "crashing"]]))
    ended = call("verify", "double", "--batch", 8, "--json")
    assert ended.code == 1
    (found,) = json.loads(ended.out)
    assert (found["failure"]["status"], found["failure"]["reason"]) == ("crashed", CRASHED)


def test_what_batched_forms_have_no_choice_of_is_refused(call: Call) -> None:
    ended = call("verify", "double", "--batch", 8, "--axis", "mode=eager")
    assert ended.code == 2
    assert ended.err == told(
        "batched forms have one gradient each and run in a graph",
        received="--axis mode=eager with --batch",
        hint="leave out --axis mode=eager, or --batch",
    )


def test_a_right_form_of_an_own_op_comes_with_the_command_that_writes_it(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("def triple(x):\n    return 3 * x\n", encoding="utf-8")
    monkeypatch.setenv("FAKE_WORKER_FORMS", json.dumps([["triple", "numpy_loop"], ["triple", "wrong"]]))
    monkeypatch.setattr(verify, "BATCHED", {"numpy_loop": BATCHED["numba_op_loop"], "wrong": BATCHED["numba_op_loop"]})
    named = [f"{tmp_path / 'mine.py'}:triple", "--input", "np.ones(3)"]
    words = shlex.split(call("verify", *named, "--batch", 8).out)
    said = words[words.index("pyopbench") + 1 :]
    assert said == ["port", *named, "--to", "numpy_loop", "--out", "triple_numpy_loop.py"]
