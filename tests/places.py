"""Where the tests and what they read lie, and the folder that they keep from one session to the next."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
CACHE = ROOT / ".pytest_cache" / "shared"
"""Shared by the processes of a session and kept until `make clean`: bytecode, what Numba compiles, locks."""
