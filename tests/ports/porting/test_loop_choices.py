"""Loops of known length are written in two ways, and what Numba has compiled is found again until the file changes."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench.model.modules import load_file
from pyopbench.ports.porting.refusal import CannotPort
from written_ports import run_its_test, write_source

SHORT = """def body(x):
    s = x[0]
    for i in range(1, 30):
        s = 0.9 * s + 0.1 * x[i]
    return s
"""
LONG = """def body(x):
    h = x[0]
    for i in range(600):
        h = np.tanh(h * 0.5 + x[i % 40])
    return h
"""
BOTH = SHORT.replace("    return s", "    for i in range(600):\n        s = np.tanh(s * 0.5 + x[i % 40])\n    return s")
NONE = "def body(x):\n    return x * 2\n"
VECTOR = "rng.random(40)"


def loops_of(source: str, to: str, folder: Path) -> int | None:
    """Return how many loops of the graph a port has; None if there is none of this kind."""
    try:
        tree = ast.parse(write_source(folder, source, VECTOR, to=to).port)
    except CannotPort:
        return None
    loops = [one for one in ast.walk(tree) if isinstance(one, ast.For)]
    return sum(ast.unparse(one.iter).startswith("tf.range") for one in loops)


@pytest.mark.parametrize(
    ("source", "usual", "loop", "unrolled"),
    [(SHORT, 0, 1, None), (LONG, 1, None, 0), (BOTH, 1, 2, 0), (NONE, 0, None, None)],
)
def test_each_choice_is_a_port_where_it_is_another_one(
    source: str, usual: int, loop: int | None, unrolled: int | None, tmp_path: Path
) -> None:
    found = [loops_of(source, to, tmp_path) for to in ("traced", "traced_loop", "traced_unrolled")]
    assert found == [usual, loop, unrolled]


@pytest.mark.parametrize("to", ["traced_loop", "traced"])
def test_both_pass_the_same_test(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, SHORT, VECTOR, to=to)
    assert run_its_test(made, tmp_path, monkeypatch) == ["test_values", "test_gradient"]
    wrong = made.with_text(made.port.replace("range(1, 30", "range(1, 29"))
    with pytest.raises(AssertionError):
        run_its_test(wrong, tmp_path, monkeypatch)


SCALED = """SCALE = 3.0

def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * SCALE
    return s

def body(x):
    return x * total(x)
"""


def called(path: Path, name: str) -> tuple[Any, int]:
    """Return what a port returns for three ones, imported anew, and how much of it was found compiled."""
    module = load_file(path, name)
    found = module.body(np.ones(3)).numpy()
    return found, sum(module.body_on_arrays.stats.cache_hits.values())


def test_numba_compiles_a_written_port_once_until_its_constants_change(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    path = tmp_path / "cached_port.py"
    text = write_source(tmp_path, SCALED, "rng.random(3)", to="njit").port
    path.write_text(text, encoding="utf-8")
    assert [(called(path, "cached_port")[0].tolist(), called(path, "cached_port")[1])] == [([9.0] * 3, 1)]
    before = path.stat()
    path.write_text(text.replace("SCALE = 3.0", "SCALE = 4.0"), encoding="utf-8")
    os.utime(path, (before.st_atime, before.st_mtime + 1))  # as a file system with coarse times has it
    found, hits = called(path, "cached_port")
    assert (found.tolist(), hits) == ([12.0] * 3, 0)


def test_a_port_in_a_folder_that_cannot_be_written_to_is_compiled_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    path = tmp_path / "read_only_port.py"
    path.write_text(write_source(tmp_path, SCALED, "rng.random(3)", to="njit").port, encoding="utf-8")
    monkeypatch.setattr(os, "access", lambda *given: False)
    assert called(path, "read_only_port")[0].tolist() == [9.0] * 3
    assert not list(tmp_path.glob("__pycache__/read_only_port.body_on_arrays*"))
