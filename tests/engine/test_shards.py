"""A plan is divided into the same shards everywhere: whole units, each once, of about equal cost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

import stored
from pyopbench.engine import plan as shards
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.store.types import Plan, Side, unit_of

OPS = ("sinh", "cube", "relu", "log", "double")
CASES = [
    Case(op, variant, "none", "forward", mode, "float32", size).id
    for op in OPS
    for mode in ("call", "node")
    for size in ((1, 10, 100) if op == "sinh" else (1, 10))
    for variant in ("py_function_numpy", "native")
]


def plan(*sides: list[str], settings: dict[str, Any] | None = None, **changes: Any) -> Plan:
    """Return a plan, with the cases of each of its sides; of all if none are named."""
    how = {**to_builtins(shards.QUICK), **(settings or {})}
    skips = [stored.failure(stored.case("xla", "skipped"), "unsupported", None)]
    content = {**stored.run(CASES, settings=how, skips=skips), **changes}
    return stored.typed(stored.nested(content, *({"cases": cases} for cases in sides or (CASES,))))


def divided(of: int, whole: Plan | None = None) -> list[list[Side]]:
    """Return what each shard is to measure, its sides."""
    whole = plan() if whole is None else whole
    return [shards.narrow_to_shard(whole.sides, whole.settings, (index, of))[0] for index in range(1, of + 1)]


def hash_of(whole: Plan, of: int = 4, index: int = 1) -> str:
    shard = shards.narrow_to_shard(whole.sides, whole.settings, (index, of))[1]
    assert shard is not None
    return shard.plan


@pytest.mark.parametrize("of", [1, 2, 4, 10])
def test_every_case_and_every_skip_is_in_one_shard(of: int) -> None:
    every = [one[0] for one in divided(of)]
    assert sorted(key for one in every for key in one.cases) == sorted(CASES)
    assert [skip.case for one in every for skip in one.skips] == [stored.case("xla", "skipped")]


def test_what_is_compared_stays_together() -> None:
    """A decision takes launches that have all sizes of a mix, and ratios are of one group."""
    homes: dict[str, set[int]] = {}
    for index, (one,) in enumerate(divided(4)):
        for key in one.cases:
            homes.setdefault(unit_of(Case.from_id(key)), set()).add(index)
    assert len(homes) == 10
    assert all(len(places) == 1 for places in homes.values())


def test_an_op_on_the_cpu_and_on_a_gpu_stays_together() -> None:
    """Where it should run is answered on one machine."""
    ops = [f"op{number}" for number in range(6)]
    placed = {place: [stored.case("native", op, placement=place) for op in ops] for place in ("cpu", "gpu")}
    for (one,) in divided(3, plan([*placed["cpu"], *placed["gpu"]])):
        found = [Case.from_id(key) for key in one.cases]
        assert len(found) == 4
        assert Counter(case.op for case in found) == {case.op: 2 for case in found}


def test_the_plan_is_the_same_in_every_shard_and_another_where_anything_of_it_is() -> None:
    (same,) = {hash_of(plan(), index=index) for index in range(1, 5)}
    others = [
        hash_of(plan(), of=2),
        hash_of(plan(settings={"seed": 1})),
        hash_of(plan(settings={"rounds": 3})),
        hash_of(plan(CASES[1:])),
        hash_of(plan(own={"sinh": {"words": ["a.py"], "fingerprint": "1"}})),
    ]
    assert len({same, *others}) == 6
    elsewhere = hash_of(plan(own={"sinh": {"words": ["/home/b.py"], "fingerprint": "1"}}))
    assert elsewhere == others[-1], "where an op lies is no part of the plan"


@given(st.dictionaries(st.text(min_size=1), st.integers(0, 1000), min_size=1, max_size=40), st.integers(1, 12))
def test_parts_are_balanced(costs: dict[str, int], many: int) -> None:
    """The last unit of the fullest part went where there was least, so no part has more than that above another."""
    parts = shards.balance(costs, many, seed=0)
    assert sorted(unit for part in parts for unit in part) == sorted(costs)
    loads = [sum(costs[unit] for unit in part) for part in parts]
    assert max(loads) - min(loads) <= max(costs.values())


def test_seeds_draw_which_of_equal_units_go_where() -> None:
    costs = dict.fromkeys("abcdefghij", 1)
    assert shards.balance(costs, 3, seed=0) == shards.balance(costs, 3, seed=0)
    assert shards.balance(costs, 3, seed=0) != shards.balance(costs, 3, seed=1)


def test_a_pass_counts_once_for_each_version() -> None:
    """Backward comes with forward+backward, in one timed pass."""
    both = [stored.case("native", gradient="autodiff", direction=name) for name in ("backward", "forward_backward")]
    costs = shards.costs_of(plan(both, [*both, stored.case("native")]).sides)
    assert costs == {"double/call/float32": 3, "skipped/call/float32": 0}


def test_more_shards_than_units_are_refused_with_what_would_do() -> None:
    with pytest.raises(BadInput) as refused:
        divided(12)
    assert refused.value.hint.endswith("/10")
