"""What results of another tool cannot support, in sentences."""

from __future__ import annotations

from pyopbench.model import formatting
from pyopbench.store.limitations import Limitation, NotInterleaved, OnlyOneLaunch, SamplesNotKept, VersionsUnknown

ONE_LAUNCH = {
    "asv": (
        "asv does not record which process a sample is from, so all samples of a benchmark count as one launch. One "
        "launch gives no interval, so there are no verdicts and no decisions."
    ),
    "pytest-benchmark": (
        "pytest-benchmark times everything in one process, which is one launch. One launch gives no interval, so there "
        "are no verdicts and no decisions."
    ),
}
NOT_INTERLEAVED = {
    "asv": (
        "asv times one combination after another, in separate processes, so every ratio includes how the machine "
        "changed in between."
    ),
    "pytest-benchmark": (
        "pytest-benchmark times one benchmark after another, so every ratio includes how the machine changed in "
        "between."
    ),
}
SAMPLES = {
    "asv": ("result", "have only asv's median and no samples", "`asv run --record-samples` keeps them"),
    "pytest-benchmark": (
        "benchmark",
        "have only the median and no samples",
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
            return f"Installed versions are known only where {tool}'s matrix names them."
        case SamplesNotKept(tool, bare, results):
            noun, missing, remedy = SAMPLES[tool]
            share = f"{bare:,} of {formatting.count(results, noun)}"
            return f"{share} {missing}, so the spread of calls is unknown; {remedy}."
