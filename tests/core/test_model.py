"""The nouns: ids of cases and their groups, what ops and variants are, dtypes of outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyopbench.core.errors import BadInput
from pyopbench.core.model import DIRECTIONS, DTYPES, MODES, ROLES, Case, Op, Own, Role, Variant

names = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1)
cases = st.builds(
    Case,
    op=names,
    variant=names,
    gradient=names,
    direction=st.sampled_from(DIRECTIONS),
    mode=st.sampled_from(MODES),
    dtype=st.sampled_from(DTYPES),
    size=st.integers(1, 10**15),
    placement=names,
)
CASE = Case("sinh", "native", "autodiff", "backward", "call", "float32", 1000)


@given(cases)
def test_a_case_is_read_back_from_its_id(case: Case) -> None:
    assert Case.from_id(case.id) == case


@given(st.text(st.sampled_from("ab/01²٣ .-"), max_size=30))
def test_any_text_is_the_id_that_it_reads_as_or_refused(text: str) -> None:
    try:
        case = Case.from_id(text)
    except BadInput:
        return
    assert case.id == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sinh",
        "a/b/c/d/e/f/1",
        "a/b/c/d/e/f/1/cpu/more",
        "a/b/c/d/e/f/x/cpu",
        "a/b/c/d/e/f/²/cpu",
        "a/b/c/d/e/f/-1/cpu",
        "a/b/c/d/e/f/0/cpu",
        "a/b/c/d/e/f/01/cpu",
        "a//c/d/e/f/1/cpu",
        f"a/b/c/d/e/f/{'9' * 5000}/cpu",
    ],
)
def test_what_is_no_id_is_refused_with_the_form_of_one(text: str) -> None:
    with pytest.raises(BadInput, match="op/variant/gradient/direction/mode/dtype/size/placement"):
        Case.from_id(text)


def test_the_id_is_the_documented_one() -> None:
    assert CASE.id == "sinh/native/autodiff/backward/call/float32/1000/cpu"


def test_variants_and_gradients_share_a_group() -> None:
    assert CASE.group == "sinh/gradient/call/float32/1000/cpu"
    assert replace(CASE, variant="xla", gradient="tape").group == CASE.group


def test_backward_and_forward_backward_share_a_group() -> None:
    assert replace(CASE, direction="forward_backward").group == CASE.group


@pytest.mark.parametrize(
    "other",
    [
        {"op": "cube"},
        {"direction": "forward"},
        {"mode": "eager"},
        {"dtype": "float64"},
        {"size": 1},
        {"placement": "gpu"},
    ],
)
def test_all_else_tells_groups_apart(other: dict[str, object]) -> None:
    assert replace(CASE, **other).group != CASE.group  # type: ignore[arg-type]


def op(*outputs: str) -> Op:
    return Op(
        name="made_up",
        summary="",
        source="",
        make_inputs=lambda size, dtype, rng: (np.ones(size, dtype),),
        numpy=lambda x: x,
        sizes=(1,),
        quick_sizes=(1,),
        bytes_moved=lambda size, dtype: 0,
        flops=lambda size: 0,
        outputs=outputs,
    )


def test_outputs_of_the_dtype_of_the_case_take_it() -> None:
    assert op("dtype", "int64", "float32").output_dtypes("float64") == ("float64", "int64", "float32")


def test_a_gradient_flows_through_floating_outputs_only() -> None:
    assert op("int64", "dtype", "bool", "float32").floating_outputs == (1, 3)


# Ops of a user's own


OWN_OPS = {
    "of the catalogue": None,
    "with a NumPy body": Own(),
    "with examples": Own(fixed_sizes=True),
    "with a py_function body": Own(py_function=abs, tried=frozenset({"tensor"})),
}


@pytest.mark.parametrize(
    ("kind", "is_own", "py_function", "tried"),
    [
        ("of the catalogue", False, None, []),
        ("with a NumPy body", True, None, []),
        ("with a py_function body", True, abs, ["tensor"]),
    ],
)
def test_an_op_says_who_brings_it_and_which_bodies_nobody_wrote(
    kind: str, is_own: bool, py_function: object, tried: list[str]
) -> None:
    op = made_op(own=OWN_OPS[kind])
    assert (op.is_own, op.py_function) == (is_own, py_function)
    assert [body for body in ("numpy", "tensor", "python") if op.is_tried(body)] == tried


def test_ports_of_an_own_op_are_made_from_the_body_that_there_is() -> None:
    assert Own().ported == ("numpy",)
    assert Own(py_function=abs, tried=frozenset({"tensor", "python"})).ported == ("python", "tensor")
    assert Own(py_function=abs).ported == ()


@pytest.mark.parametrize(
    ("kind", "sizes", "exists"),
    [
        ("of the catalogue", (3, 5), True),
        ("of the catalogue", (3,), False),
        ("with a NumPy body", (3, 5), True),
        ("with examples", (3, 5), False),
    ],
)
def test_an_op_of_one_size_or_of_examples_exists_at_its_own_sizes_only(
    kind: str, sizes: tuple[int, ...], exists: bool
) -> None:
    op = made_op(own=OWN_OPS[kind], sizes=sizes)
    assert op.exists_at(3)
    assert op.exists_at(4) is exists


@pytest.mark.parametrize(
    ("fields", "has", "lacks"),
    [
        ({"own": None}, True, False),  # an op of the catalogue says it by its `numpy_gradient`, or is wrong
        ({"own": Own()}, False, True),
        ({"own": Own(), "numpy_gradient": abs}, True, False),
        ({"own": Own(), "tensor_gradient": abs}, True, False),
        ({"own": Own(py_function=abs)}, True, False),  # its tape
        ({"own": Own(), "differentiable": ()}, False, False),
        ({"own": None, "differentiable": ()}, False, False),
    ],
)
def test_only_an_own_op_can_be_differentiable_and_say_no_gradient(
    fields: dict[str, Any], has: bool, lacks: bool
) -> None:
    op = made_op(**fields)
    assert (op.has_gradient, op.lacks_gradient) == (has, lacks)


# Variants


QUESTIONS = ("is_callback", "is_part", "is_usual", "is_attempt", "has_parts", "runs_python")


@pytest.mark.parametrize(
    ("role", "answers"),
    [
        ("candidate", {"is_callback", "is_usual", "has_parts", "runs_python"}),
        ("attempt", {"is_callback", "is_usual", "is_attempt"}),
        ("own_attempt", {"is_callback", "is_attempt"}),
        ("by_name", {"is_callback", "has_parts", "runs_python"}),
        ("control", {"is_callback", "has_parts", "runs_python"}),
        ("body_alone", {"is_part"}),
        ("floor", {"is_part"}),
    ],
)
def test_the_role_of_a_callback_answers_each_question(role: Any, answers: set[str]) -> None:
    variant = made_variant(role=role)
    assert {question for question in QUESTIONS if getattr(variant, question)} == answers
    assert not variant.is_port
    port = replace(variant, kind="port")
    assert port.is_port is not port.is_part
    assert not any((port.is_callback, port.has_parts, port.runs_python))


def test_there_is_a_role_for_each_line_above() -> None:
    roles = {"candidate", "attempt", "own_attempt", "by_name", "control", "body_alone", "floor"}
    assert set(ROLES) == roles == set(get_args(Role))


def test_an_attempt_for_own_ops_is_measured_for_those_alone_and_the_usual_for_all() -> None:
    ops = [made_op(), made_op(own=Own())]
    measured = {role: [made_variant(role=role).is_usual_for(op) for op in ops] for role in ROLES}
    assert measured == {
        "candidate": [True, True],
        "attempt": [True, True],
        "own_attempt": [False, True],
        "by_name": [False, False],
        "control": [False, False],
        "body_alone": [False, False],
        "floor": [False, False],
    }


def test_a_body_that_nobody_wrote_makes_an_attempt_of_whatever_needs_it() -> None:
    op = made_op(own=OWN_OPS["with a py_function body"])
    assert made_variant(body="tensor").is_attempt_for(op)
    assert not made_variant(body="numpy").is_attempt_for(op)
    assert not made_variant(body="tensor").is_attempt_for(made_op())
    assert made_variant(body="numpy", role="attempt").is_attempt_for(made_op())


def test_a_body_that_numba_compiled_runs_without_the_interpreter() -> None:
    variant = made_variant(body="numba")
    assert (variant.has_parts, variant.runs_python) == (True, False)


@pytest.mark.parametrize(
    ("fields", "what", "legal"),
    [
        ({"role": "by-name"}, "role", "by_name"),
        ({"kind": "part"}, "kind", "callback or port"),
        ({"role": "candidate", "stretch": 0.1}, "stretch", "control"),
        ({"role": "floor", "op": None}, "op", "floor"),
        ({"role": "control", "op": "made"}, "op", "None"),
    ],
)
def test_a_variant_that_no_question_fits_is_refused(fields: dict[str, Any], what: str, legal: str) -> None:
    with pytest.raises(BadInput, match=f"the variant made has a {what} that it cannot have") as error:
        made_variant(**fields)
    assert legal in str(error.value.legal)


def made_op(**fields: Any) -> Op:
    given = {"sizes": (3, 5), "quick_sizes": (3,), "bytes_moved": None, "flops": None, **fields}
    return Op("made", "", "", lambda size, dtype, rng: (), abs, **given)


def made_variant(**fields: Any) -> Variant:
    usual = {"body": "numpy", "kind": "callback", "role": "candidate"}
    given: dict[str, Any] = {**usual, **({"op": made_op()} if fields.get("role") == "floor" else {}), **fields}
    return Variant("made", "", effort=0, build=lambda op, case: abs, gradients=(), **given)
