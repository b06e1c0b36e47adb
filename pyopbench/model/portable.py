"""Which variants are written as source by `pyopbench port`, and what formats them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PORTABLE = ("traced", "traced_xla", "numba_op")
"""Variants that are made of a NumPy body as it is, and that can be written as source."""

BRIDGE = "numpy_function"
"""The variant that calls the unchanged body on arrays; a body of `tf.py_function` then takes arrays."""

BATCHED = {"traced_map": "map", "numpy_whole": "whole", "numba_op_loop": "loop"}
"""Ports that take a batch, and how: `map`, the port of one example under `tf.vectorized_map`; `whole`, the body called
once with the batch; or `loop`, over the examples in one op."""

BATCHED_PORTS = {"traced": "traced_map", "numba_op": "numba_op_loop"}
"""Ports that take a batch, by the port of one example."""

WRITABLE = (*PORTABLE, BRIDGE, *BATCHED)
"""All that `--to` takes."""


def port_words(words: Sequence[str], variant: str, out: str) -> list[str]:
    """Return the command line that writes a port.

    Args:
        words: what names the op on a command line, with its inputs.
        variant: one of `PORTABLE`.
        out: the file that is written.
    """
    return ["pyopbench", "port", *words, "--to", variant, "--out", out]


def which_ruff() -> str | None:
    """Return the Ruff of the shell, else that next to this Python; None where there is none."""
    return shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))


def format_text(text: str) -> str:
    """Return a text as Ruff formats it by default; as it is where there is no Ruff.

    By the settings of no folder, so that a port has the same bytes wherever it is measured and written.
    """
    ruff = which_ruff()
    if ruff is None:
        return text
    command = [ruff, "format", "--isolated", "--no-cache", "--stdin-filename", "port.py", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else text
