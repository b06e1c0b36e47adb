"""Where the time of a callback goes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from msgspec import structs

from frames import VARIANTS, Bench, run_of, variant
from pyopbench.judge.candidates import Setting
from pyopbench.judge.cost_components import (
    PARTS,
    BodyNotAlone,
    BodyShare,
    PartMissing,
    Split,
    body_costs,
    body_pairs,
    body_share_of,
    shares_of_bodies,
    splits_of,
)
from pyopbench.judge.judge import judge_run
from pyopbench.judge.program import even_mix
from pyopbench.model.case import Failure
from pyopbench.report.sections import Chart, Paragraph, Table
from pyopbench.report.sections import split as section
from pyopbench.stats import costs, estimate
from pyopbench.store.measured_run import CROSSING_COLUMNS, Costs
from pyopbench.store.run_json import Catalogue

TODAY = "py_function_numpy"
OPS = Catalogue(
    ops={},
    variants={**VARIANTS, "njit": structs.replace(VARIANTS["numpy_function"], automatic=True)},
    gradients={},
    parts={
        "numpy_alone": variant("part", role="body_alone"),
        "tensor_alone": variant("part", role="floor", body="tensor"),
    },
)
DISPATCH, BRIDGE, BODY = 20e-6, 7e-6, 30e-6
IN, OUT, OUT_ALIGNED = 2e-10, 5e-10, 1e-10  # seconds per byte
SIZES = (1_000, 50_000, 2_000_000)
FLOOR_SIZES = (10_000, 1_000_000)
QUIET: dict[str, Any] = {"within": 0.0, "between": 0.0, "launches": 3, "rounds": 2}
BRIDGES = {"native_floor": DISPATCH, "numpy_function_floor": DISPATCH + BRIDGE}
PART = variant("part")

BOUND = (
    "the numpy body takes 80% of the time of today, so a callback around the same numpy body gains at most 1.25×; "
    "another body may gain more"
)


def share(label: str = TODAY, direction: str = "forward", **saved: float) -> BodyShare | None:
    """Return the share of a body that takes 20 of 100 us at the one size and 90 of 100 at the other.

    Args:
        label: of the current callback.
        direction: of the setting.
        saved: what candidates save, by label.
    """
    frame = Bench({TODAY: 1e-4}, sizes=(10, 100), within=0.0, between=0.0, launches=3).frame()
    alone = frame.assign(
        case=frame["case"].str.replace(TODAY, "numpy_alone"),
        variant="numpy_alone",
        seconds=frame["seconds"] * frame["size"].map({10: 0.2, 100: 0.9}),
    )
    bodies = body_costs(SimpleNamespace(catalogue=OPS, costs=Costs(frame=alone)))  # type: ignore[arg-type]
    comparison: Any = SimpleNamespace(baseline=label, setting=Setting("sinh", direction, "call", "float32", "cpu"))
    choice: Any = SimpleNamespace(gains=[SimpleNamespace(label=one, saved=many) for one, many in saved.items()])
    made = (choice, mix := even_mix((10, 100)))
    pairs = dict(body_pairs(comparison, mix, OPS))
    shares = shares_of_bodies(bodies, costs.round_costs(frame, estimate.UNIT), pairs)
    return body_share_of(comparison, made, OPS, shares)


def test_the_share_is_over_the_mix() -> None:
    """Each of the two sizes counts for half: (0.2 + 0.9) / 2."""
    found = share()
    assert found is not None
    assert (found.op, found.baseline, found.body) == ("sinh", TODAY, "numpy")
    assert found.share == pytest.approx(0.55)
    assert found.is_bound
    assert found.most_gain == pytest.approx(1 / 0.55)


def test_what_is_not_timed_alone_has_no_share() -> None:
    assert share(direction="forward_backward") is None
    assert share("py_function") is None, "whose body is of another kind"
    assert share("numpy_function") is None, "which has no number"


def test_a_share_above_one_is_noise_and_leaves_nothing_to_gain() -> None:
    assert BodyShare("sinh", "node", "float32", "cpu", TODAY, "numpy", 1.1).most_gain == 1.0


def test_the_body_bounds_callbacks_around_the_same_body_alone() -> None:
    """`njit` compiles the body and `py_function` has another one, so both may save more than the bridge costs."""
    found = share(numpy_function=0.2, py_func=0.4, njit=0.67, py_function=0.5, native=0.9)
    assert found is not None
    assert (found.around, found.saved_around) == (("numpy_function", "py_func"), 0.4)
    assert found.is_bound


def test_a_bound_that_a_measured_callback_is_above_is_none() -> None:
    """The bridge takes 45% of the time: nobody who saves 46% with another bridge believes that."""
    found = share(numpy_function=0.46)
    assert found is not None
    assert not found.is_bound


def beyond_one(count: Any, per_byte: float) -> Any:
    """Return what bytes cost beyond the 4 of one element, which the bridge has in it."""
    return (count - 4) * per_byte


def floor(op: str, per_byte: float) -> pd.DataFrame:
    """Return the floor of an op whose bytes cost as much; 3 times as slow as other groups are, less in the bridge."""
    curves = {"numpy_function": lambda n: 3 * (DISPATCH + BRIDGE) + beyond_one(4 * n, per_byte)}
    slow_bridge = {name: 3 * seconds for name, seconds in BRIDGES.items()}
    return Bench({**curves, **slow_bridge}, op=op, sizes=FLOOR_SIZES, **QUIET).frame()


def run(*, extra: float = 0.0, aligned: float = 0.25) -> Any:
    """Return a run of a callback over float32 whose inputs are twice the bytes of its outputs."""
    out = aligned * OUT_ALIGNED + (1 - aligned) * OUT

    def total(n: Any) -> Any:
        return DISPATCH + BRIDGE + BODY + beyond_one(8 * n, IN) + beyond_one(4 * n, out) + extra

    made = run_of(Bench({"numpy_function": total, "native": 1e-5}, sizes=SIZES, **QUIET))
    alone = Bench({**BRIDGES, "numpy_alone": BODY}, sizes=SIZES, **QUIET)
    floors = {"floor_consume": IN, "floor_produce": OUT, "floor_produce_aligned": OUT_ALIGNED}
    frame = pd.concat([alone.frame(), *(floor(op, cost) for op, cost in floors.items())], ignore_index=True)
    crossings = [
        ("pyopbench", "made-up", launch, case.id, 8 * case.size, 4 * case.size, aligned)
        for launch in range(3)
        for case, _ in alone.cases()
        if case.variant == "numpy_alone"
    ]
    parts = dict.fromkeys(("numpy_alone", *BRIDGES), PART)
    costs = Costs(tuple(frame["case"].unique()), (), frame, pd.DataFrame(crossings, columns=list(CROSSING_COLUMNS)))
    catalogue = structs.replace(made.catalogue, parts=parts)
    return SimpleNamespace(**{**vars(made), "costs": costs, "catalogue": catalogue})


def without(made: Any, text: str, failures: tuple[Failure, ...] = (), launches: tuple[int, ...] = (0, 1, 2)) -> Any:
    """Return the run without the samples of parts and floor whose case begins so, in some launches."""
    frame = made.costs.frame
    gone = frame["case"].str.startswith(text) & frame["launch"].isin(launches)
    return SimpleNamespace(**{**vars(made), "costs": replace(made.costs, frame=frame[~gone], failures=failures)})


def test_planted_parts_are_found_between_and_beyond_the_sizes_of_the_floor() -> None:
    """The floor is measured while the machine is three times as slow, which its own bridge takes out."""
    found = splits_of(run(extra=5e-6))
    assert [split.case.split("/")[6] for split in found] == [str(size) for size in SIZES]
    for split, size in zip(found, SIZES, strict=True):
        taken_in, given_out = beyond_one(8 * size, IN), beyond_one(4 * size, 0.25 * OUT_ALIGNED + 0.75 * OUT)
        expected = dict(zip(PARTS, (DISPATCH, BRIDGE, taken_in, given_out, BODY), strict=True))
        assert split.parts == pytest.approx(expected)
        assert split.remainder == pytest.approx(5e-6)
        assert split.predicted == pytest.approx(sum(expected.values()))
        assert split.total == pytest.approx(split.predicted + 5e-6)
        assert (split.launches, split.reason) == (3, None)


@pytest.mark.parametrize("aligned", [0.0, 1.0])
def test_results_that_are_taken_over_cost_what_aligned_ones_do(aligned: float) -> None:
    for split, size in zip(splits_of(run(aligned=aligned)), SIZES, strict=True):
        assert split.bytes_out == pytest.approx(beyond_one(4 * size, OUT_ALIGNED if aligned else OUT))


@pytest.mark.parametrize(
    ("gone", "missing"),
    [
        ("sinh/numpy_alone", ("sinh/numpy_alone/none/forward/call/float32/{size}/cpu",)),
        ("sinh/native_floor", ("sinh/native_floor/none/forward/call/float32/{size}/cpu",)),
        ("sinh/numpy_function_floor", ("sinh/numpy_function_floor/none/forward/call/float32/{size}/cpu",)),
        ("floor_produce/numpy_function/", ("floor_produce", "numpy_function")),
    ],
)
def test_a_missing_piece_gives_a_reason_and_no_number(gone: str, missing: tuple[str, ...]) -> None:
    for split, size in zip(splits_of(without(run(), gone)), SIZES, strict=True):
        assert split.reason == PartMissing(*(name.format(size=size) for name in missing))
        assert split.predicted is None
        assert set(split.parts.values()) == {None}
        assert split.total > DISPATCH


def test_the_reason_is_that_of_the_failure() -> None:
    case = "sinh/numpy_alone/none/forward/call/float32/1000/cpu"
    first, second, _ = splits_of(without(run(), case, (Failure(case, "raised", "ValueError: no", 0),)))
    assert first.reason == PartMissing(case, told="ValueError: no")
    assert second.reason is None


def test_a_part_that_was_found_wrong_in_one_launch_tells_nothing() -> None:
    case = "sinh/numpy_alone/none/forward/call/float32/1000/cpu"
    made = run()
    wrong = replace(made.costs, failures=(Failure(case, "wrong", "values differ", 1),))
    first, *_ = splits_of(SimpleNamespace(**{**vars(made), "costs": wrong}))
    assert first.reason == PartMissing(case, told="values differ")


def test_launches_without_a_piece_are_left_out() -> None:
    assert [split.launches for split in splits_of(without(run(), "sinh/numpy_alone", launches=(1,)))] == [2, 2, 2]


def test_a_run_without_parts_has_no_splits() -> None:
    assert splits_of(run_of(Bench({"numpy_function": 1e-5}))) == ()  # type: ignore[arg-type]


def test_only_forward_calls_of_callbacks_are_told_apart() -> None:
    assert {split.case.split("/")[1] for split in splits_of(run())} == {"numpy_function"}
    eager = run_of(Bench({"numpy_function": 1e-5}, mode="eager", **QUIET))
    made = SimpleNamespace(**{**vars(eager), "costs": run().costs, "catalogue": run().catalogue})
    assert splits_of(made) == ()


def test_parts_do_not_change_what_is_decided() -> None:
    made = run()
    bare = SimpleNamespace(**{**vars(made), "costs": Costs()})
    whole, plain = (judge_run(one, baseline="numpy_function") for one in (made, bare))
    assert whole.decisions == plain.decisions
    assert whole.verdicts == plain.verdicts
    assert whole.latencies.equals(plain.latencies)
    assert len(whole.splits) == 3
    assert plain.splits == ()


@pytest.mark.parametrize(("predicted", "explained"), [(0.86, True), (1.14, True), (0.84, False), (1.16, False)])
def test_within_15_percent_is_explained(predicted: float, explained: bool) -> None:
    assert Split("any", 1.0, predicted=predicted).is_explained is explained


# The section
def judged(made: Any) -> Any:
    return judge_run(made, baseline="numpy_function")


def test_the_section_counts_what_is_predicted_and_lists_what_is_not() -> None:
    blocks = section.build(judged(run(extra=15e-6)))
    assert blocks[1] == Paragraph("The parts predict the measured total within 15% in 2 of 3 cases.")
    caption = "Cases that the parts do not predict"
    (off,) = (block for block in blocks if isinstance(block, Table) and block.caption == caption)
    assert [[str(cell) for cell in row[:3]] for row in off.rows] == [["sinh", "numpy_function", "1k"]]
    assert [str(row[-2]) for row in off.rows] == ["15.0 µs"]


def test_the_section_draws_every_part_as_a_share_of_the_total() -> None:
    chart = next(block for block in section.build(judged(run())) if isinstance(block, Chart))
    rows = chart.spec["datasets"]["rows"]
    assert len(rows) == 5 * len(SIZES)
    for size in SIZES:
        assert sum(row["share"] for row in rows if row["size"] == size) == pytest.approx(1.0)
    assert chart.alt == (
        "Parts of a call of sinh as shares of the measured time. The largest is body for numpy_function at 1k, bytes "
        "in for numpy_function at 2M."
    )


def test_the_section_says_why_a_case_has_no_prediction() -> None:
    blocks = section.build(judged(without(run(), "sinh/numpy_alone")))
    dark = next(block for block in blocks if isinstance(block, Table) and "without a prediction" in block.caption)
    assert len(dark.rows) == 3
    assert not [block for block in blocks if isinstance(block, Chart)]


def test_the_section_says_that_there_are_no_parts() -> None:
    (only,) = section.build(judged(run_of(Bench({"numpy_function": 1e-5}))))
    assert isinstance(only, Paragraph)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.2, "the numpy body takes 20% of the time of today; the rest is overhead of the callback"),
        (0.8, BOUND),
    ],
)
def test_body_share(share: float, said: str) -> None:
    assert BodyShare("sinh", "node", "float32", "cpu", "today", "numpy", share).text() == said


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (BodyNotAlone("numpy"), "the numpy body was not measured separately"),
        (PartMissing("a/b"), "a/b has no number"),
        (PartMissing("a/b", told="ValueError: no"), "a/b has no number: ValueError: no"),
        (PartMissing("floor_produce", "py_func"), "floor_produce of py_func has no number"),
    ],
)
def test_reasons(reason: BodyNotAlone | PartMissing, said: str) -> None:
    assert reason.text() == said
