"""The lines of `samples.jsonl` as types, one type for each kind of line. Prose: results/README.md.

A key that no type has may be there and hold anything: another version may have written it. A field with a default may
be absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from pyopbench.model.case import Case
from pyopbench.store.failed_case import Failure, check_failures, require_case
from pyopbench.store.number_types import Checksum, Positive, Share
from pyopbench.store.validation import converted, corrupt

MOST = 2.0**53
"""Of every number of a sample: the whole numbers up to here are floats, and no clock and no loop comes near it."""

# What `check_line` says of these two names the case and what each number is, so that only the schema has their lengths.
Sample: TypeAlias = Annotated[list[float], Meta(extra_json_schema={"minItems": 4, "maxItems": 5})]
Crossing: TypeAlias = Annotated[list[int], Meta(extra_json_schema={"minItems": 2, "maxItems": 2})]


class Line(Struct, frozen=True, kw_only=True, tag_field="kind", tag=str.lower):
    """What every line of `samples.jsonl` has: its kind, which is the name of its type in small letters."""

    launch: Annotated[int, Meta(ge=0)]
    crc32: Checksum | UnsetType = UNSET

    def check(self, place: str) -> None:
        """Check what no type can say.

        Raises:
            BadInput: a value makes no sense; names `place`.
        """


class Launch(Line, frozen=True, kw_only=True):
    """A worker process has started."""

    environment: dict[str, Any]


class Gpu(Struct, frozen=True, kw_only=True):
    """A reading of a GPU."""

    held_back_by: list[str] | None


class Noise(Struct, frozen=True, kw_only=True):
    """What else went on while a group was sampled."""

    wall_seconds: float
    cpu_seconds: float
    steal_seconds: float | None
    switches: int
    collections: int
    load: float | None
    mhz_low: float | None
    mhz_high: float | None
    gpus: list[Gpu] | UnsetType = UNSET


class LeftBehind(Struct, frozen=True, kw_only=True):
    """What bodies left running when a group was done."""

    threads: int
    processes: int
    cores: float


class Prepared(Line, frozen=True, kw_only=True):
    """A worker has prepared the cases of a group, which stay so."""

    group: str
    failures: list[Failure]
    seconds: float
    bytes: dict[str, Crossing] | UnsetType = UNSET
    aligned: dict[str, Share] | UnsetType = UNSET
    checked: dict[str, dict[str, float]] | UnsetType = UNSET
    left_behind: LeftBehind | UnsetType = UNSET

    def check(self, place: str) -> None:
        """Check ids and bytes, as `Line.check`."""
        check_failures(self.failures, place)
        _check_bytes(self.bytes or {}, place)


class Workers(Line, frozen=True, kw_only=True):
    """Workers that have prepared their cases and take turns from there on."""

    launches: list[int]
    at_once: int
    limited_by: Literal["", "memory", "budget"]
    worker_bytes: int | None
    available_bytes: int | None
    seconds: float


class Group(Line, frozen=True, kw_only=True):
    """Cases that were measured interleaved, in the same process."""

    group: str
    pass_: Annotated[int, Meta(ge=0)] | UnsetType = msgspec.field(default=UNSET, name="pass")
    samples: dict[str, list[Sample]]
    failures: list[Failure]
    bytes: dict[str, Crossing] | UnsetType = UNSET
    aligned: dict[str, Share] | UnsetType = UNSET
    checked: dict[str, dict[str, float]] | UnsetType = UNSET
    noise: Noise | UnsetType = UNSET
    left_behind: LeftBehind | UnsetType = UNSET
    timer_seconds: float
    timer_error_seconds: float

    def check(self, place: str) -> None:
        """Check ids, samples and bytes, as `Line.check`."""
        check_failures(self.failures, place)
        for key, samples in self.samples.items():
            case = require_case(key, place)
            if case.group != self.group:
                raise corrupt(place, f"{key} does not belong to the group {self.group}")
            _check_samples(case, samples, place)
        _check_bytes(self.bytes or {}, place)


class Lost(Line, frozen=True, kw_only=True):
    """A worker hung or died within a group."""

    group: str
    failures: list[Failure]

    def check(self, place: str) -> None:
        """Check ids, as `Line.check`."""
        check_failures(self.failures, place)


class Look(Line, frozen=True, kw_only=True):
    """The data were judged between two sweeps, or two launches, to see what is worth measuring on."""

    open: list[str]

    def check(self, place: str) -> None:
        """Check ids, as `Line.check`."""
        for key in self.open:
            require_case(key, place)


class Bandwidth(Struct, frozen=True, kw_only=True):
    """Bytes per second at one working set."""

    working_set_bytes: Annotated[int, Meta(gt=0)]
    copy: Positive
    triad: Positive


class Limits(Line, frozen=True, kw_only=True):
    """What the machine can do at most."""

    bandwidths: list[Bandwidth]
    peaks: dict[str, Positive]
    reason: str


class Ended(Line, frozen=True, kw_only=True):
    """The measuring has ended, and by what."""

    by: Literal["launches", "budget", "look"]
    looks: Annotated[int, Meta(ge=0)]
    seconds: float
    sampling_seconds: float


AnyLine: TypeAlias = Launch | Prepared | Workers | Group | Lost | Look | Limits | Ended
LINES: dict[str, type[Line]] = {line.__name__.lower(): line for line in get_args(AnyLine)}


def check_line(content: Any, place: str) -> None:
    """Check a line of samples.

    Raises:
        BadInput: it has another shape, or a value that makes no sense; names `place`.
    """
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in LINES:
        raise corrupt(place, f"kind is {kind!r}, not one of {', '.join(LINES)}")
    converted(content, LINES[kind], place).check(place)


def _check_bytes(told: Mapping[str, Sequence[int]], place: str) -> None:
    for key, crossing in told.items():
        if len(crossing) != 2 or min(crossing) < 0:
            raise corrupt(place, f"the bytes of {key} are not [bytes in >= 0, bytes out >= 0]: {crossing}")


def _check_samples(case: Case, samples: Sequence[Sequence[float]], place: str) -> None:
    lengths = (4, 5) if case.mode == "node" else (4,)  # 4 is a body alone
    if _are_right(samples, lengths):
        return
    for sample in samples:
        copies = sample[4:]
        whole = len(sample) in lengths and all(number.is_integer() for number in (*sample[:3], *copies))
        if not whole or min(sample) < 0 or max(sample) > MOST or sample[2] < 1:
            numbers = "round, order, calls >= 1, seconds >= 0" + (", copies >= 0" if case.mode == "node" else "")
            raise corrupt(place, f"a sample of {case.id} is not [{numbers}]: {sample}")


def _are_right(samples: Sequence[Sequence[float]], lengths: Sequence[int]) -> bool:
    """Whether samples are all as they have to be, a column at a time: one at a time takes longer than to parse them."""
    if len(set(map(len, samples))) != 1 or len(samples[0]) not in lengths:
        return False
    columns = list(zip(*samples, strict=True))
    whole = all(all(map(float.is_integer, column)) for column in (*columns[:3], *columns[4:]))
    return whole and min(map(min, columns)) >= 0 and max(map(max, columns)) <= MOST and min(columns[2]) >= 1
