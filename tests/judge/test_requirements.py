"""What is required of a port, and what was not seen to meet it."""

from __future__ import annotations

import pytest

from pyopbench.judge import requirements
from pyopbench.judge.decision import Answer, Bar, Unknown
from pyopbench.model.case import Failure
from pyopbench.model.errors import BadInput
from required import OP, TODAY, judged, line, run_with


def test_an_unknown_requirement_is_refused_with_the_legal_ones() -> None:
    assert requirements.check(["gpu", "xla", "gpu"]) == ("xla", "gpu")
    with pytest.raises(BadInput) as refused:
        requirements.check(["speed"])
    assert (refused.value.message, refused.value.received) == ("unknown requirement", repr("speed"))
    assert refused.value.legal == "savedmodel, xla, second_order, distributed, tflite, gpu"


@pytest.mark.parametrize("status", ["fails", "does not apply", "silently wrong"])
def test_a_variant_that_does_not_work_is_no_candidate_and_the_report_says_why(status: str) -> None:
    lines = [line("tflite", name) for name in (TODAY, "xla", "numpy_function")]
    found = judged(*lines, line("tflite", "native", status, "no kernel"), requires=("tflite",))
    (decision,), (remark,) = found.decisions, requirements.remarks(found)
    assert decision.choice != "native"
    assert decision.barred == (Bar("native", "tflite", status, "no kernel"),)
    assert all(word in remark for word in ("tflite", "native", OP, "no kernel"))
    assert judged(*lines, line("tflite", "native"), requires=("tflite",)).decisions[0].barred == ()


def test_a_variant_that_works_under_a_condition_is_a_candidate_and_the_report_names_the_condition() -> None:
    lines = [line("savedmodel", name) for name in (TODAY, "xla", "numpy_function")]
    found = judged(*lines, line("savedmodel", "native", reason="where it rains"), requires=("savedmodel",))
    assert found.decisions[0].barred == ()
    assert requirements.remarks(found) == (f"savedmodel works with native of {OP} where it rains",)


def test_a_callback_that_cannot_stay_gives_way_to_what_is_slower() -> None:
    """Native takes twice the time and is the only one that XLA can compile."""
    curves = {TODAY: 1e-4, "native": 2e-4, "numpy_function": 5e-5}
    lines = [line("xla", TODAY, "fails", "no"), line("xla", "numpy_function", "fails", "no"), line("xla", "native")]
    (free,) = judged(*lines, requires=(), curves=curves).decisions
    assert free.answer == Answer("switch", "numpy_function")
    (bound,) = judged(*lines, requires=("xla",), curves=curves).decisions
    assert bound.answer == Answer("port", "native")
    assert bound.saved == pytest.approx(-1.0, rel=0.05)
    assert [one.split(" does not")[0] for one in bound.caveats] == [TODAY]


def test_where_nothing_is_left_the_answer_is_open() -> None:
    curves = {TODAY: 1e-4, "native": 2e-5}
    (decision,) = judged(
        *(line("xla", one, "fails", "no") for one in curves), requires=("xla",), curves=curves
    ).decisions
    assert (decision.action, decision.saved) == ("undecided", None)
    assert decision.barred == tuple(Bar(name, "xla", "fails", "no") for name in curves)
    assert decision.reason.kind == "none_meets_requirements"


def test_a_gradient_is_answered_for_only_by_itself() -> None:
    lines = line("second_order", "py_func", "fails"), line("xla", "py_func", "fails")
    found = requirements.findings_on(run_with(*lines), OP, "py_func+override_map", ["xla", "second_order"])
    assert isinstance(found["xla"], Bar)
    assert found["second_order"] is None


def test_what_was_not_tried_is_unknown_and_no_candidate() -> None:
    (decision,) = judged(line("xla", TODAY), line("xla", "native", op="log"), requires=("xla",)).decisions
    assert decision.answer == Answer("undecided", None)
    assert (decision.reason.kind, decision.barred) == ("none_meets_requirements", ())
    assert decision.unknown == (Unknown("xla", ("native", "numpy_function", "xla")),)


@pytest.mark.parametrize("status", [None, "does not apply"])
def test_a_callback_that_was_not_seen_to_do_it_is_not_kept(status: str | None) -> None:
    """Native is slower; that the callback can do it is not known, so that to keep it would be a guess."""
    curves = {TODAY: 1e-4, "native": 2e-4}
    lines = [line("xla", "native"), *([line("xla", TODAY, status, "nothing to try")] if status else [])]
    assert judged(*lines, requires=(), curves=curves).decisions[0].action == "keep"
    (decision,) = judged(*lines, requires=("xla",), curves=curves).decisions
    assert decision.answer == Answer("port", "native")
    assert [one.split(" does not")[0] for one in decision.caveats] == [TODAY]


def on_a_gpu(run, label):
    return requirements.findings_on(run, OP, label, ["gpu"])["gpu"]


def test_gpu_is_met_by_what_was_measured_on_one() -> None:
    here = run_with()
    frame = here.frame.assign(case=here.frame["case"].str.replace("/cpu", "/gpu"))
    on_gpu = run_with(cases=tuple(case.replace("/cpu", "/gpu") for case in here.cases), frame=frame)
    assert on_gpu.cases != here.cases
    assert on_a_gpu(on_gpu, "native") == "met"
    assert on_a_gpu(here, "native") is None
    assert on_a_gpu(run_with(cases=on_gpu.cases), "native") is None  # not reached
    assert on_a_gpu(on_gpu, TODAY) == Bar(TODAY, "gpu", "fails", "its Python runs on the host")
    assert on_a_gpu(on_gpu, "numba_op") == Bar("numba_op", "gpu", "fails", "Numba compiles it for the host")
    native = next(case for case in on_gpu.cases if "/native/" in case)
    failed = run_with(cases=on_gpu.cases, failures=(Failure(native, "unsupported", "no kernel"),))
    assert on_a_gpu(failed, "native") == Bar("native", "gpu", "fails", "no kernel")
