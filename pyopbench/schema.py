"""The shape of stored results, as data, and what is wrong with a value that has another. Prose: results/README.md.

A shape is a tuple of the types that a JSON value may have, a list of one shape for every item, or a dict of shapes by
key; under `ANY` stands the shape of all other keys, which without it may be there and hold anything. A key that ends
with `OPTIONAL` may be absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pyopbench.errors import BadInput
from pyopbench.model import Case

Shape: TypeAlias = "tuple[type, ...] | list[Shape] | dict[str, Shape]"

ANY = "*"
OPTIONAL = "?"
NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    list: "a list",
    dict: "an object",
}

TEXT = (str,)
TEXTS: Shape = [TEXT]
MAYBE_TEXT = (str, type(None))
WHOLE = (int,)
NUMBER = (int, float)
MAYBE_NUMBER = (int, float, type(None))

STATUSES = ("unsupported", "wrong", "elided", "raised", "timeout", "crashed")
FAILURE: Shape = {"case": TEXT, "status": TEXT, "reason": TEXT, "launch": (int, type(None))}

SETTINGS: Shape = {
    "seed": WHOLE,
    "launches": WHOLE,
    "rounds": WHOLE,
    "block_seconds": NUMBER,
    "group_seconds": NUMBER,
    "budget_seconds": (int, float, type(None)),
    "case_timeout_seconds": NUMBER,
    "memory_limit_bytes?": (int, type(None)),
    "quick": (bool,),
    "baseline": TEXT,
}
ENVIRONMENT: Shape = {
    "cpu": MAYBE_TEXT,
    "cores": WHOLE,
    "python": TEXT,
    "numpy": TEXT,
    "tensorflow": TEXT,
    "commit": MAYBE_TEXT,
    "dirty": (bool, type(None)),
}
OP: Shape = {
    "summary": TEXT,
    "source": TEXT,
    "sizes": [WHOLE],
    "quick_sizes": [WHOLE],
    "size_unit": TEXT,
    "dtypes": TEXTS,
    "outputs": TEXTS,
    "differentiable": (bool,),
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
    "ratio": (int, float, type(None)),
    "bound": NUMBER,
}
CERTIFICATE: Shape = {
    "schema": WHOLE,
    "created": TEXT,
    "command": TEXTS,
    "quick": (bool,),
    "seconds": NUMBER,
    "minimum_effect": NUMBER,
    "environment": ENVIRONMENT,
    "launches": [WHOLE],
    "identical": PAIRS,
    "injected": [PAIRS],
    "effect": (int, float, type(None)),
    "effect_90": (int, float, type(None)),
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
"""What a group may have under `noise`; results that were made before it was recorded have none."""


def check_run(run: Any, place: str) -> None:
    """Check the content of a `run.json`.

    Raises:
        BadInput: it has another shape, or a case id that is none; names `place`.
    """
    _require(run, RUN, place)
    if type(run["settings"].get("first_look", 1)) is not int:  # runs from before there were looks have none
        raise corrupt(place, f"settings.first_look is not a whole number: {str(run['settings']['first_look'])[:80]}")
    for key in run["cases"]:
        _require_case(key, place)
    for skip in run["skips"]:
        _check_failure(skip, place)
    _require(run.get("own", {}), {ANY: {"words": TEXTS, "fingerprint": TEXT}}, f"{place}: own")
    _require(run["settings"].get("pairs", {}), {ANY: TEXT}, f"{place}: pairs")
    if type(run["settings"].get("tf", "")) is not str:
        raise corrupt(place, f"settings.tf is no version of TensorFlow: {str(run['settings']['tf'])[:80]}")
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
    if kind == "group" and "noise" in line:
        _require(line["noise"], NOISE, f"{place}: noise")
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


def departure(value: Any, shape: Shape) -> str | None:
    """Return where a value departs from a shape and how, or None."""
    return _problem(value, shape, "")


def _require(value: Any, shape: Shape, place: str) -> None:
    problem = departure(value, shape)
    if problem is not None:
        raise corrupt(place, problem)


def _problem(value: Any, shape: Shape, path: str) -> str | None:
    if isinstance(shape, tuple):
        # Not isinstance: True is an int to Python.
        names = " or ".join(NAMES[kind] for kind in shape)
        return None if type(value) in shape else f"{path or 'the line'} is not {names}: {str(value)[:80]}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path} is not a list: {str(value)[:80]}"
        return _first(_problem(item, shape[0], f"{path}[{place}]") for place, item in enumerate(value))
    if not isinstance(value, dict):
        return f"{path or 'it'} is not an object: {str(value)[:80]}"
    missing = [key for key in shape if key != ANY and not key.endswith(OPTIONAL) and key not in value]
    if missing:
        return f"{path + ': ' if path else ''}missing {', '.join(missing)}"
    shapes = {key.removesuffix(OPTIONAL): inner for key, inner in shape.items()}
    return _first(
        _problem(item, shapes[key if key in shapes else ANY], f"{path}.{key}" if path else key)
        for key, item in value.items()
        if key in shapes or ANY in shapes
    )


def _first(problems: Any) -> str | None:
    return next((problem for problem in problems if problem is not None), None)
