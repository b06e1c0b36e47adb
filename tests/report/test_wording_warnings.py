"""Every warning about the files of a run, as a whole sentence."""

from __future__ import annotations

import pytest

from pyopbench.report.wording.warnings import warning_text
from pyopbench.results.warnings import (
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
        (UnfinishedLine("run/samples.jsonl", 6), "run/samples.jsonl:6: an unfinished last line was dropped"),
        (UnreadableFile("not JSON", "run/copies.json"), "not JSON: run/copies.json; it is left out"),
        (NoTimes("a.json", ("x", "y")), "a.json: left out, because they measure no time: x and y"),
        (
            UnknownGradients("a.json", (Counted("magic", 4), Counted("tricks", 1))),
            "a.json: left out, because these variants and their gradients are not known here: magic (4) and tricks (1)",
        ),
        (
            LeftRunning("double", groups=2, threads=1, processes=1, cores=2.0),
            (
                "double: bodies left something running after 2 groups (at most 1 thread, 1 process, 2.00 cores busy); "
                "what else was measured in these groups ran beside it"
            ),
        ),
        (
            SlowedGpu(groups=2, of=4, reasons=(Counted("power cap", 2), Counted("power brake", 1))),
            (
                "the GPU was held back in 2 of 4 groups: power cap (2) and power brake (1); its times there are those "
                "of a slower one"
            ),
        ),
        (UnknownClocks(groups=1, of=2), "clocks of the GPU are not known for 1 of 2 groups"),
    ],
)
def test_warnings(warning: RunWarning, said: str) -> None:
    assert warning_text(warning) == said
