"""What an op computes is kept, and compared with what another revision of it computes on the same inputs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyopbench.ports.arrays import as_array
from pyopbench.worker import values
from pyopbench.worker.prepare.checks import Reference

X = np.linspace(0.0, 1.0, 5, dtype=np.float32)


class Worker:
    """An op that computes a multiple of its inputs, as a worker of a revision has it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self._patch, self._path = monkeypatch, path

    def ask(self, do: str, factor: float = 2.0, inputs: Any = X, gradients: Any = None, **own: Any) -> dict[str, Any]:
        """Answer a request, as a revision that multiplies by `factor` and has these inputs."""
        told = SimpleNamespace(**{"is_random": False, **own})
        op = SimpleNamespace(name="double", own=told, tolerance={"float32": 1e-6})
        op.numpy = lambda x: x * np.float32(factor)

        def made(op: Any, inputs: Any, dtype: str, rng: Any) -> Reference:
            return Reference(tuple(inputs), (op.numpy(*inputs),), (), gradients)

        self._patch.setattr(values, "load_op", lambda name: op)
        self._patch.setattr(values, "make_reference", made)
        self._patch.setattr(values, "reference_of", lambda name, size, dtype: made(op, (inputs,), dtype, None))
        request = {"op": "double", "size": 5, "dtype": "float32", do: str(self._path)}
        return values.compare_values(request, lambda event: None)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Worker:
    """Return workers that keep what they compute in a file of the test."""
    return Worker(monkeypatch, tmp_path / "kept.npz")


SAME = {"kind": "", "reason": ""}


def test_the_same_values_are_the_same(worker: Worker) -> None:
    assert worker.ask("save") == SAME
    assert worker.ask("against") == SAME
    assert worker.ask("against", 2.0 + 1e-7) == SAME, "within the tolerance of the op"


def test_other_values_are_told_with_their_first_place(worker: Worker) -> None:
    worker.ask("save")
    assert worker.ask("against", 3.0) == {
        "kind": "outputs",
        "reason": "output 0 differs at index [4]: expected 2.0, got 3.0 (relative error 0.5, tolerance 1e-06)",
    }


def test_other_inputs_are_told_apart_from_other_values(worker: Worker) -> None:
    """The body is given the inputs of the first revision, so that a change of both is a change of values."""
    worker.ask("save")
    assert worker.ask("against", inputs=X + 1)["kind"] == "inputs"
    assert worker.ask("against", 3.0, inputs=X + 1)["kind"] == "outputs"
    assert worker.ask("against", inputs=X[:2])["kind"] == "inputs"


def test_a_body_that_fails_on_the_inputs_of_the_first_revision_says_so(worker: Worker) -> None:
    worker.ask("save")
    found = worker.ask("against", factor="no number", inputs=X)  # type: ignore[arg-type]
    assert found["kind"] == "raised"


def test_gradients_are_compared_where_both_have_them(worker: Worker) -> None:
    worker.ask("save", gradients=(X,))
    assert worker.ask("against", gradients=(X,)) == SAME
    assert worker.ask("against", gradients=(X * 2,))["kind"] == "gradients"
    assert worker.ask("against")["kind"] == "gradients"
    worker.ask("save")
    assert worker.ask("against") == SAME


@pytest.mark.parametrize("text", ["", "häuser", "ends with zeros\0\0", ["a", "bb"]])
def test_text_is_kept_as_it_is(tmp_path: Path, text: Any) -> None:
    array = as_array(text)
    values._save(tmp_path / "kept.npz", Reference((array, X), (array,), (), None))
    found = values._read(tmp_path / "kept.npz")
    assert found.inputs[0].dtype == object
    assert found.inputs[0].tolist() == array.tolist()
    assert found.outputs[0].shape == array.shape
    assert (found.gradients, found.inputs[1].tolist()) == (None, X.tolist())


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "int4"])
def test_a_dtype_that_is_not_of_numpy_is_kept(tmp_path: Path, dtype: str) -> None:
    array = np.array([1, 2, -3]).astype(dtype)
    values._save(tmp_path / "kept.npz", Reference((array,), (array,), (), None))
    found = values._read(tmp_path / "kept.npz").outputs[0]
    assert (found.dtype, found.tolist()) == (array.dtype, array.tolist())
