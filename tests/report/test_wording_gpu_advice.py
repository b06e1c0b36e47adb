"""What an answer means where data live on a GPU, in whole sentences."""

from __future__ import annotations

import pytest

from pyopbench.judge.copies_advice import Copied, CopiesAdvice, DataOnDevice, NotCounted, PinToHost
from pyopbench.report.wording.gpu_advice import advice_text

BOUNCES = Copied(2, 12, 10, "device")
HALF = Copied(1, 8, 10, "unpinned")
NOTHING = Copied(0, 0, 10, "device")
TODAY = "With data on the device, py_func copies at least 12 B in 2 copies per call of 10 (pinned to the device)"
STILL = "With data on the device, py_func copies nothing (pinned to the device)"
UNKNOWN = "what xla would copy is unknown"
ON_HOST = "With data on the host, py_func copies to the device unless you pin it to the host"


@pytest.mark.parametrize(
    ("advice", "words"),
    [
        (
            DataOnDevice("py_func", BOUNCES, "native", NOTHING, ()),
            f"{TODAY}, which native saves: it copies nothing (pinned to the device).",
        ),
        (
            DataOnDevice("py_func", NOTHING, "native", NOTHING, ()),
            f"{STILL}, and neither does native (pinned to the device).",
        ),
        (
            DataOnDevice("py_func", BOUNCES, "xla", HALF, ("native", "tnp")),
            (f"{TODAY}, and xla only 8 B in 1 copy per call of 10 (unpinned); native and tnp copy nothing."),
        ),
        (
            DataOnDevice("py_func", BOUNCES, "xla", BOUNCES, ()),
            f"{TODAY}, and xla at least as much: 12 B in 2 copies per call of 10 (pinned to the device).",
        ),
        (DataOnDevice("py_func", BOUNCES, None, None, ("native",)), f"{TODAY}; native copies nothing."),
        (
            DataOnDevice("py_func", BOUNCES, "xla", NotCounted("xla", "simulated"), ("native",)),
            f"{TODAY}; {UNKNOWN}: the simulated device cannot run it; native copies nothing.",
        ),
        (
            DataOnDevice("py_func", BOUNCES, "xla", NotCounted("xla", "refused", "no kernel"), ()),
            f"{TODAY}; {UNKNOWN}: it was refused (no kernel).",
        ),
        (
            DataOnDevice("py_func", BOUNCES, "xla", NotCounted("xla", "left_out"), ()),
            f"{TODAY}; {UNKNOWN}: it was not counted.",
        ),
        (PinToHost("py_func", NOTHING), f"{ON_HOST}, where it copies nothing."),
        (
            PinToHost("py_func", Copied(1, 8, 10, "host")),
            f"{ON_HOST}; even there it copies 8 B in 1 copy per call of 10 (pinned to the host).",
        ),
    ],
)
def test_advice(advice: CopiesAdvice, words: str) -> None:
    assert advice_text(advice) == words
