"""Ops and variants are found by the names of their files, in the package and outside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pyopbench.model.discover import find
from pyopbench.model.op import Op
from pyopbench.ops import load
from small_ops import square

OP_FILE = """
from small_ops import square

OP = square(name="{name}")
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder `ops` of a folder that PYOPBENCH_PATH names."""
    (tmp_path / "ops").mkdir()
    monkeypatch.setenv("PYOPBENCH_PATH", str(tmp_path))
    return tmp_path / "ops"


def test_everything_that_is_found_is_what_it_is_called() -> None:
    for kind, loaded in (("ops", load.load_ops()), ("variants", load.load_variants())):
        assert list(loaded) == list(find(kind))
        assert [made.name for made in loaded.values()] == list(loaded)


def test_an_op_outside_of_the_package_is_found_by_its_name(outside: Path) -> None:
    (outside / "found_outside.py").write_text(OP_FILE.format(name="found_outside"))
    op = load.load_op("found_outside")
    assert isinstance(op, Op)
    assert op.name == "found_outside"
    assert {"found_outside", "sinh"} <= set(load.load_ops())
    assert op.numpy is square().numpy


def test_cost_components_are_what_they_are_called() -> None:
    assert [part.name for part in load.load_parts().values()] == list(load.load_parts())


# Inputs


def same(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_inputs_follow_from_op_size_dtype_and_seed() -> None:
    op = square()
    first = load.make_inputs(op, 3, "float64")
    assert [array.dtype.name for array in first] == ["float64"]
    assert same(first, load.make_inputs(op, 3, "float64"))
    assert same(first, load.make_inputs(op, 3, "float64", seed=0))
    assert not same(first, load.make_inputs(op, 3, "float64", seed=1))
    assert not same(first, load.make_inputs(square(name="mode"), 3, "float64"))
    assert first[0][0] != load.make_inputs(op, 4, "float64")[0][0]
    assert load.make_inputs(op, 3, "float32")[0].dtype == np.float32


def test_inputs_are_the_same_in_every_process() -> None:
    """The seed takes the name letter by letter, because hash() of a string is another one in every process."""
    rng = np.random.default_rng([0, 3, 109, 97, 100, 101])
    assert "".join(map(chr, (109, 97, 100, 101))) == square().name
    np.testing.assert_array_equal(load.make_inputs(square(), 3, "float64")[0], rng.uniform(1.0, 2.0, 3))


# What the judging half is told


def test_the_whole_description_is_plain_data() -> None:
    ops, variants = load.load_ops(), load.load_variants()
    told = load.describe(ops, variants)
    assert json.loads(json.dumps(told)) == told
    assert set(told["ops"]) == set(ops)
    assert told["variants"]["py_function"]["gradients"][0] == "tape"
