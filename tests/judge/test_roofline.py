"""How near calls come to what the machine can do."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, Literal, get_args

import pytest
from msgspec import structs

import stored
from frames import Bench, run_of
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.judge.roofline import BRIEF, Bandwidth, Beyond, Bound, Limits, beyond_text, bounds_of, limits_of, nearest
from pyopbench.store.line_types import LimitsLine
from pyopbench.store.run_json import UNKNOWN_OP, OpFacts

LIMITS = Limits((Bandwidth(2**20, 4e9, 2e9), Bandwidth(2**24, 0.5e9, 1e9)), {"float32": 1e9, "float64": 1.25e8}, 3)
TODAY = "py_function_numpy"
QUIET: dict[str, Any] = {"within": 0.0, "between": 0.0, "launches": 3, "rounds": 2}
SIZES = (1_000, 100_000)


def limits_line(launch: int, reason: str = "", **changes: Any) -> LimitsLine:
    line = stored.typed_line(stored.limits_line(launch, reason, **changes))
    assert isinstance(line, LimitsLine)
    return line


def judged(*lines: LimitsLine, **changes: Any) -> Judgement:
    """Judge sinh, which moves 8 bytes and does one operation for each element of float32, 16 bytes in float64."""
    curves = {TODAY: {1_000: 1e-4, 100_000: 2e-3}, "native": {1_000: 2e-5, 100_000: 1e-3}}
    run = run_of(Bench(curves, sizes=SIZES, **{**QUIET, **changes}))
    return judge_run(SimpleNamespace(**{**vars(run), "limits": lines}))  # type: ignore[arg-type]


def bounds(limits: Limits | None = LIMITS, ops: dict[str, OpFacts] | None = None, **changes: Any) -> tuple[Bound, ...]:
    made = judged(**changes)
    return bounds_of(made.latencies, made.run.catalogue.ops if ops is None else ops, limits)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, 4e9),
        (2**20, 4e9),
        (2**21, 4e9 / 4**0.25),
        (2**22, 2e9),
        (2**24, 1e9),
        (2**40, 1e9),
    ],
)
def test_bandwidth_is_interpolated_on_logarithms_and_held_at_the_ends(count: int, expected: float) -> None:
    """The faster kernel counts: copies at a mebibyte, triads at 16."""
    assert LIMITS.bandwidth(count) == pytest.approx(expected)


def test_a_case_that_moves_much_is_bound_by_memory() -> None:
    """100,000 elements of 8 bytes at 4e9 bytes per second take 200 us, their operations 100 us."""
    found = {bound.case: bound for bound in bounds()}
    bound = found["sinh/native/none/forward/call/float32/100000/cpu"]
    assert bound.limit == "memory"
    assert bound.seconds == pytest.approx(2e-4)
    assert bound.latency == pytest.approx(1e-3)
    assert bound.share == pytest.approx(0.2)


def test_a_case_that_computes_much_is_bound_by_arithmetic_of_its_dtype() -> None:
    """100,000 operations take 800 us in float64; 1.6 MB at a little less than 4e9 bytes per second more than 400 us."""
    found = {bound.case: bound for bound in bounds(dtype="float64")}
    bound = found["sinh/native/none/forward/call/float64/100000/cpu"]
    assert bound.limit == "arithmetic"
    assert bound.seconds == pytest.approx(8e-4)
    assert bound.share == pytest.approx(0.8)


def test_every_forward_call_has_its_bound_in_the_order_of_the_latencies() -> None:
    made = judged(limits_line(0))
    assert [bound.case for bound in made.bounds] == list(made.latencies["case"])
    assert len(made.bounds) == 4


@pytest.mark.parametrize("changes", [{"mode": "eager"}, {"directions": ("backward",)}])
def test_nothing_else_has_a_bound(changes: dict[str, Any]) -> None:
    assert bounds(**changes) == ()


def test_what_the_catalogue_does_not_tell_has_no_bound() -> None:
    moved: dict[str, dict[int, int]] = {"float32": {1_000: 8_000}}
    known = structs.replace(UNKNOWN_OP, bytes_moved=moved, flops={1_000: 1_000, 100_000: 100_000})
    assert {bound.case.split("/")[6] for bound in bounds(ops={"sinh": known})} == {"1000"}
    assert bounds(ops={}) == ()
    assert bounds(ops={"sinh": UNKNOWN_OP}) == ()
    assert bounds(Limits(LIMITS.bandwidths, {}, 1)) == ()


def test_an_op_that_moves_and_computes_nothing_is_bound_by_nothing() -> None:
    nothing = dict.fromkeys(SIZES, 0)
    ops = {"sinh": structs.replace(UNKNOWN_OP, bytes_moved={"float32": nothing}, flops=nothing)}
    assert {bound.share for bound in bounds(ops=ops)} == {0.0}


def test_a_limit_is_the_median_over_the_launches_that_have_it() -> None:
    def line(launch: int, copy: float, triad: float, peak: float) -> LimitsLine:
        bandwidths = [{"working_set_bytes": 1024, "copy": copy, "triad": triad}]
        return limits_line(launch, bandwidths=bandwidths, peaks={"float32": peak})

    lines = [line(0, 9.0, 3.0, 5.0), line(1, 1.0, 2.0, 50.0), line(2, 4.0, 8.0, 0.5)]
    lines += [limits_line(3, "OSError: no memory")]
    found = limits_of(SimpleNamespace(limits=lines))  # type: ignore[arg-type]
    assert found == Limits((Bandwidth(1024, 4.0, 3.0),), {"float32": 5.0}, 3)


def test_working_sets_are_sorted_and_may_be_of_some_launches_only() -> None:
    one, other = stored.BANDWIDTHS
    lines = [limits_line(0, bandwidths=[other, one]), limits_line(1, bandwidths=[{**one, "copy": 6e10}])]
    found = limits_of(SimpleNamespace(limits=lines))  # type: ignore[arg-type]
    assert found is not None
    assert [(each.working_set_bytes, each.copy) for each in found.bandwidths] == [(2**19, 5e10), (2**27, 1e10)]


@pytest.mark.parametrize("lines", [[], [limits_line(0, "OSError: no memory")]])
def test_a_run_without_limits_has_no_bounds(lines: list[LimitsLine]) -> None:
    made = judged(*lines)
    assert made.limits is None
    assert made.bounds == ()


def test_limits_do_not_change_what_is_decided() -> None:
    with_limits, without = judged(limits_line(0)), judged()
    assert with_limits.decisions == without.decisions
    assert with_limits.verdicts == without.verdicts


def test_the_nearest_has_the_largest_share() -> None:
    one, other = Bound("a", 4.0, 2.0, "memory"), Bound("b", 4.0, 3.0, "arithmetic")
    assert nearest([one, other]) is other
    assert math.isclose(nearest([one, other]).share, 0.75)


@pytest.mark.parametrize(
    ("share", "limit", "only_moves", "beyond"),
    [
        (1.2, "memory", True, None),
        (14.59, "memory", True, "handed_on"),
        (1.3, "memory", False, "fewer_bytes"),
        (1.3, "arithmetic", False, "fewer_operations"),
    ],
)
def test_a_share_above_100_percent_has_a_reason(
    share: float, limit: Literal["memory", "arithmetic"], only_moves: bool, beyond: str | None
) -> None:
    assert Bound("x", 1e-3, share * 1e-3, limit, only_moves=only_moves).beyond == beyond


def test_an_op_without_arithmetic_only_moves() -> None:
    ops = judged().run.catalogue.ops
    idle = {name: structs.replace(op, flops=dict.fromkeys(op.flops, 0)) for name, op in ops.items()}
    assert {bound.only_moves for bound in bounds(ops=idle)} == {True}
    assert {bound.only_moves for bound in bounds()} == {False}


def test_every_reason_has_a_clause_and_a_word() -> None:
    assert set(BRIEF) == set(get_args(Beyond))
    clauses = {beyond: beyond_text(beyond) for beyond in BRIEF}
    assert all(clause.startswith("above 100%") for clause in clauses.values())
    assert len(set(clauses.values())) == len(clauses)
