"""What the callbacks of a program cost it: one entry for each site, over all processes, the most expensive first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.store.mix_file import write_mix

DISPATCH_SECONDS = 2e-4
"""What is allowed for a call in a graph beyond its body: several times what a py_function with an empty body takes."""

MOST_SIZES = 5
"""Sizes that are proposed for a run: what lies between them is interpolated."""


@dataclass
class Cost:
    """Calls in one direction: how many, how many of them ended by an exception, and the seconds inside the body."""

    calls: int = 0
    raised: int = 0
    seconds: float = 0.0

    def add(self, other: Cost) -> None:
        """Add what another process counted."""
        self.calls += other.calls
        self.raised += other.raised
        self.seconds += other.seconds


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

    def add(self, other: SiteUsage) -> None:
        """Add what another process counted of the same site."""
        self.forward.add(other.forward)
        self.gradient.add(other.gradient)
        if other.flight_seconds is not None:
            self.flight_seconds = (self.flight_seconds or 0.0) + other.flight_seconds
        known = {repr(shape.inputs): shape for shape in self.shapes}
        for shape in other.shapes:
            same = known.get(repr(shape.inputs))
            if same is None:
                self.shapes.append(shape)
            else:
                same.calls += shape.calls
                same.seconds += shape.seconds

    @property
    def seconds(self) -> float:
        """Seconds in the bodies, forward and gradient: what they cost at least."""
        return self.forward.seconds + self.gradient.seconds

    @property
    def calls_by_size(self) -> dict[int, int]:
        """Calls for each size above zero, ascending: the mix."""
        calls: dict[int, int] = {}
        for shape in self.shapes:
            if shape.size:
                calls[shape.size] = calls.get(shape.size, 0) + shape.calls
        return dict(sorted(calls.items()))


@dataclass
class Waits:
    """What a process took from its iterators, and how long it waited for that."""

    elements: int = 0
    seconds: float = 0.0


@dataclass
class Part:
    """What one process of a recording writes; `called`: when the first call began and the last one ended."""

    trouble: str
    sites: list[SiteUsage] = field(default_factory=list)
    called: tuple[float, float] | None = None
    waits: Waits = field(default_factory=Waits)


@dataclass(frozen=True)
class InputShare:
    """How much of a program's time goes by while it waits for its input, and what callbacks in there take at least.

    Attributes:
        waited: for elements of its iterators, as a share of the time from the first call of any callback to the end of
            the last.
        callbacks: the bodies in pipelines, of all threads, as a share of the same time. Pipelines work while the
            program does, so neither share bounds the other.
    """

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
        return InputShare(waited, seconds / self.called_seconds)

    def may_pay(self, site: SiteUsage) -> bool:
        """Can a port save what is worth acting on, with a generous allowance for what cannot be seen from Python?

        An allowance is no bound: calls that wait long for the GIL may cost more.
        """
        if site.in_input and self.input_share is not None and self.input_share.is_hidden:
            return False
        seconds = site.seconds + DISPATCH_SECONDS * (site.forward.calls + site.gradient.calls)
        return seconds >= MINIMUM_EFFECT * (self.called_seconds or self.seconds)


def merge(parts: Iterable[Part], seconds: float) -> Usage:
    """Add up what the processes of a program counted, in `seconds` from its start to its end."""
    usage = Usage(seconds, 0, [])
    found: dict[tuple[Any, ...], SiteUsage] = {}
    called: list[float] = []
    for part in parts:
        usage.processes += 1
        called += part.called or ()
        usage.elements += part.waits.elements
        usage.waited_seconds += part.waits.seconds
        if part.trouble and part.trouble not in usage.troubles:
            usage.troubles.append(part.trouble)
        for site in part.sites:
            key = (site.file, site.line, site.function, site.kind, site.mode)
            if (known := found.setdefault(key, site)) is not site:
                known.add(site)
    used = [site for site in found.values() if site.forward.calls + site.gradient.calls]
    usage.sites = sorted(used, key=lambda site: (-site.seconds, site.file, site.line))
    # All processes of a machine have one clock: CLOCK_MONOTONIC, or its counterpart (time.perf_counter).
    usage.called_seconds = max(called) - min(called) if called else None
    return usage


def write_mixes(usage: Usage, recording: Path) -> dict[int, Path]:
    """Write the mix of sizes of each site next to the recording, as `--mix` reads it.

    Returns:
        number of the site, from 1 -> its file, such as `recording-mix-1.csv`; a site whose inputs have no elements, or
        no known shape, has none.
    """
    written = {}
    for number, site in enumerate(usage.sites, start=1):
        if site.calls_by_size:
            written[number] = recording.with_name(f"{recording.stem}-mix-{number}.csv")
            write_mix(written[number], site.calls_by_size)
    return written


def propose_sizes(sizes: Sequence[int]) -> list[int]:
    """Return sizes to measure for a mix: its ends and some between, spread evenly over their ranks."""
    places = {round(place * (len(sizes) - 1) / (MOST_SIZES - 1)) for place in range(MOST_SIZES)}
    return [sizes[place] for place in sorted(places)]
