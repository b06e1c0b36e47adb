"""Requirements in whole sentences."""

from __future__ import annotations

import pytest

from pyopbench.judge.bars import Bar, BarStatus, Unknown
from pyopbench.report.wording.requirements import bar_text, blocks_text, required_text, unknown_text


def test_what_the_current_callback_blocks() -> None:
    assert blocks_text("py_func", ["xla", "tflite"]) == (
        "As long as py_func stays, it blocks xla and tflite, however fast it is."
    )


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
    assert bar_text(["native", "tnp"], bar) == f"native and tnp cannot do xla (probe compiled: {seen})"


def test_what_cannot_be_tried_was_not_seen_to_fail() -> None:
    bar = Bar("njit", "xla", "xla", "does not apply", "a cube has no such body")
    assert bar_text(["njit"], bar) == (
        "njit cannot be tried for xla (probe xla: a cube has no such body), so nobody has seen that it works"
    )


def test_what_is_not_known_and_how_to_find_out() -> None:
    assert unknown_text(Unknown("distributed", ("native", "tnp"))) == (
        "whether they can do distributed is not known of native, tnp, so none of them is recommended; "
        "`pyopbench probe --probe server_other_process --variant native,tnp --out RUN/probes.json` finds out "
        "(with --tf where the run is of another TensorFlow), then report again"
    )
    gpu = unknown_text(Unknown("gpu", ("native",)))
    assert "RUN/placement.json`" in gpu


def test_a_remark_among_other_notes() -> None:
    assert required_text("native cannot do xla") == "required: native cannot do xla"
