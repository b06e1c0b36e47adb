"""What tests of devices need, or are skipped without."""

from __future__ import annotations

import shutil

import pytest

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "c++", "clang++"))), reason="the simulated device needs a C++ compiler"
)
