"""Which variants are written as source by `pyopbench port`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PORTABLE = ("traced", "traced_xla", "keras_ops", "tnp", "tnp_autograph", "tnp_xla", "njit", "njit_parallel")
"""Variants that are made of a NumPy body as it stands, and that can be written as source."""

SKELETON = "custom_op"
"""The variant of which all but its loops is written: those are for the user."""


@dataclass(frozen=True)
class BatchedPort:
    """A port that takes a batch of examples, where the body takes one.

    Attributes:
        writer: the variant of one example that is written, or the name of the form if that is written otherwise.
        how: `map`, the port of one example under `tf.vectorized_map`; `whole`, what the body does when it is called
            once with the batch; or `loop`, over the examples in one callback.
    """

    writer: str
    how: str


BATCHED = {
    **{
        f"{variant}_{how}": BatchedPort(variant, how)
        for variant in ("traced", "tnp", "tnp_autograph")
        for how in ("map", "whole")
    },
    "numpy_whole": BatchedPort("numpy_whole", "whole"),
    "njit_loop": BatchedPort("njit_loop", "loop"),
}
"""Batched forms that can be written as source, by the names that `pyopbench verify --batch` gives them."""

WRITABLE = (*PORTABLE, *BATCHED, SKELETON)
"""All that `--to` takes."""


def port_words(words: Sequence[str], variant: str, out: str) -> list[str]:
    """Return the command line that writes a port.

    Args:
        words: what names the op on a command line, with its inputs.
        variant: one of `PORTABLE`.
        out: the file that is written.
    """
    return ["pyopbench", "port", *words, "--to", variant, "--out", out]
