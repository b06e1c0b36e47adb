"""Made-up results as they are stored, for the tests of what writes, reads and continues them."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.store.json_file import convert, encode, encode_in_lines
from pyopbench.store.run import RUN_FILE, SAMPLES_FILE, name_sides, open_run
from pyopbench.store.types import AnyLine, Plan, Side

SETTINGS: dict[str, Any] = {
    "seed": 0,
    "launches": 2,
    "first_rounds": 2,
    "rounds": 2,
    "until": "end",
    "block_seconds": 0.01,
    "group_seconds": 0.5,
    "budget_seconds": None,
    "case_timeout_seconds": 60.0,
    "quick": False,
    "baseline": "well",
}
ENVIRONMENT: dict[str, Any] = {
    "cpu": "a processor",
    "cores": 2,
    "memory_bytes": 2**30,
    "governor": None,
    "load": [0.5, 0.5, 0.5],
    "os": "an operating system",
    "python": "3.11.7",
    "numpy": "2.4.6",
    "tensorflow": "2.21.0",
    "tensorflow_git": "v2.21.0",
    "tensorflow_build": {},
    "intra_op_threads": 0,
    "inter_op_threads": 0,
    "variables": {},
    "commit": None,
    "dirty": None,
    "pyopbench": "0.1.0",
}
OP: dict[str, Any] = {
    "summary": "made up",
    "sizes": [1, 10],
    "quick_sizes": [1],
    "size_unit": "elements",
}
VARIANT: dict[str, Any] = {
    "summary": "made up",
    "body": "numpy",
    "kind": "callback",
    "effort": 0,
    "gradients": ["custom_gradient"],
}
NOISE: dict[str, Any] = {
    "wall_seconds": 2.0,
    "steal_seconds": 0.25,
    "load": 1.25,
}


def case(
    variant: str,
    op: str = "double",
    size: int = 1,
    *,
    gradient: str = "none",
    direction: str = "forward",
    mode: str = "call",
    placement: str = "cpu",
) -> str:
    """Return the id of a case, a forward one unless it is said otherwise."""
    return Case(op, variant, gradient, direction, mode, "float32", size, placement).id


def group(op: str = "double", size: int = 1, placement: str = "cpu") -> str:
    """Return the group of `case`."""
    return Case.from_id(case("any", op, size, placement=placement)).group


def run(cases: Sequence[str], **changes: Any) -> dict[str, Any]:
    """Return the content of a `run.json` that plans `cases` on one side, whose keys are among the others."""
    parts = [Case.from_id(key) for key in cases]
    content = {
        "run": "made-up",
        "created": "2026-01-02T03:04:05+00:00",
        "command": ["pyopbench", "run"],
        "settings": SETTINGS,
        "environment": ENVIRONMENT,
        "catalogue": {
            "ops": {part.op: OP for part in parts},
            "variants": {part.variant: VARIANT for part in parts},
        },
        "cases": list(cases),
        "skips": [],
    }
    return {**content, **changes}


def failure(key: str, status: str = "raised", launch: int | None = 0) -> dict[str, Any]:
    """Return a failure of a case."""
    return {"case": key, "status": status, "reason": "it did not work", "launch": launch}


def launch_line(launch: int) -> dict[str, Any]:
    """Return the line of a worker process that has started."""
    return {"kind": "launch", "launch": launch, "environment": {"pid": 1}}


def group_line(
    launch: int, cases: Sequence[str], failures: Sequence[dict[str, Any]] = (), seconds: float = 0.5
) -> dict[str, Any]:
    """Return the line of a measured group, two blocks of three calls for each case."""
    keys = [*cases, *(one["case"] for one in failures)]
    return {
        "kind": "group",
        "launch": launch,
        "group": Case.from_id(keys[0]).group,
        "samples": {key: [[0, place, 3, seconds], [1, place, 3, seconds]] for place, key in enumerate(cases)},
        "failures": list(failures),
        "timer_seconds": 4e-8,
        "timer_error_seconds": 1e-9,
        "noise": NOISE,
    }


def encoded(content: dict[str, Any], lines: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return the lines of samples as they stand in the file of a run with this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), content, lines) / SAMPLES_FILE
        return path.read_bytes().splitlines(keepends=True)


OF_A_SIDE = ("label", "tf", "packages", "python", "problem", "values", "is_control", "revision")
PLANNED_OF_A_SIDE = ("environment", "catalogue", "cases", "skips", "own")


def nested(content: dict[str, Any], *sides: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a `run.json` as it is stored; the sides are the one of `content`, or have changes of it."""
    ours = {key: content[key] for key in (*OF_A_SIDE, *PLANNED_OF_A_SIDE) if key in content}
    run_wide = {key: value for key, value in content.items() if key not in ours}
    return {**run_wide, "sides": [{"label": "here", **ours, **side} for side in sides or ({},)]}


