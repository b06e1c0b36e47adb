"""Where the time of a callback goes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from frames import VARIANTS, Bench, variant
from pyopbench.judge.body_share import BodyShare, body_shares_of
from pyopbench.judge.candidates import Setting
from pyopbench.judge.program import even_mix
from pyopbench.stats import costs, estimate
from pyopbench.store.measured_run import Costs
from pyopbench.store.types import Catalogue

TODAY = "py_function_numpy"
OPS = Catalogue(
    ops={},
    variants={**VARIANTS, "numba_op": structs.replace(VARIANTS["numpy_function"], automatic=True)},
    parts={
        "numpy_alone": variant("part", role="body_alone"),
        "tensor_alone": variant("part", role="empty", body="tensor"),
    },
)


def share(
    label: str = TODAY, direction: str = "forward", choice_label: str | None = None, **saved: float
) -> BodyShare | None:
    """Return the share of a body that takes 20 of 100 us at the one size and 90 of 100 at the other.

    Args:
        label: of the current callback.
        direction: of the setting.
        choice_label: of the answer; None for keep.
        saved: what candidates save, by label.
    """
    frame = Bench({TODAY: 1e-4}, sizes=(10, 100), within=0.0, between=0.0, launches=3).frame()
    alone = frame.assign(
        case=frame["case"].str.replace(TODAY, "numpy_alone"),
        variant="numpy_alone",
        seconds=frame["seconds"] * frame["size"].map({10: 0.2, 100: 0.9}),
    )
    run: Any = SimpleNamespace(catalogue=OPS, costs=Costs(frame=alone))
    comparison: Any = SimpleNamespace(baseline=label, setting=Setting("sinh", direction, "call", "float32", "cpu"))
    gains = [SimpleNamespace(label=one, saved=many) for one, many in saved.items()]
    choice: Any = SimpleNamespace(gains=gains, label=choice_label)
    choices = [(comparison, (choice, even_mix((10, 100)))), (comparison, None)]
    found = body_shares_of(run, choices, costs.round_costs(frame, estimate.UNIT))
    return found[0] if found else None


def test_the_share_is_over_the_mix() -> None:
    """Each of the two sizes counts for half: (0.2 + 0.9) / 2."""
    found = share()
    assert found is not None
    assert (found.op, found.baseline, found.body) == ("sinh", TODAY, "numpy")
    assert found.share == pytest.approx(0.55)


def test_what_is_not_timed_alone_has_no_share() -> None:
    assert share(direction="forward_backward") is None
    assert share("py_function") is None, "whose body is of another kind"
    assert share("numpy_function") is None, "which has no number"


def test_a_share_above_one_is_noise_and_leaves_nothing_to_gain() -> None:
    assert "gains at most 1.00×" in BodyShare("sinh", "node", "float32", "cpu", TODAY, "numpy", 1.1).text()


def test_the_body_bounds_callbacks_around_the_same_body_alone() -> None:
    """`numba_op` compiles the body and `py_function` has another one, so both may save more than the bridge costs."""
    saved = {"numpy_function": 0.2, "py_func": 0.4, "numba_op": 0.67, "py_function": 0.5, "native": 0.9}
    assert share(**saved) is not None
    assert share(choice_label="py_func", **saved) is not None
    assert share(choice_label="native", **saved) is None, "nothing is said of another body"


def test_a_bound_that_a_measured_callback_is_above_is_none() -> None:
    """The bridge takes 45% of the time: nobody who saves 46% with another bridge believes that."""
    assert share(numpy_function=0.46) is None
