"""The content of `run.json` as types: what was planned, on what, with which settings. Prose: results/README.md.

A key that no type has may be there and hold anything: another version may have written it. A field with a default may
be absent.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from pyopbench.model.case import Until
from pyopbench.store.certificate import SCHEMA as CERTIFICATE_SCHEMA
from pyopbench.store.certificate import Environment, check_certificate
from pyopbench.store.failed_case import Failure, check_failures, require_case
from pyopbench.store.number_types import AtLeastOne, Checksum, NotNegative, Positive
from pyopbench.store.shards import Merged, Shard
from pyopbench.store.validation import converted

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
    until: Until | UnsetType = UNSET
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
    crc32: Checksum | UnsetType = UNSET
    certificate: StoredCertificate | UnsetType | None = UNSET


def check_run(content: Any, place: str) -> None:
    """Check the content of a `run.json`.

    Raises:
        BadInput: it has another shape, or a case id that is none; names `place`.
    """
    run = converted(content, Run, place)
    for key in run.cases:
        require_case(key, place)
    check_failures(run.skips, place)
    for division in (run.shard, run.merged):
        if division:
            division.check(place)
    if isinstance(run.certificate, dict):
        check_certificate(content["certificate"], f"{place}: certificate")