def write(folder: Path, content: dict[str, Any], lines: Sequence[dict[str, Any]]) -> Path:
    """Write results as a run does, whatever they hold, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = content if "sides" in content else nested(content)
    (folder / RUN_FILE).write_bytes(encode_in_lines(stored))
    (folder / SAMPLES_FILE).write_bytes(b"")
    append(folder, *lines)
    return folder


def write_sides(
    folder: Path, content: dict[str, Any], sides: Sequence[tuple[dict[str, Any], Sequence[dict[str, Any]]]]
) -> Path:
    """Write a run on several sides, each with what it has in place of `content`, and its lines; return its folder."""
    stored = nested(content, *(changes for changes, _ in sides))
    lines = [{**line, "side": number} for number, (_, several) in enumerate(sides) for line in several]
    return write(folder, stored, lines)


def replace_lines(folder: Path, number: int, lines: Sequence[dict[str, Any]] = ()) -> None:
    """Replace what is stored of a side."""
    others = [line for line in read_lines(folder) if line.get("side", 0) != number]
    (folder / SAMPLES_FILE).write_bytes(b"")
    append(folder, *others, *({**line, "side": number} for line in lines))


def fail_everywhere(folder: Path, key: str, status: str, but: int | None = None) -> Path:
    """Replace what is stored of a case by a failure, on all sides `but` one; return the folder."""
    lines = read_lines(folder)
    (folder / SAMPLES_FILE).write_bytes(b"")
    for line in lines:
        if line.get("side", 0) != but and line.get("samples", {}).pop(key, None):
            line["failures"] = [failure(key, status, line["launch"])]
    append(folder, *lines)
    return folder


def append(folder: Path, *lines: dict[str, Any]) -> None:
    """Append lines to samples as a run does, whatever they hold."""
    with (folder / SAMPLES_FILE).open("ab") as stream:
        for line in lines:
            stream.write(encode(line) + b"\n")


def read_run(folder: Path) -> dict[str, Any]:
    """Return the JSON of a `run.json`; of one side, with the keys of that among the others."""
    content: dict[str, Any] = json.loads((folder / RUN_FILE).read_bytes())
    return {**content, **content["sides"][0]} if len(content["sides"]) == 1 else content


def read_lines(folder: Path) -> list[dict[str, Any]]:
    """Return the JSON of all whole lines of samples."""
    whole = (folder / SAMPLES_FILE).read_bytes().splitlines(keepends=True)
    return [json.loads(line) for line in whole if line.endswith(b"\n")]


def typed(content: dict[str, Any]) -> Plan:
    """Return the content of a `run.json` as it is read back."""
    return convert(content if "sides" in content else nested(content), Plan, "here")


def sides_of(folder: Path) -> list[Side]:
    """Return the sides of a run that are measured."""
    return [measured.side for measured in open_run(folder).measured]


def typed_line(line: dict[str, Any]) -> AnyLine:
    """Return a line as it is read back."""
    line_type: Any = AnyLine
    found: AnyLine = convert(line, line_type, "here")
    return found


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
"""Anything that JSON can hold."""


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value in JSON, from the outermost on."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places_in(inner, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of JSON with `new` at a path."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


def refusal(read: Callable[[], object]) -> str | None:
    """Return what a refusal says, or None where nothing is refused."""
    try:
        read()
    except BadInput as error:
        return error.in_a_line
    return None


def name_versions(versions: Sequence[str]) -> list[Side]:
    """Return the sides of a run on several versions of TensorFlow, with labels."""
    return name_sides([Side(tf=version) for version in versions])
