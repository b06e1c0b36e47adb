"""The JSON that a command writes beside a run, of a type of its own: read whole or not at all.

`Placement` is what `placement.json` holds, `Copies` what `copies.json` holds; prose: results/README.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_atomically
from pyopbench.store.json_file import UNDECODABLE, problem
from pyopbench.store.line_types import Gpu
from pyopbench.store.run_json import NotNegative, Positive

Mode: TypeAlias = Literal["call", "eager"]
End: TypeAlias = Literal["host", "device"]
Pinned: TypeAlias = Literal["unpinned", "host", "device"]
SOME = Meta(min_length=1)


class Counts(Struct, frozen=True, kw_only=True):
    """Copies and bytes of a call."""

    to_device: tuple[NotNegative, NotNegative]
    to_host: tuple[NotNegative, NotNegative]


class CountedRow(Struct, frozen=True, kw_only=True):
    """What a call of a case copies on one route."""

    case: str
    pinned: Pinned
    inputs: End
    result: End
    refused: str = ""
    fresh: Counts | None = None
    warm: Counts | None = None
    varies: bool = False
    outputs_on: list[str] = []
    gradients_on: list[str] = []

    def __post_init__(self) -> None:
        """Refuse a row with neither counts nor a reason why there are none."""
        if not self.refused and (self.fresh is None or self.warm is None):
            raise ValueError("neither refused nor counted")


class CountedOp(Struct, frozen=True, kw_only=True):
    """Bytes of the arrays of an op."""

    size_unit: str
    arrays: dict[str, int]


class CountedVariant(Struct, frozen=True, kw_only=True):
    """What a variant is."""

    kind: str
    body: str


class Uncounted(Struct, frozen=True, kw_only=True):
    """A case whose copies could not be counted."""

    case: str
    pinned: str
    status: str
    reason: str


class Hole(Struct, frozen=True, kw_only=True):
    """A case that cannot be."""

    case: str
    reason: str


class Placement(Struct, frozen=True, kw_only=True):
    """The content of `placement.json`."""

    device: str
    tensorflow: str
    ops: dict[str, CountedOp]
    variants: dict[str, CountedVariant]
    rows: list[CountedRow]
    failures: list[Uncounted]
    holes: list[Hole]


class Software(Struct, frozen=True, kw_only=True):
    """On what was measured."""

    tensorflow: str


class Hazard(Struct, frozen=True, kw_only=True):
    """Whether a body that writes to its input changes the tensor of its caller."""

    bridge: str
    mode: Mode
    overwrites: bool


class RefusedWay(Struct, frozen=True, kw_only=True):
    """A way that TensorFlow refuses."""

    bridge: str
    layout: str
    reason: str


class CopiedRow(Struct, frozen=True, kw_only=True):
    """What one way over one bridge took at one size."""

    bridge: str
    direction: str
    mode: str
    layout: str
    size: NotNegative
    bytes: NotNegative
    shared: bool
    seconds: float


class TransferRow(Struct, frozen=True, kw_only=True):
    """What a copy between host and GPU took at one size."""

    way: str
    direction: str
    bytes: NotNegative
    seconds: Positive
    memory: list[str]


class Gpus(Struct, frozen=True, kw_only=True):
    """A reading of every GPU, or why there is none."""

    gpus: list[Gpu]
    reason: str


class Devices(Struct, frozen=True, kw_only=True):
    """Between what copies were made."""

    devices: list[str]


class Transfers(Struct, frozen=True, kw_only=True):
    """Copies between host and GPU."""

    environment: Devices
    gpu: Annotated[list[Gpus], SOME]
    rows: list[TransferRow]


class Copies(Struct, frozen=True, kw_only=True):
    """The content of `copies.json`."""

    environment: Software
    hazards: list[Hazard]
    refused: list[RefusedWay]
    rows: Annotated[list[CopiedRow], SOME]
    transfers: Transfers | None = None


def _nothing(document: dict[str, Any]) -> None:
    """Check nothing beyond the type."""


@dataclass(frozen=True)
class SideFile:
    """A kind of file beside a run.

    Attributes:
        command: that writes it, with `--out`.
        schema: its version.
        kind: its type.
        check: looks at what no type can say, and raises a `BadInput`, a `KeyError` or a
            `ValueError`.
    """

    command: str
    schema: int
    kind: type[Struct]
    check: Callable[[dict[str, Any]], object] = _nothing

    def load(self, path: Path) -> dict[str, Any]:
        """Return what a file holds.

        Raises:
            BadInput: it is not of this kind, of another schema, or not as it was written; names the place in it.
        """
        try:
            document = msgspec.json.decode(path.read_bytes())
        except UNDECODABLE as error:
            raise self._not_one(path, f"{type(error).__name__}: {error}") from error
        version = document.get("schema") if isinstance(document, dict) else self.schema
        if version != self.schema:
            raise self._not_one(path, f"schema {version!r}")
        wrong = problem(document, self.kind)
        if wrong is not None:
            raise self._not_one(path, wrong)
        try:
            self.check(document)
        except (KeyError, ValueError, BadInput) as error:
            raise self._not_one(path, f"{type(error).__name__}: {error}") from error
        return document  # type: ignore[no-any-return]

    def write(self, path: Path, content: str) -> None:
        """Write the JSON of a document, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.encode())

    def _not_one(self, path: Path, received: str) -> BadInput:
        return BadInput(
            f"{path} was not written by `{self.command}`",
            received=received,
            hint=f"create it again: {self.command} --out {path}",
        )
