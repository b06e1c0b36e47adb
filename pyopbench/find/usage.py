"""What the callbacks of a program cost it: one entry for each site, over all processes, the dearest first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.store.mix_file import write_mix
from pyopbench.store.types import NotNegative

NAMES = ("file", "line", "function", "kind", "mode", "body")

DISPATCH_SECONDS = 2e-4
"""What is allowed for a call in a graph beyond its body: several times what a py_function with an empty body takes."""

MOST_SIZES = 5
"""Sizes that are proposed for a run: what lies between them is interpolated."""


@dataclass
class Cost:
    """Calls in one direction.

    Attributes:
        calls, raised: how many, and how many of them ended by an exception.
        seconds: inside the body.
        outside_calls, outside_seconds: how many of them were also timed from outside, and for how long.
    """

    calls: int = 0
    raised: int = 0
    seconds: float = 0.0
    outside_calls: int = 0
    outside_seconds: float = 0.0

    def add(self, other: Mapping[str, Any]) -> None:
        """Add what another process counted."""
        for name in ("calls", "raised", "seconds", "outside_calls", "outside_seconds"):
            setattr(self, name, getattr(self, name) + other[name])

    @property
    def around(self) -> float | None:
        """Seconds outside of the body, as far as they could be seen; None where no call was timed from outside."""
        return self.outside_seconds - self.seconds if self.calls and self.outside_calls == self.calls else None

    @property
    def total(self) -> float:
        """Seconds in the body and, as far as they could be seen, around it."""
        return self.seconds + max(0.0, self.around or 0.0)


@dataclass
class Shape:
    """Calls with the same shapes and dtypes; `inputs` is None for all that were too many to tell apart."""

    inputs: list[dict[str, Any]] | None
    calls: int
    seconds: float

    @property
    def size(self) -> int | None:
        """Elements of the largest input; None where there is none or its shape is not known."""
        shapes = [one["shape"] for one in self.inputs or ()]
        return max(map(math.prod, shapes)) if shapes and None not in shapes else None


@dataclass
class SiteUsage:
    """A site and what was counted there; the fields are those of `tallies.Site`."""

    file: str
    line: int
    function: str
    kind: str
    mode: str
    body: str
    forward: Cost = field(default_factory=Cost)
    gradient: Cost = field(default_factory=Cost)
    shapes: list[Shape] = field(default_factory=list)
    in_input: bool = False
    flight_seconds: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds in the bodies, forward and gradient, and what could be seen around them: what they cost at least."""
        return self.forward.total + self.gradient.total

    @property
    def calls_by_size(self) -> dict[int, int]:
        """Calls for each size above zero, ascending: the mix."""
        calls: dict[int, int] = {}
        for shape in self.shapes:
            if shape.size:
                calls[shape.size] = calls.get(shape.size, 0) + shape.calls
        return dict(sorted(calls.items()))


class Counted(Struct):
    """What a process counted of a site in one direction."""

    calls: NotNegative
    raised: NotNegative
    seconds: float
    outside_calls: NotNegative
    outside_seconds: float


class CountedInput(Struct):
    """Shape and dtype of an input; None where the shape is not known."""

    shape: list[NotNegative] | None
    dtype: str


class CountedShape(Struct):
    """Calls with the same inputs."""

    inputs: list[CountedInput] | None
    calls: NotNegative
    seconds: float


class CountedSite(Struct):
    """A site of a process."""

    file: str
    line: int
    function: str
    kind: str
    mode: str
    body: str
    forward: Counted
    gradient: Counted
    shapes: list[CountedShape]
    in_input: bool = False
    flight_seconds: float | None = None


class CountedWaits(Struct):
    """What a process took from its iterators, and how long it waited for that."""

    elements: NotNegative
    seconds: float


class Part(Struct):
    """What one process of a recording writes."""

    trouble: str
    sites: list[CountedSite]
    called: list[float] | None = None
    waits: CountedWaits | None = None


@dataclass(frozen=True)
class InputShare:
    """How much of a program's time goes by while it waits for its input, and what callbacks in there take at least.

    Pipelines work while the program does, so that the two are no bounds of each other: a part of the waiting may be for
    something else, and the callbacks take more than can be seen from Python.

    Attributes:
        elements: taken from the iterators of the pipelines.
        waited: for these, as a share of the time from the first call of any callback to the end of the last.
        callbacks: what the callbacks of pipelines take, of all threads, as a share of the same time; without what
            TensorFlow adds in C++, and without waiting for the GIL.
    """

    elements: int
    waited: float
    callbacks: float

    @property
    def is_hidden(self) -> bool:
        """Does the program hardly wait for its input, so that the pipelines keep up?"""
        return self.waited < MINIMUM_EFFECT


