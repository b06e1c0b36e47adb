"""What results of another tool cannot support, in sentences."""

from __future__ import annotations

from pyopbench.core import formatting
from pyopbench.results.limitations import Limitation, NotInterleaved, OnlyOneLaunch, SamplesNotKept, VersionsUnknown

ONE_LAUNCH = {
    "asv": (
        "asv does not tell which process a sample is from, so all samples of a benchmark count as one launch. One "
        "launch has no interval: no verdict can be given and nothing decided, and ratios are estimates without one."
    ),
    "pytest-benchmark": (
        "pytest-benchmark times everything in one process, which is one launch. One launch has no interval: no verdict "
        "can be given and nothing decided, and ratios are estimates without one."
    ),
}
NOT_INTERLEAVED = {
    "asv": (
        "asv times one combination after another, each in processes of its own. Nothing is interleaved, so what the "
        "machine did in between is part of every ratio."
    ),
    "pytest-benchmark": (
        "pytest-benchmark times one benchmark after another. Nothing is interleaved, so what the machine did in "
        "between is part of every ratio."
    ),
}
SAMPLES = {
    "asv": ("result", "have no samples but asv's median alone", "`asv run --record-samples` keeps them"),
    "pytest-benchmark": (
        "benchmark",
        "have no samples but the median alone",
        "`--benchmark-json` and `--benchmark-save-data` keep them",
    ),
}
"""What one of the tool's numbers is called, what is missing, and what keeps it."""


def limitation_text(limitation: Limitation) -> str:
    """Return what cannot be supported, in a sentence or two."""
    match limitation:
        case OnlyOneLaunch(tool):
            return ONE_LAUNCH[tool]
        case NotInterleaved(tool):
            return NOT_INTERLEAVED[tool]
        case VersionsUnknown(tool):
            return f"Which versions were installed is known only as far as {tool}'s matrix names them."
        case SamplesNotKept(tool, bare, results):
            noun, missing, remedy = SAMPLES[tool]
            share = f"{bare:,} of {formatting.count(results, noun)}"
            return f"{share} {missing}, so how calls scattered is not known either: {remedy}."
