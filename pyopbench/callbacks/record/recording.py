"""What a recording says of a callback: shapes and dtypes of its inputs, its mix of sizes, and a step of the program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from pyopbench.callbacks.record.usage import (
    NAMES,
    Cost,
    CountedSite,
    Shape,
    SiteUsage,
    Step,
    Usage,
    mix_file,
    propose_sizes,
)
from pyopbench.core.errors import BadInput
from pyopbench.core.paths import real_path
from pyopbench.results.integrity import require_whole
from pyopbench.results.number_types import NotNegative
from pyopbench.results.open_file import RECORDING, read_bytes
from pyopbench.results.strict_json import parse
from pyopbench.results.validation import problem

Example: TypeAlias = tuple[tuple[tuple[int, ...], str], ...]
"""Shape and dtype of each input."""


class Recording(Struct):
    """What `pyopbench record` writes, as far as it is read here."""

    sites: list[CountedSite]
    called_seconds: float | None = None
    elements: NotNegative = 0


@dataclass(frozen=True)
class Recorded:
    """A callback as a program called it.

    Attributes:
        examples: of its inputs, ascending by the elements of the largest.
        mix: the file of its mix of sizes, which `record` wrote beside the recording; None if that is not there.
        step: of the program; None where it takes no elements from iterators.
    """

    examples: list[Example]
    mix: Path | None = None
    step: Step | None = None


def look_up(recording: Path, file: Path, first: int, last: int | None) -> Recorded:
    """Return what a recording says of a callback.

    Args:
        recording: the file of a recording.
        file: the source of the callback.
        first: the first line of the call in it.
        last: the last one; None if that is not known.

    Raises:
        BadInput: the recording cannot be read, or has no inputs of known shape of this callback.
    """
    found = _read(recording)
    sites: list[dict[str, Any]] = found["sites"]
    here = [one for one in sites if _is_here(one, file, first, last or first)]
    shapes = [Shape(one["inputs"], one["calls"], one["seconds"]) for site in here for one in site["shapes"]]
    by_size: dict[int, Shape] = {}
    for shape in shapes:
        size = shape.size
        if size and (size not in by_size or shape.calls > by_size[size].calls):
            by_size[size] = shape
    if not by_size:
        places = sorted({f"{Path(one['file']).name}:{one['line']}" for one in sites})
        raise BadInput(
            "the recording has no inputs of this callback",
            received=f"{recording}, {file}:{first}",
            legal=", ".join(places) or "a recording of a run that called it",
            next_step="pyopbench record -- COMMAND, with the source as it is now",
        )
    examples = [
        tuple((tuple(one["shape"]), str(one["dtype"])) for one in by_size[size].inputs or ())
        for size in propose_sizes(sorted(by_size))
    ]
    usual = max(here, key=lambda site: site["forward"]["calls"])
    mix = mix_file(recording, 1 + sites.index(usual))
    return Recorded(examples, mix if mix.exists() else None, _step_of(found, usual))


def _step_of(found: dict[str, Any], site: dict[str, Any]) -> Step | None:
    usage = Usage(0.0, 1, [], called_seconds=found.get("called_seconds"), elements=found.get("elements", 0))
    forward = Cost()
    forward.add(site["forward"])
    return usage.step_of(SiteUsage(**{name: site[name] for name in NAMES}, forward=forward))


def _read(recording: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    content = b""
    try:
        content = read_bytes(recording, RECORDING)
        found = parse(content)
        wrong = problem(found, Recording)
    except (ValueError, RecursionError, OSError) as error:
        wrong = str(error)
    if wrong is not None:
        raise BadInput(
            "not a recording",
            received=f"{recording}: {wrong}",
            legal="a file written by `pyopbench record`",
            next_step="pyopbench record --out recording.json -- COMMAND",
        )
    require_whole(recording, content, "restore the file, or record the program again")
    return found


def _is_here(site: dict[str, Any], file: Path, first: int, last: int) -> bool:
    return real_path(site["file"]) == real_path(file) and first <= site["line"] <= last
