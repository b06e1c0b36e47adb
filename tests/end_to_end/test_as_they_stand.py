"""Functions of a training script, named on the command line with examples and no other file, get ports."""

from __future__ import annotations

import pytest

from places import ROOT
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.own_target import read_target
from pyopbench.ops.load import load_op, load_variants
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.worker.prepare.prepare import prepare

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

SCRIPT = ROOT / "tests" / "data" / "as_they_stand" / "training.py"
BOXES = "np.sort(rng.random(({}, 2, 2), np.float32), axis=1).reshape(-1, 4) * 100"
FUNCTIONS = {
    "dice": ("rng.integers(0, 2, (2, 8, 8, 3)).astype(np.float32)", "rng.random((2, 8, 8, 3), np.float32)"),
    "focal": ("rng.integers(0, 2, (16, 4))", "rng.standard_normal((16, 4)).astype(np.float32)"),
    "iou": (BOXES.format(12), BOXES.format(5)),
    "proposals": ("rng.random((6, 5), np.float32)", "0.1 * rng.standard_normal((6, 5, 4)).astype(np.float32)"),
    "log_mel": ("rng.standard_normal(800).astype(np.float32)",),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_of_a_script_has_a_port_that_is_no_callback(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pyopbench run training.py:dice --input ...` prepares it in this way, checked, before anything is timed."""
    target = read_target(f"{SCRIPT}:{function}", FUNCTIONS[function], [])
    monkeypatch.setitem(OWN_OPS, target.name, target)
    op, variant = load_op(target.name), load_variants()["traced"]
    gradient, direction = ("autodiff", "forward_backward") if op.differentiable else (NO_GRADIENT, "forward")
    prepared = prepare(
        Case(op.name, variant.name, gradient, direction, "call", op.dtypes[0], op.sizes[0]), finite_differences=True
    )
    assert variant.is_port
    assert prepared.checked.values < 1e-4
    assert (prepared.checked.finite_difference is not None) == bool(op.differentiable)
