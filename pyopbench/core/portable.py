"""Which variants are written as source by `pyopbench port`."""

from __future__ import annotations

from collections.abc import Sequence

PORTABLE = ("traced", "tnp", "tnp_autograph", "tnp_xla", "njit", "njit_parallel")
"""Variants that are made of a NumPy body as it stands, and that can be written as source."""


def port_words(words: Sequence[str], variant: str, out: str) -> list[str]:
    """Return the command line that writes a port.

    Args:
        words: what names the op on a command line, with its inputs.
        variant: one of `PORTABLE`.
        out: the file that is written.
    """
    return ["pyopbench", "port", *words, "--to", variant, "--out", out]
