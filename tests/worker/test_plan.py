"""Every combination of ops, variants and axes is a case, or a skip that says why."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import tensorflow as tf

from pyopbench.model.case import DIRECTIONS, Axes, Case
from pyopbench.model.op import Op, Own
from pyopbench.model.variant import Variant
from pyopbench.ops.load import load_ops, load_parts, load_variants
from pyopbench.worker.plan import make_plan, plan_parts
from small_ops import square

ONE = Axes(sizes=(3,), directions=("backward",), modes=("call",))


@pytest.fixture(scope="module")
def variants() -> dict[str, Variant]:
    return load_variants()


def plan_of(variants: dict[str, Variant], axes: Axes = ONE, **changes: Any) -> tuple[list[str], dict[str, str]]:
    """Return the ids of the cases, and the reasons of the skips by id, of the op `made` with `changes`."""
    plan = make_plan(axes, {"made": square(**changes)}, variants)
    assert all((skip.status, skip.launch) == ("unsupported", None) for skip in plan.skips)
    reasons = {skip.case: skip.reason for skip in plan.skips}
    assert len(reasons) == len(plan.skips)
    return [case.id for case in plan.cases], reasons


def reason(variants: dict[str, Variant], variant: str, axes: Axes = ONE, **changes: Any) -> str:
    """Return the reason of the only combination, which has to be a skip."""
    cases, reasons = plan_of(variants, replace(axes, variants=(variant,)), **changes)
    assert cases == []
    (only,) = reasons.values()
    return only


def test_every_combination_is_a_case_or_a_skip_exactly_once(variants: dict[str, Variant]) -> None:
    """All axes at once, counted by hand: forward has one gradient, the other directions those of the variant."""
    ops = {"plain": square(name="plain"), "bare": square(name="bare", tensor=None, differentiable=(), sizes=(3,))}
    axes = Axes(
        directions=DIRECTIONS,
        modes=("eager", "call"),
        dtypes=("float32", "float64"),
        sizes=(3, 4),
        gradients=("all",),
        placements=("cpu", "gpu"),
    )
    plan = make_plan(axes, ops, variants)
    planned = Counter([*(case.id for case in plan.cases), *(skip.case for skip in plan.skips)])
    named = {name: variant for name, variant in variants.items() if variant.is_usual}
    expected = {
        f"{op}/{name}/{gradient}/{direction}/{mode}/{dtype}/{size}/{placement}"
        for op, mode, dtype, size, placement in itertools.product(
            ops, axes.modes, axes.dtypes, axes.sizes, axes.placements
        )
        for name, variant in named.items()
        for direction in axes.directions
        for gradient in (("none",) if direction == "forward" else variant.gradients)
    }
    assert set(planned) == expected
    assert set(planned.values()) == {1}
    assert all(skip.reason for skip in plan.skips)
    assert len(plan.cases) > 50


def test_an_own_op_without_a_gradient_is_not_timed_backward(variants: dict[str, Variant]) -> None:
    own = square(own=Own(), numpy_gradient=None, tensor_gradient=None)
    plan = make_plan(replace(ONE, ops=("made",)), {"made": own}, variants)
    assert not plan.cases
    assert {skip.reason for skip in plan.skips if skip.case.split("/")[1] == "native"} == {
        "your op has no gradient to compare with; gradients of ports are still checked"
    }


def test_a_py_function_body_is_behind_no_other_bridge(variants: dict[str, Variant]) -> None:
    own = square(own=Own(py_function=tf.square))
    plan = make_plan(Axes(ops=("made",), directions=("forward",)), {"made": own}, variants)
    assert {case.variant for case in plan.cases if variants[case.variant].body == "numpy"} == {"py_function_numpy"}


def test_sizes_that_are_not_there_are_refused(variants: dict[str, Variant]) -> None:
    own = square(sizes=(3, 5), dtypes=("float32",), own=Own(fixed_sizes=True))
    plan = make_plan(
        Axes(ops=("made",), variants=("native",), sizes=(4, 5), directions=("forward",)), {"made": own}, variants
    )
    assert [case.size for case in plan.cases] == [5]
    assert [skip.reason for skip in plan.skips] == ["the op has these sizes only: 3, 5"]


def gradients_planned(variants: dict[str, Variant], variant: str, axes: Axes) -> list[str]:
    cases, _ = plan_of(variants, replace(axes, variants=(variant,)))
    return [key.split("/")[2] for key in cases]


def test_the_usual_gradient_is_the_first_that_works_in_the_mode(variants: dict[str, Variant]) -> None:
    """One that works in no mode of the case is kept, so that its skip says why."""
    swapped = {"py_func": replace(variants["py_func"], gradients=("override_map", "custom_gradient"))}
    assert gradients_planned(swapped, "py_func", ONE) == ["override_map"]
    eager = replace(ONE, modes=("eager",))
    assert gradients_planned(swapped, "py_func", eager) == ["custom_gradient"]
    only = {"py_func": replace(variants["py_func"], gradients=("override_map",))}
    assert reason(only, "py_func", eager) == "override_map does not work in mode eager; it works in call"


# The reasons


@pytest.mark.parametrize(
    ("variant", "axes", "changes"),
    [
        ("autograph", {}, {}),
        ("native", {}, {"tensor": None}),
        ("native", {}, {"dtypes": ("float64",)}),
        ("native", {}, {"differentiable": ()}),
        ("native", {}, {"sizes": (1,)}),
        ("native", {"placements": ("simgpu",)}, {}),
        ("native", {"gradients": ("tape",)}, {}),
        ("native", {"gradients": ("none",)}, {}),
        ("native", {"modes": ("node",), "directions": ("forward",), "placements": ("gpu",)}, {}),
        ("native", {"modes": ("eager",), "directions": ("forward",), "placements": ("gpu",)}, {}),
        ("xla", {"modes": ("eager",)}, {}),
        ("py_func", {"modes": ("eager",), "gradients": ("defun",)}, {}),
        ("py_func", {}, {"numpy_gradient": None}),
        ("py_func", {"gradients": ("override_map_ops",)}, {"tensor_gradient": None}),
        ("py_function", {"gradients": ("custom_gradient",)}, {"tensor_gradient": None}),
    ],
)
def test_what_cannot_be_is_a_skip_with_a_reason(
    variants: dict[str, Variant], variant: str, axes: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert reason(variants, variant, replace(ONE, **axes), **changes)


def test_an_own_op_has_one_reason_for_all_variants_of_bodies_that_it_does_not_bring(
    variants: dict[str, Variant],
) -> None:
    bare = {"own": Own(), "tensor": None, "tensor_gradient": None}
    _, reasons = plan_of(variants, replace(ONE, variants=("autograph", "native", "custom_op", "xla")), **bare)
    assert len({*reasons.values()}) == 1
    of_py_function = {**bare, "own": Own(py_function=tf.square, tried=frozenset({"tensor"})), "tensor": tf.square}
    names = ("numpy_function", "traced", "autograph", "numba_op")
    _, reasons = plan_of(variants, replace(ONE, variants=names), **of_py_function)
    assert len({*reasons.values()}) == 1


def test_a_backward_pass_inside_a_graph_is_no_case(variants: dict[str, Variant]) -> None:
    node = replace(ONE, modes=("node",), variants=("native",), gradients=("all",))
    cases, reasons = plan_of(variants, replace(node, directions=("forward", "backward", "forward_backward")))
    assert {key.split("/")[3] for key in cases} == {"forward", "forward_backward"}
    assert [(key.split("/")[3], why) for key, why in reasons.items()] == [
        (
            "backward",
            ("mode node has only forward and forward_backward, because backward cannot be timed alone inside a graph"),
        )
    ]


def test_says_that_a_body_is_too_slow_for_a_size(variants: dict[str, Variant]) -> None:
    """The bodies that are not slow are measured there all the same."""
    axes = replace(ONE, sizes=(1000, 1001), variants=("native", "traced"))
    cases, reasons = plan_of(variants, axes, largest={"numpy": 1000})
    assert cases == [
        f"made/{key}/cpu"
        for key in (
            "native/autodiff/backward/call/float32/1000",
            "traced/autodiff/backward/call/float32/1000",
            "native/autodiff/backward/call/float32/1001",
        )
    ]
    assert list(reasons.values()) == ["the numpy body is limited to 1,000 elements, because it is slow by design"]


def test_the_usual_mechanism_gives_way_to_the_next_where_it_cannot_be() -> None:
    """py_function's own gradient fails beside an output of whole numbers, so that op is trained with the next one."""
    ops = ("sparse_conv_q", "sinh")
    axes = Axes(ops, ("py_function",), directions=("backward",), modes=("call",), quick=True)
    made = make_plan(axes, load_ops(), load_variants())
    assert {(case.op, case.gradient) for case in made.cases} == {("sparse_conv_q", "custom_gradient"), ("sinh", "tape")}
    assert not made.skips


