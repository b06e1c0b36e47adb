"""The noun for a variant with its gradient: `py_func`, or `py_func+override_map` for one that is not the usual one.

Frames, JSON and tables hold its text, `str(label)`. Nothing but this module joins or splits that text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyopbench.model.case import NO_GRADIENT

SEPARATOR = "+"


@dataclass(frozen=True)
class Label:
    """A variant, and its gradient where that is not the variant's usual one; None for a case that has none."""

    variant: str
    gradient: str | None = None

    def __str__(self) -> str:
        """Return the text of the label: `variant`, or `variant+gradient`."""
        return self.variant if self.gradient is None else f"{self.variant}{SEPARATOR}{self.gradient}"

    @classmethod
    def parse(cls, text: str) -> Label:
        """Read a label back from its text. Any text is a label: what follows the first `+` is the gradient."""
        variant, _, gradient = text.partition(SEPARATOR)
        return cls(variant, gradient or None)

    @classmethod
    def of(cls, variant: str, gradient: str, gradients: Sequence[str]) -> Label:
        """Return the label of a case, by the gradients that its variant can have, the usual one first."""
        is_usual = gradient == NO_GRADIENT or list(gradients[:1]) == [gradient]
        return cls(variant, None if is_usual else gradient)
