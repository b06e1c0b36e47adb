"""Where the tests and what they read lie, and the folder that they keep from one session to the next."""

from __future__ import annotations

import sys
from pathlib import Path

HELPERS = Path(__file__).parent
"""Modules that tests share, and programs that they start."""

TESTS = HELPERS.parent
ROOT = TESTS.parent
DATA = TESTS / "data"
EXTRAS = DATA / "extras"
"""A folder for PYOPBENCH_PATH: ops and variants that misbehave."""

FAKE_WORKER = HELPERS / "fake_worker.py"
FAKE_WORKER_COMMAND = (sys.executable, "-S", str(FAKE_WORKER))
"""It needs nothing of what is installed, which Python would look through first; hundreds of them are started."""

CACHE = ROOT / ".pytest_cache" / "shared"
"""Shared by the processes of a session and kept until `make clean`: bytecode, what Numba compiles, locks."""


def line_of(path: Path, code: str) -> int:
    """Return the number of the only line of a file that is this code."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines.count(code) == 1, f"{code} is in {lines.count(code)} lines of {path}"
    return lines.index(code) + 1