@dataclass
class Usage:
    """What a program's callbacks cost.

    Attributes:
        seconds: from its start to its end.
        processes: how many of its processes called back.
        sites: the dearest first.
        troubles: what could not be recorded, in the words of Python.
        called_seconds: from the first call of any of them to the end of the last one; None where none was called.
        elements, waited_seconds: taken from iterators of input pipelines, and how long they were waited for.
    """

    seconds: float
    processes: int
    sites: list[SiteUsage]
    troubles: list[str] = field(default_factory=list)
    called_seconds: float | None = None
    elements: int = 0
    waited_seconds: float = 0.0

    @property
    def input_share(self) -> InputShare | None:
        """What callbacks in input pipelines cost the program; None where there are none, or no element was seen."""
        seconds = sum(site.seconds for site in self.sites if site.in_input)
        if not seconds or not self.elements or not self.called_seconds:
            return None
        # It waits for the first element from before the first call.
        waited = min(self.waited_seconds / self.called_seconds, 1.0)
        return InputShare(self.elements, waited, seconds / self.called_seconds)

    def may_pay(self, site: SiteUsage) -> bool:
        """Can a port save what is worth acting on, with a generous allowance for what cannot be seen from Python?

        An allowance is no bound: calls that wait long for the GIL may cost more.
        """
        if site.in_input and self.input_share is not None and self.input_share.is_hidden:
            return False
        seconds = site.seconds + DISPATCH_SECONDS * (site.forward.calls + site.gradient.calls)
        return seconds >= MINIMUM_EFFECT * (self.called_seconds or self.seconds)


def merge(parts: Iterable[Mapping[str, Any]], seconds: float) -> Usage:
    """Add up what the processes of a program counted.

    Args:
        parts: what `recorder.Recorder` wrote, one for each process.
        seconds: from the start of the program to its end.
    """
    found: dict[tuple[Any, ...], SiteUsage] = {}
    processes, troubles = 0, dict[str, None]()
    called: list[float] = []
    elements, waited = 0, 0.0
    for part in parts:
        processes += 1
        called += part.get("called") or ()
        waits = part.get("waits") or {"elements": 0, "seconds": 0.0}
        elements, waited = elements + waits["elements"], waited + waits["seconds"]
        troubles.update({part["trouble"]: None} if part["trouble"] else {})
        for site in part["sites"]:
            new = SiteUsage(**{name: site[name] for name in NAMES}, in_input=site.get("in_input", False))
            usage = found.setdefault((new.file, new.line, new.function, new.kind, new.mode), new)
            usage.forward.add(site["forward"])
            usage.gradient.add(site["gradient"])
            if site.get("flight_seconds") is not None:
                usage.flight_seconds = (usage.flight_seconds or 0.0) + site["flight_seconds"]
            _add_shapes(usage.shapes, site["shapes"])
    used = [site for site in found.values() if site.forward.calls + site.gradient.calls]
    in_order = sorted(used, key=lambda site: (-site.seconds, site.file, site.line))
    # The clock of all processes of a machine is one: CLOCK_MONOTONIC, or what stands for it (time.perf_counter).
    called_seconds = max(called) - min(called) if called else None
    return Usage(seconds, processes, in_order, list(troubles), called_seconds, elements, waited)


def _add_shapes(shapes: list[Shape], more: Iterable[Mapping[str, Any]]) -> None:
    known = {repr(shape.inputs): shape for shape in shapes}
    for one in more:
        shape = known.get(repr(one["inputs"]))
        if shape is None:
            shapes.append(Shape(one["inputs"], one["calls"], one["seconds"]))
        else:
            shape.calls += one["calls"]
            shape.seconds += one["seconds"]


def write_mixes(usage: Usage, file: Path) -> dict[int, Path]:
    """Write the mix of sizes of each site beside the recording, as `--mix` reads it.

    Args:
        usage: what was counted.
        file: the recording; `recording.json` gives `recording-mix-1.csv` and so on, numbered as the sites.

    Returns:
        number of the site -> its file; a site whose inputs have no elements, or none whose shape is known, has none.
    """
    written = {}
    for number, site in enumerate(usage.sites, start=1):
        if site.calls_by_size:
            path = mix_file(file, number)
            write_mix(path, site.calls_by_size)
            written[number] = path
    return written


def mix_file(recording: Path, number: int) -> Path:
    """Return where the mix of a site is, by its number among the sites of a recording, from 1."""
    return recording.with_name(f"{recording.stem}-mix-{number}.csv")


def propose_sizes(sizes: Sequence[int]) -> list[int]:
    """Return sizes to measure for a mix: its ends and some between, spread evenly over their ranks."""
    places = {round(place * (len(sizes) - 1) / (MOST_SIZES - 1)) for place in range(MOST_SIZES)}
    return [sizes[place] for place in sorted(places)]
