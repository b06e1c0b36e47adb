"""Requirements in whole sentences."""

from __future__ import annotations

import shlex

import pytest

from pyopbench.judge.bars import Bar, BarStatus, Substituted, Unknown
from pyopbench.report.wording.requirements import (
    bar_text,
    blocks_text,
    required_text,
    substituted_text,
    unknown_text,
)


def test_what_the_current_callback_blocks() -> None:
    assert blocks_text("py_func", ["xla", "tflite"]) == ("py_func does not work with xla and tflite")


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
    with_ops = f"native and tnp do not work with xla (probe compiled with sinh and log: {seen})"
    assert bar_text(["native", "tnp"], bar, ["sinh", "log"]) == with_ops
    with_cube = f"native and tnp do not work with xla (probe compiled with x³ of four numbers: {seen})"
    assert bar_text(["native", "tnp"], bar) == with_cube


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
    assert unknown_text(Unknown("distributed", ("native", "tnp")), ["sinh", "mine"], {"mine"}) == (
        "not recommended, because untested for distributed with sinh and mine: native, tnp; run `pyopbench "
        "probe --probe server_other_process --op sinh --op mine --variant native,tnp --out RUN/probes.json` "
        "(with the --tf of the run, mine named by its file as in `pyopbench run`) and report again"
    )
    # Variants are counted with whatever op, but those that are tried with own ops alone need one.
    gpu = unknown_text(Unknown("gpu", ("traced",)), ["sinh", "mine"], {"mine"})
    assert shlex.split(gpu.split("`")[1]) == ["pyopbench", "placement", "mine", "--out", "RUN/placement.json"]
    gpu = unknown_text(Unknown("gpu", ("native",)), ["sinh"], set())
    assert shlex.split(gpu.split("`")[1]) == ["pyopbench", "placement", "--out", "RUN/placement.json"]


def test_the_cube_in_place_of_an_op() -> None:
    one = Substituted("native", "second_order", "the op has no gradient")
    assert substituted_text(["native", "tnp"], one, ["sinh"]) == (
        "native and tnp worked with second_order for x³ of four numbers, but sinh could not be tried "
        "(the op has no gradient); try your model before you rely on it"
    )


def test_a_remark_among_other_notes() -> None:
    assert required_text("native cannot do xla") == "required: native cannot do xla"
