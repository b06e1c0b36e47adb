"""Types of the numbers and checksums in stored results, by the values that they may have."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

Positive: TypeAlias = Annotated[float, Meta(gt=0)]
NotNegative: TypeAlias = Annotated[int, Meta(ge=0)]
AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1)]
Checksum: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{8}$")]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
