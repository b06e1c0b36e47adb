"""The shape of stored results, and what is wrong with a value that has another. Prose: results/README.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pyopbench.errors import BadInput
from pyopbench.model import Case
from pyopbench.shapes import (
    ANY,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    MAYBE_TRUTH,
    MAYBE_WHOLE,
    NUMBER,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    Shape,
    departure,
)

STATUSES = ("unsupported", "wrong", "elided", "raised", "timeout", "crashed")
FAILURE: Shape = {"case": TEXT, "status": TEXT, "reason": TEXT, "launch": MAYBE_WHOLE}

SETTINGS: Shape = {
    "seed": WHOLE,
    "launches": WHOLE,
    "rounds": WHOLE,
    "block_seconds": NUMBER,
    "group_seconds": NUMBER,
    "budget_seconds": MAYBE_NUMBER,
    "case_timeout_seconds": NUMBER,
    "memory_limit_bytes?": MAYBE_WHOLE,
    "quick": TRUTH,
    "baseline": TEXT,
    "first_look?": WHOLE,
    "pairs?": {ANY: TEXT},
    "tf?": TEXT,
}
ENVIRONMENT: Shape = {
    "cpu": MAYBE_TEXT,
    "cores": WHOLE,
    "python": TEXT,
    "numpy": TEXT,
    "tensorflow": TEXT,
    "commit": MAYBE_TEXT,
    "dirty": MAYBE_TRUTH,
}
OP: Shape = {
    "summary": TEXT,
    "source": TEXT,
    "sizes": [WHOLE],
    "quick_sizes": [WHOLE],
    "size_unit": TEXT,
    "dtypes": TEXTS,
    "outputs": TEXTS,
    "differentiable": TRUTH,
    "bytes_moved": {ANY: {ANY: WHOLE}},
    "flops": {ANY: WHOLE},
}
VARIANT: Shape = {
    "summary": TEXT,
    "body": TEXT,
    "kind": TEXT,
    "effort": WHOLE,
    "gradients": TEXTS,
    "modes": TEXTS,
}
GRADIENT: Shape = {"summary": TEXT, "source": TEXT, "works_in": TEXTS}

PAIRS: Shape = {
    "percent": WHOLE,
    "pairs": WHOLE,
    "faster": WHOLE,
    "slower": WHOLE,
    "equivalent": WHOLE,
    "unresolved": WHOLE,
    "ratio": MAYBE_NUMBER,
    "bound": NUMBER,
}
CERTIFICATE: Shape = {
    "schema": WHOLE,
    "created": TEXT,
    "command": TEXTS,
    "quick": TRUTH,
    "seconds": NUMBER,
    "minimum_effect": NUMBER,
    "environment": ENVIRONMENT,
    "launches": [WHOLE],
    "identical": PAIRS,
    "injected": [PAIRS],
    "effect": MAYBE_NUMBER,
    "effect_90": MAYBE_NUMBER,
    "overheads": [{"known_seconds": NUMBER, "measured_seconds": NUMBER}],
    "timer_seconds": NUMBER,
    "timer_error_seconds": NUMBER,
    "decision_runs": WHOLE,
    "decisions": WHOLE,
    "moved": [{"op": TEXT, "use": TEXT, "answers": TEXTS}],
}

RUN: Shape = {
    "schema": WHOLE,
    "run": TEXT,
    "created": TEXT,
    "command": TEXTS,
    "settings": SETTINGS,
    "environment": ENVIRONMENT,
    "catalogue": {
        "ops": {ANY: OP},
        "variants": {ANY: VARIANT},
        "gradients": {ANY: GRADIENT},
        "parts?": {ANY: VARIANT},
        "floor?": {ANY: OP},
    },
    "cases": TEXTS,
    "skips": [FAILURE],
    "own?": {ANY: {"words": TEXTS, "fingerprint": TEXT}},
}
NOISE: Shape = {
    "wall_seconds": NUMBER,
    "cpu_seconds": NUMBER,
    "steal_seconds": MAYBE_NUMBER,
    "switches": WHOLE,
    "collections": WHOLE,
    "load": MAYBE_NUMBER,
    "mhz_low": MAYBE_NUMBER,
    "mhz_high": MAYBE_NUMBER,
}
LINES: dict[str, Shape] = {
    "launch": {"launch": WHOLE, "environment": {}},
    "group": {
        "launch": WHOLE,
        "group": TEXT,
        "samples": {ANY: [[NUMBER]]},
        "failures": [FAILURE],
        "bytes?": {ANY: [WHOLE]},
        "aligned?": {ANY: NUMBER},
        "checked?": {ANY: {ANY: NUMBER}},
        "noise?": NOISE,
        "left_behind?": {"threads": WHOLE, "processes": WHOLE, "cores": NUMBER},
        "timer_seconds": NUMBER,
        "timer_error_seconds": NUMBER,
    },
    "lost": {"launch": WHOLE, "group": TEXT, "failures": [FAILURE]},
    "look": {"launch": WHOLE, "open": TEXTS},
    "limits": {
        "launch": WHOLE,
        "bandwidths": [{"working_set_bytes": WHOLE, "copy": NUMBER, "triad": NUMBER}],
        "peaks": {ANY: NUMBER},
        "reason": TEXT,
    },
}


def check_run(run: Any, place: str) -> None:
    """Check the content of a `run.json`.

    Raises:
        BadInput: it has another shape, or a case id that is none; names `place`.
    """
    _require(run, RUN, place)
    for key in run["cases"]:
        _require_case(key, place)
    for skip in run["skips"]:
        _check_failure(skip, place)
    if run.get("certificate") is not None:
        check_certificate(run["certificate"], f"{place}: certificate")


def check_certificate(content: Any, place: str) -> None:
    """Check the content of a certificate.

    Raises:
        BadInput: it has another shape; names `place`.
    """
    _require(content, CERTIFICATE, place)
    durations = [content["seconds"], *(one["known_seconds"] for one in content["overheads"])]
    if not all(0 < seconds < math.inf for seconds in durations):
        raise corrupt(place, f"durations that are not above 0: {durations}")


def check_line(line: Any, place: str) -> None:
    """Check a line of samples.

    Raises:
        BadInput: it has another shape, or a value that makes no sense; names `place`.
    """
    kind = line.get("kind") if isinstance(line, dict) else None
    if not isinstance(kind, str) or kind not in LINES:
        raise corrupt(place, f"kind is {kind!r}, not one of {', '.join(LINES)}")
    _require(line, LINES[kind], place)
    if line["launch"] < 0:
        raise corrupt(place, f"launch is {line['launch']}, below 0")
    if kind == "limits":
        _check_limits(line, place)
    for failure in line.get("failures", ()):
        _check_failure(failure, place)
    for key in line["open"] if kind == "look" else ():
        _require_case(key, place)
    for key, samples in line.get("samples", {}).items():
        if _require_case(key, place).group != line["group"]:
            raise corrupt(place, f"{key} does not belong to the group {line['group']}")
        for sample in samples:
            _check_sample(key, sample, place)
    for key, crossing in line.get("bytes", {}).items():
        if len(crossing) != 2 or min(crossing) < 0:
            raise corrupt(place, f"the bytes of {key} are not [bytes in >= 0, bytes out >= 0]: {crossing}")
    for key, share in line.get("aligned", {}).items():
        if not 0 <= share <= 1:
            raise corrupt(place, f"the aligned share of {key} is not from 0 to 1: {share}")


def corrupt(place: str, problem: str) -> BadInput:
    """Return the error for results that are not as they were written."""
    return BadInput(
        "corrupt results",
        received=f"{place}: {problem}",
        legal="the schema in results/README.md",
        next_step="restore the file; a line of samples may also be deleted if you can spare what it measured",
    )


def _require_case(key: str, place: str) -> Case:
    try:
        return Case.from_id(key)
    except BadInput as error:
        raise corrupt(place, f"{key!r} is not the id of a case") from error


def _check_failure(failure: Mapping[str, Any], place: str) -> None:
    _require_case(failure["case"], place)
    if failure["status"] not in STATUSES:
        raise corrupt(place, f"status is {failure['status']!r}, not one of {', '.join(STATUSES)}")


def _check_limits(line: Mapping[str, Any], place: str) -> None:
    values = [value for bandwidth in line["bandwidths"] for value in bandwidth.values()]
    values += line["peaks"].values()
    if not all(0 < value < math.inf for value in values):
        raise corrupt(place, f"limits that are not above 0: {values}")


def _check_sample(key: str, sample: Sequence[Any], place: str) -> None:
    node = Case.from_id(key).mode == "node"
    copies = sample[4:] if node else [1]
    whole = len(sample) == 4 + node and all(isinstance(number, int) for number in (*sample[:3], *copies))
    if not whole or min(sample) < 0 or min(sample[2], *copies) < 1 or sample[3] == float("inf"):
        numbers = "round, order, calls >= 1, seconds >= 0" + (", copies >= 1" if node else "")
        raise corrupt(place, f"a sample of {key} is not [{numbers}]: {sample}")


def _require(value: Any, shape: Shape, place: str) -> None:
    problem = departure(value, shape)
    if problem is not None:
        raise corrupt(place, problem)
