"""The worked examples: each is an op whose callbacks and written ports are right, at its least size."""

from __future__ import annotations

from pathlib import Path

import pytest

from places import ROOT
from pyopbench.model.case import Axes
from pyopbench.model.own_target import read_target
from pyopbench.ops.load import load_variants
from pyopbench.ops.own.load import load_own
from pyopbench.store.mix_file import read_mix
from pyopbench.worker.plan import make_plan
from pyopbench.worker.prepare.prepare import prepare
from small_ops import put_in_place

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_todays_callback_and_the_ports_that_are_written_are_right(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    op = load_own(read_target(str(path), [], []))
    put_in_place(monkeypatch, op)
    variants = ("py_function_numpy", "numpy_function", *(("native",) if op.tensor else ()))
    axes = Axes((op.name,), variants, directions=("forward", "backward"), modes=("call",), sizes=op.sizes[:1])
    cases = make_plan(axes, {op.name: op}, load_variants()).cases
    assert {case.variant for case in cases} == set(variants)
    for case in cases:
        prepare(case)


def test_the_mix_of_an_example_is_of_its_sizes() -> None:
    op = load_own(read_target(str(EXAMPLES / "triplet_loss.py"), [], []))
    assert set(read_mix(EXAMPLES / "triplet_loss_mix.csv")) <= set(op.sizes)