# What is measured beside callbacks


def beside(variants: dict[str, Variant], axes: Axes) -> set[str]:
    plan = make_plan(axes, {"made": square()}, variants)
    found = plan_parts(plan.cases, variants, load_parts())
    assert len(set(found)) == len(found)
    return {f"{case.op}/{case.variant}/{case.size}" for case in found}


FORWARD = Axes(sizes=(3,), directions=("forward",), modes=("call",))


def test_a_callback_brings_its_body(variants: dict[str, Variant]) -> None:
    assert beside(variants, replace(FORWARD, variants=("numpy_function", "native"))) == {"made/numpy_alone/3"}


# The usual mode


def test_by_default_an_op_is_measured_inside_a_graph_forward_and_trained(variants: dict[str, Variant]) -> None:
    cases, reasons = plan_of(variants, Axes(variants=("native",), sizes=(3,)))
    assert cases == [
        "made/native/none/forward/node/float32/3/cpu",
        "made/native/autodiff/forward_backward/node/float32/3/cpu",
    ]
    assert reasons == {}, "that there is no backward in a graph is said to who asks for it"


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        (Axes(placements=("gpu",)), {("call", one) for one in DIRECTIONS}),
        (
            Axes(placements=("cpu", "gpu")),
            {("node", "forward"), ("node", "forward_backward"), *(("call", one) for one in DIRECTIONS)},
        ),
        (Axes(modes=("call",)), {("call", one) for one in DIRECTIONS}),
        (Axes(modes=("eager", "node"), directions=("forward",)), {("eager", "forward"), ("node", "forward")}),
    ],
)
def test_modes_and_directions_that_are_not_asked_for(
    variants: dict[str, Variant], axes: Axes, expected: set[tuple[str, str]]
) -> None:
    plan = make_plan(replace(axes, variants=("native",), sizes=(3,)), {"made": square()}, variants)
    assert {(case.mode, case.direction) for case in plan.cases} == expected
    assert not plan.skips


