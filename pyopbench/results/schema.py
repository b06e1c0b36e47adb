"""The schema of a run: `run.json` and the lines of `samples.jsonl` as types. Prose: results/README.md.

A key that no type has may be there and hold anything: another version may have written it. A field with a default may
be absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from pyopbench.core.errors import BadInput
from pyopbench.core.model import CHANGES, Case
from pyopbench.results.certificate import SCHEMA as CERTIFICATE_SCHEMA
from pyopbench.results.certificate import Certificate, Environment, check_certificate
from pyopbench.results.shards import Merged, Shard
from pyopbench.results.validation import converted, corrupt

STATUSES = ("unsupported", "wrong", "elided", "raised", "timeout", "crashed")
DIALECT = "https://json-schema.org/draft/2020-12/schema"

MOST = 2.0**53
"""Of every number of a sample: the whole numbers up to here are floats, and no clock and no loop comes near it."""

Positive: TypeAlias = Annotated[float, Meta(gt=0)]
NotNegative: TypeAlias = Annotated[int, Meta(ge=0)]
AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1)]
Checksum: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{8}$")]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
# What `check_line` says of these two names the case and what each number is, so that only the schema has their lengths.
Sample: TypeAlias = Annotated[list[float], Meta(extra_json_schema={"minItems": 4, "maxItems": 5})]
StoredCertificate: TypeAlias = Annotated[
    dict[str, Any],
    Meta(
        extra_json_schema={
            "required": ["schema"],
            "properties": {"schema": {"type": "integer"}},
            "if": {"properties": {"schema": {"const": CERTIFICATE_SCHEMA}}},
            "then": {"$ref": "#/$defs/Certificate"},
        }
    ),
]
"""One of an earlier pyopbench is let be, whatever it holds."""
Crossing: TypeAlias = Annotated[list[int], Meta(extra_json_schema={"minItems": 2, "maxItems": 2})]


class Change(Struct, frozen=True, kw_only=True):
    """What gets a port past the line of a user's file that it failed at."""

    kind: Annotated[str, Meta(extra_json_schema={"enum": list(CHANGES)})]
    line: AtLeastOne
    now: str
    then: str


class Failure(Struct, frozen=True, kw_only=True):
    """A case without a number, and why."""

    case: str
    status: Annotated[str, Meta(extra_json_schema={"enum": list(STATUSES)})]
    reason: str
    launch: int | None
    change: Change | UnsetType | None = UNSET


class Settings(Struct, frozen=True, kw_only=True):
    """How a run was measured."""

    seed: NotNegative
    launches: AtLeastOne
    rounds: AtLeastOne
    block_seconds: Positive
    group_seconds: Positive
    budget_seconds: Annotated[float, Meta(ge=0)] | None
    case_timeout_seconds: Positive
    memory_limit_bytes: AtLeastOne | UnsetType | None = UNSET
    linearity: bool | UnsetType = UNSET
    further: bool | UnsetType = UNSET
    quick: bool
    baseline: str
    first_look: NotNegative | UnsetType = UNSET
    first_rounds: AtLeastOne | UnsetType = UNSET
    evenly: bool | UnsetType = UNSET
    pairs: dict[str, str] | UnsetType = UNSET
    tf: str | UnsetType = UNSET


class Op(Struct, frozen=True, kw_only=True):
    """What an op is."""

    summary: str
    source: str
    sizes: list[int]
    quick_sizes: list[int]
    size_unit: str
    dtypes: list[str]
    outputs: list[str]
    differentiable: bool
    bytes_moved: dict[str, dict[str, int]]
    flops: dict[str, int]
    tried: list[str] | UnsetType = UNSET


class Variant(Struct, frozen=True, kw_only=True):
    """What a variant is, or a part that is measured beside it."""

    summary: str
    body: str
    kind: str
    effort: int
    gradients: list[str]
    modes: list[str]
    also_on: list[str] | UnsetType = UNSET


class Gradient(Struct, frozen=True, kw_only=True):
    """What a mechanism of gradients is."""

    summary: str
    source: str
    works_in: list[str]


class Catalogue(Struct, frozen=True, kw_only=True):
    """What the ops, variants and gradients of a run are, by name."""

    ops: dict[str, Op]
    variants: dict[str, Variant]
    gradients: dict[str, Gradient]
    parts: dict[str, Variant] | UnsetType = UNSET
    floor: dict[str, Op] | UnsetType = UNSET


class Own(Struct, frozen=True, kw_only=True):
    """Where an op of the user's own comes from."""

    words: list[str]
    fingerprint: str


