"""Every warning about the files of a run, as a whole sentence."""

from __future__ import annotations

import pytest

from pyopbench.report.wording.warnings import warning_text
from pyopbench.store.warnings import (
    Counted,
    LeftRunning,
    NoTimes,
    RunWarning,
    SlowedGpu,
    UnfinishedLine,
    UnknownClocks,
    UnknownGradients,
    UnreadableFile,
)


@pytest.mark.parametrize(
    ("warning", "said"),
    [
        (UnfinishedLine("run/samples.jsonl", 6), "run/samples.jsonl:6: the unfinished last line is ignored"),
        (UnreadableFile("not JSON", "run/copies.json"), "not JSON: run/copies.json; ignored"),
        (NoTimes("a.json", ("x", "y")), "a.json: ignored, because they do not measure time: x and y"),
        (
            UnknownGradients("a.json", (Counted("magic", 4), Counted("tricks", 1))),
            "a.json: ignored, because these variants or gradients are unknown: magic (4) and tricks (1)",
        ),
        (
            LeftRunning("double", groups=2, threads=1, processes=1, cores=2.0),
            (
                "double: after 2 groups its code was still running (at most 1 thread, 1 process, 2.00 cores "
                "busy), which disturbs what was measured with it"
            ),
        ),
        (
            SlowedGpu(groups=2, of=4, reasons=(Counted("power cap", 2), Counted("power brake", 1))),
            ("the GPU was throttled in 2 of 4 groups: power cap (2) and power brake (1); its times there are too long"),
        ),
        (UnknownClocks(groups=1, of=2), "the clocks of the GPU are unknown in 1 of 2 groups"),
    ],
)
def test_warnings(warning: RunWarning, said: str) -> None:
    assert warning_text(warning) == said