def test_what_is_measured_on_a_gpu_is_measured_on_the_cpu_beside_it(variants: dict[str, Variant]) -> None:
    """In mode call; and the CPU has mode node, which a run on it alone has."""
    axes = Axes(placements=("gpu", "cpu"), variants=("native", "numpy_function"), sizes=(3,))
    plan = make_plan(axes, {"made": square()}, variants)
    on_gpu, on_cpu = ({case for case in plan.cases if case.placement == one} for one in ("gpu", "cpu"))
    assert {case.mode for case in on_gpu} == {"call"}
    assert {replace(case, placement="cpu") for case in on_gpu} == {case for case in on_cpu if case.mode == "call"}
    alone = make_plan(replace(axes, placements=("cpu",)), {"made": square()}, variants)
    assert set(alone.cases) == {case for case in on_cpu if case.mode == "node"}


def node_beside(variants: dict[str, Variant], parts: dict[str, Variant], *names: str) -> list[str]:
    plan = make_plan(Axes(variants=names, sizes=(3,)), {"made": square()}, variants)
    return [case.id for case in plan_parts(plan.cases, variants, parts)]


EMPTY_GRAPHS = [
    f"made/empty_graph/none/{direction}/node/float32/3/cpu" for direction in ("forward", "forward_backward")
]


def test_every_group_of_graphs_has_one_empty_graph_also_without_parts(variants: dict[str, Variant]) -> None:
    assert node_beside(variants, {}, "native", "numpy_function") == EMPTY_GRAPHS


def in_use(op: Op, variants: dict[str, Variant], callback: str) -> set[str]:
    """Return the variants that a gate plans for one op."""
    plan = make_plan(Axes(ops=(op.name,), sizes=(op.sizes[0],), in_use=callback), {op.name: op}, variants)
    return {Case.from_id(key.id).variant for key in plan.cases}


def test_a_gate_plans_the_current_callback_and_the_easiest_port(variants: dict[str, Variant]) -> None:
    op = load_ops()["sinh"]
    found = in_use(op, variants, "py_function_numpy")
    ports = {name for name in found if variants[name].is_port}
    assert found - ports == {"py_function_numpy"}
    (port,) = ports
    written = [one for one in variants.values() if one.is_port and one.role == "candidate"]
    assert variants[port].effort == min(one.effort for one in written if getattr(op, one.body) is not None)


def test_a_callback_that_the_op_cannot_have_is_replaced_by_its_own(variants: dict[str, Variant]) -> None:
    op = replace(load_ops()["sinh"], numpy=None, numpy_gradient=None)
    callbacks = {name for name in in_use(op, variants, "numpy_function") if variants[name].is_callback}
    assert len(callbacks) == 1
    assert "numpy_function" not in callbacks


def test_the_body_of_a_py_function_stays_behind_its_bridge(variants: dict[str, Variant]) -> None:
    own = square(own=Own(py_function=tf.square))
    callbacks = {name for name in in_use(own, variants, "numpy_function") if variants[name].is_callback}
    assert callbacks == {"py_function_numpy"}