class Revision(Struct, frozen=True, kw_only=True):
    """The revision of the user's repository that a run is of."""

    asked: str
    commit: Annotated[str, Meta(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")]
    date: str
    subject: str
    dirty: bool


class Run(Struct, frozen=True, kw_only=True):
    """The content of `run.json`: what was planned, on what, with which settings."""

    schema: int
    run: str
    created: str
    command: list[str]
    settings: Settings
    environment: Environment
    catalogue: Catalogue
    cases: list[str]
    skips: list[Failure]
    own: dict[str, Own] | UnsetType = UNSET
    revision: Revision | UnsetType = UNSET
    shard: Shard | UnsetType = UNSET
    merged: Merged | UnsetType = UNSET
    checksums: Literal["crc32"] | UnsetType = UNSET
    crc32: Checksum | UnsetType = UNSET
    certificate: StoredCertificate | UnsetType | None = UNSET


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
        _check_failures(self.failures, place)
        _check_bytes(self.bytes or {}, place)


class Workers(Line, frozen=True, kw_only=True):
    """Workers that have prepared their cases and take turns from there on."""

    launches: list[int]
    at_once: int
    limited_by: Annotated[str, Meta(extra_json_schema={"enum": ["", "memory", "budget"]})]
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
        _check_failures(self.failures, place)
        for key, samples in self.samples.items():
            case = _require_case(key, place)
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
        _check_failures(self.failures, place)


class Look(Line, frozen=True, kw_only=True):
    """The data were judged between two sweeps, or two launches, to see what is worth measuring on."""

    open: list[str]

    def check(self, place: str) -> None:
        """Check ids, as `Line.check`."""
        for key in self.open:
            _require_case(key, place)


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

    by: Annotated[str, Meta(extra_json_schema={"enum": ["launches", "budget", "look"]})]
    looks: Annotated[int, Meta(ge=0)]
    seconds: float
    sampling_seconds: float


AnyLine: TypeAlias = Launch | Prepared | Workers | Group | Lost | Look | Limits | Ended
LINES: dict[str, type[Line]] = {line.__name__.lower(): line for line in get_args(AnyLine)}

PUBLISHED: dict[str, tuple[str, Any]] = {
    "run": ("pyopbench run.json", Run),
    "samples": ("a line of pyopbench samples.jsonl", AnyLine),
}
"""What `docs/` has a JSON Schema of, by the name in front of `.schema.json`: its title and its type."""
INNER: dict[str, tuple[Any, ...]] = {"run": (Certificate,)}
"""Types that such a schema names and that no field of its type is of."""


def check_run(content: Any, place: str) -> None:
    """Check the content of a `run.json`.

    Raises:
        BadInput: it has another shape, or a case id that is none; names `place`.
    """
    run = converted(content, Run, place)
    for key in run.cases:
        _require_case(key, place)
    _check_failures(run.skips, place)
    for division in (run.shard, run.merged):
        if division:
            division.check(place)
    if isinstance(run.certificate, dict):
        check_certificate(content["certificate"], f"{place}: certificate")


def check_line(content: Any, place: str) -> None:
    """Check a line of samples.

    Raises:
        BadInput: it has another shape, or a value that makes no sense; names `place`.
    """
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in LINES:
        raise corrupt(place, f"kind is {kind!r}, not one of {', '.join(LINES)}")
    converted(content, LINES[kind], place).check(place)


def as_text(name: str) -> str:
    """Return a JSON Schema (draft 2020-12), by its name in `PUBLISHED`, as the text of its file."""
    title, kind = PUBLISHED[name]
    _, nouns = msgspec.json.schema_components([kind, *INNER.get(name, ())], ref_template="#/$defs/{name}")
    document: dict[str, Any] = {"$schema": DIALECT, **msgspec.json.schema(kind), "$defs": nouns, "title": title}
    for noun in document["$defs"].values():  # how the rest of a docstring is indented depends on the version of Python
        noun["description"] = noun["description"].partition("\n")[0]
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _require_case(key: str, place: str) -> Case:
    try:
        return Case.from_id(key)
    except BadInput as error:
        raise corrupt(place, f"{key!r} is not the id of a case") from error


def _check_failures(failures: Sequence[Failure], place: str) -> None:
    for failure in failures:
        _require_case(failure.case, place)
        if failure.change and failure.change.kind not in CHANGES:
            raise corrupt(place, f"change is of the kind {failure.change.kind!r}, not one of {', '.join(CHANGES)}")
        if failure.status not in STATUSES:
            raise corrupt(place, f"status is {failure.status!r}, not one of {', '.join(STATUSES)}")


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
