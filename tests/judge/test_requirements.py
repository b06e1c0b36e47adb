"""What is required of a port, and what was not seen to meet it."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

import counted_files
from placement_files import document as counted
from probe_files import document
from probe_files import row as row_of
from pyopbench.judge import requirements
from pyopbench.judge.decision import Bar, BarStatus, Substituted, Unknown
from pyopbench.judge.findings import Answer, BaselineBarred, NoCandidate
from pyopbench.judge.judge import judge_run
from pyopbench.judge.requirements import bar_text, blocks_text, required_text, substituted_text, unknown_text
from pyopbench.model.discover import find_probes
from pyopbench.model.errors import BadInput
from required import TODAY, judged, run_with

OP = "sinh"
"""What all of these runs measured."""

FAST_XLA = {TODAY: 1e-4, "native": 5e-5, "xla": 1e-6}


def row(probe: str, label: str, status: str = "works", told: str = "", op: str | None = OP) -> dict[str, Any]:
    return row_of(probe, label, status, told, op=op)


def test_every_requirement_is_settled_by_a_probe_that_there_is() -> None:
    assert set(requirements.PROBES.values()) <= set(find_probes())


def test_an_unknown_requirement_is_refused_with_the_legal_ones() -> None:
    assert requirements.check(["gpu", "xla", "gpu"]) == ("xla", "gpu")
    with pytest.raises(BadInput) as refused:
        requirements.check(["speed"])
    assert (refused.value.message, refused.value.received) == ("unknown requirement", repr("speed"))
    assert refused.value.legal == "savedmodel, xla, second_order, distributed, tflite, gpu"


def test_what_cannot_is_removed_and_the_probe_is_named() -> None:
    rows = [row("tflite", name) for name in (TODAY, "xla", "numpy_function")]
    found = judged(*rows, row("tflite", "native", "fails", "words of TFLite"), requires=("tflite",))
    (decision,) = found.decisions
    assert decision.choice != "native"
    assert decision.barred == (Bar("native", "tflite", "tflite", "fails", "words of TFLite", OP),)
    assert judged(*rows, row("tflite", "native"), requires=("tflite",)).decisions[0].barred == ()


def test_a_callback_that_cannot_stay_gives_way_to_what_is_slower() -> None:
    """Native takes twice the time and is the only one that XLA can compile."""
    curves = {TODAY: 1e-4, "native": 2e-4, "numpy_function": 5e-5}
    rows = [row("xla", TODAY, "fails", "no"), row("xla", "numpy_function", "fails", "no"), row("xla", "native")]
    (free,) = judged(*rows, requires=(), curves=curves).decisions
    assert (free.answer, free.blocks) == (Answer("switch", "numpy_function"), ("xla",))
    (bound,) = judged(*rows, requires=("xla",), curves=curves).decisions
    assert bound.answer == Answer("port", "native")
    assert bound.saved == pytest.approx(-1.0, rel=0.05)
    assert bound.caveats == (BaselineBarred(TODAY),)
    assert bound.would_change == ()


def test_where_nothing_is_left_the_answer_is_open() -> None:
    curves = {TODAY: 1e-4, "native": 2e-5}
    rows = [row("xla", name, "fails", "no") for name in curves]
    (decision,) = judged(*rows, requires=("xla",), curves=curves).decisions
    assert (decision.action, decision.saved) == ("undecided", None)
    assert decision.barred == tuple(Bar(name, "xla", "xla", "fails", "no", OP) for name in curves)
    assert decision.reason == NoCandidate(TODAY, required=True)


def test_a_fast_callback_that_is_kept_still_says_what_it_blocks() -> None:
    curves = {TODAY: 1e-5, "native": 9e-5}
    rows = [row("savedmodel", TODAY, "fails", "no"), row("second_order", TODAY, "silently wrong", "2 and not 5")]
    (decision,) = judged(*rows, requires=(), curves=curves).decisions
    assert decision.action == "keep"
    assert decision.blocks == ("savedmodel", "second_order")


def test_what_is_silently_wrong_is_barred_and_says_so() -> None:
    run = run_with(row("second_order", "native", "silently wrong", "2 and not 5"))
    bar = Bar("native", "second_order", "second_order", "silently wrong", "2 and not 5", OP)
    assert requirements.standing(run, OP, "native", ["second_order"]).bars == (bar,)


def test_a_gradient_is_answered_for_only_by_its_own_probe() -> None:
    rows = row("second_order", "py_func", "fails"), row("xla", "py_func", "fails")
    found = requirements.standing(run_with(*rows), OP, "py_func+override_map", ["xla", "second_order"])
    assert ([bar.requirement for bar in found.bars], found.unknown) == (["xla"], ("second_order",))


def test_what_was_not_probed_is_unknown_and_no_candidate() -> None:
    (decision,) = judged(row("xla", TODAY), requires=("xla", "gpu")).decisions
    assert decision.answer == Answer("undecided", None)
    assert decision.reason == NoCandidate(TODAY, required=True)
    assert decision.barred == ()
    others = ("native", "numpy_function", "xla")
    assert set(decision.unknown) == {Unknown("xla", others), Unknown("gpu", (TODAY, *others))}
    (without,) = judge_run(run_with(probes=None), requires=("xla",)).decisions
    assert (without.answer, without.unknown) == (Answer("undecided", None), (Unknown("xla", (TODAY, *others)),))


def test_whatever_is_recommended_was_seen_to_do_what_is_required() -> None:
    """The fastest, xla, was not tried; of those that were, native is the one that works."""
    rows = row("tflite", "native"), row("tflite", "numpy_function", "fails", "no")
    (decision,) = judged(*rows, row("tflite", TODAY), requires=("tflite",)).decisions
    assert decision.answer == Answer("port", "native")
    assert judged(*rows, row("tflite", TODAY), requires=()).decisions[0].answer != decision.answer


@pytest.mark.parametrize("today", [(), (row("xla", TODAY, "does not apply", "nothing to try"),)])
def test_a_callback_that_was_not_seen_to_do_it_is_not_kept(today: tuple[dict[str, Any], ...]) -> None:
    """Native is slower; that the callback can do it is not known, so that to keep it would be a guess."""
    curves = {TODAY: 1e-4, "native": 2e-4}
    rows = (row("xla", "native"), *today)
    assert judged(*rows, requires=(), curves=curves).decisions[0].action == "keep"
    (decision,) = judged(*rows, requires=("xla",), curves=curves).decisions
    assert (decision.answer, decision.blocks) == (Answer("port", "native"), ())
    assert decision.caveats == (BaselineBarred(TODAY),)


def test_what_was_probed_on_another_tensorflow_is_not_known_of_this_one() -> None:
    found = document(row("xla", "native"), row("xla", TODAY, "fails", "no"), tensorflow="2.16.2")
    run = run_with(probes=found)
    assert requirements.standing(run, OP, "native", ["xla"]).unknown == ("xla",)
    assert requirements.blocked(run, OP, TODAY) == ()


def test_gpu_is_told_by_where_the_counted_ops_computed() -> None:
    """A Python body computes on the host, native on the device it is pinned to."""
    run = run_with(counted_copies=counted())
    assert requirements.standing(run, OP, "native", ["gpu"]) == requirements.Standing()
    (bar,) = requirements.standing(run, OP, "py_func", ["gpu"]).bars
    assert bar == Bar("py_func", "gpu", "placement", "falls back", "")
    assert requirements.standing(run_with(), OP, "native", ["gpu"]).unknown == ("gpu",)


def test_what_a_simulated_device_refuses_is_unknown_and_what_a_gpu_refuses_is_not_met() -> None:
    """A simulated device has no XLA and few kernels, which says nothing about GPUs."""

    def told(placement: str, **changes: Any) -> requirements.Standing:
        row = counted_files.row(**changes)
        row["case"] = row["case"].replace("simgpu", placement)
        return requirements.standing(run_with(counted_copies=counted(rows=[row])), OP, "native", ["gpu"])

    statuses: tuple[tuple[dict[str, Any], BarStatus, str], ...] = (
        ({"refused": "no compiler"}, "refused", "no compiler"),
        ({"outputs_on": ["host"]}, "falls back", ""),
    )
    for changes, status, words in statuses:
        assert told("simgpu", **changes).unknown == ("gpu",)
        (bar,) = told("gpu", **changes).bars
        assert bar == Bar("native", "gpu", "placement", status, words)


def test_requirements_leave_measurements_alone() -> None:
    free, bound = (judged(row("xla", "native", "fails", "no"), requires=names) for names in ((), ("xla",)))
    assert len(bound.latencies) == len(free.latencies)
    assert bound.verdicts == free.verdicts


def test_what_the_cube_can_is_not_what_the_op_can() -> None:
    """XLA is fastest and compiles the cube, and not this op; native compiles both."""
    cube = [row("xla", name, op=None) for name in ("xla", "native", TODAY)]
    op = [row("xla", "xla", "fails", "no kernel"), row("xla", "native"), row("xla", TODAY)]
    (decision,) = judged(*cube, *op, requires=("xla",), curves=FAST_XLA).decisions
    assert decision.answer == Answer("port", "native")
    assert decision.barred == (Bar("xla", "xla", "xla", "fails", "no kernel", OP),)


def test_what_was_tried_with_another_op_or_the_cube_alone_is_unknown_of_this_one() -> None:
    rows = row("xla", "native", op=None), row("xla", "native", op="log")
    assert requirements.standing(run_with(*rows), OP, "native", ["xla"]).unknown == ("xla",)
    (decision,) = judged(*rows, requires=("xla",)).decisions
    assert decision.answer == Answer("undecided", None)


def test_where_there_is_nothing_to_try_with_the_op_the_cube_counts_and_the_finding_says_so() -> None:
    nothing = row("second_order", "native", "does not apply", "the op has no gradient")
    met = run_with(nothing, row("second_order", "native", op=None))
    found = requirements.standing(met, OP, "native", ["second_order"])
    assert found.is_met
    assert found.substituted == (Substituted("native", "second_order", "the op has no gradient"),)
    barred = run_with(nothing, row("second_order", "native", "fails", "no", op=None))
    (bar,) = requirements.standing(barred, OP, "native", ["second_order"]).bars
    assert bar == Bar("native", "second_order", "second_order", "fails", "no", None)
    assert requirements.standing(run_with(nothing), OP, "native", ["second_order"]).unknown == ("second_order",)
    rows = (nothing, row("second_order", "native", op=None), row("second_order", TODAY, "fails", "no"))
    (decision,) = judged(*rows, requires=("second_order",)).decisions
    assert (decision.answer, decision.substituted) == (Answer("port", "native"), found.substituted)


def test_what_a_callback_blocks_is_seen_with_the_cube_where_its_op_was_not_tried() -> None:
    rows = [row("xla", TODAY, "fails", "no", op=None), row("tflite", TODAY, "fails", "no", op=None)]
    assert requirements.blocked(run_with(*rows), OP, TODAY) == ("xla", "tflite")
    assert requirements.blocked(run_with(*rows, row("xla", TODAY)), OP, TODAY) == ("tflite",)


def test_what_the_current_callback_blocks() -> None:
    assert blocks_text("py_func", ["xla", "tflite"]) == ("py_func does not work with xla and tflite")
    assert blocks_text("py_func", ["gpu"]) == "py_func does not compute on a GPU"


@pytest.mark.parametrize(
    ("status", "told", "seen"),
    [
        ("fails", "no kernel", "no kernel"),
        ("silently wrong", "2 and not 5", "silently wrong: 2 and not 5"),
        ("refused", "no device", "refused: no device"),
        ("falls back", "", "pinned to the device, it computes on the host"),
    ],
)
def test_what_bars_variants(status: BarStatus, told: str, seen: str) -> None:
    bar = Bar("native", "xla", "compiled", status, told)
    with_ops = f"native and traced do not work with xla (probe compiled with sinh and log: {seen})"
    assert bar_text(["native", "traced"], bar, ["sinh", "log"]) == with_ops
    with_cube = f"native and traced do not work with xla (probe compiled with x³ of four numbers: {seen})"
    assert bar_text(["native", "traced"], bar) == with_cube


def test_copies_are_counted_with_no_op_that_could_be_named() -> None:
    bar = Bar("py_func", "gpu", "placement", "falls back", "")
    told = "py_func does not work with gpu (probe placement: pinned to the device, it computes on the host)"
    assert bar_text(["py_func"], bar) == told


def test_what_cannot_be_tried_was_not_seen_to_fail() -> None:
    bar = Bar("njit", "xla", "xla", "does not apply", "a cube has no such body")
    assert bar_text(["njit"], bar) == (
        "njit could not be tried for xla (probe xla with x³ of four numbers: a cube has no such body), so it "
        "is unknown whether it works"
    )


def test_what_is_not_known_and_how_to_find_out() -> None:
    assert unknown_text(Unknown("distributed", ("native", "traced")), ["sinh", "mine"], {"mine"}) == (
        "not recommended, because untested for distributed with sinh and mine: native, traced; run `pyopbench "
        "probe --probe server_other_process --op sinh --op mine --variant native,traced --out RUN/probes.json` "
        "(with the --tf of the run, mine named by its file as in `pyopbench run`) and report again"
    )
    # Variants are counted with whatever op, but those that are tried with own ops alone need one.
    gpu = unknown_text(Unknown("gpu", ("traced",)), ["sinh", "mine"], {"mine"})
    assert shlex.split(gpu.split("`")[1]) == ["pyopbench", "placement", "mine", "--out", "RUN/placement.json"]
    gpu = unknown_text(Unknown("gpu", ("native",)), ["sinh"], set())
    assert shlex.split(gpu.split("`")[1]) == ["pyopbench", "placement", "--out", "RUN/placement.json"]


def test_the_cube_in_place_of_an_op() -> None:
    one = Substituted("native", "second_order", "the op has no gradient")
    assert substituted_text(["native", "traced"], one, ["sinh"]) == (
        "native and traced worked with second_order for x³ of four numbers, but sinh could not be tried "
        "(the op has no gradient); try your model before you rely on it"
    )


def test_a_remark_among_other_notes() -> None:
    assert required_text("native cannot do xla") == "required: native cannot do xla"
