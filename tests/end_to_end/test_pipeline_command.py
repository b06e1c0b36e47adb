"""`pyopbench pipeline` as a whole, of an op that ends every process of a pool: only what needs one is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import POOL
from places import ROOT

pytestmark = pytest.mark.long

SOURCE = """
import itertools, os, sys
import numpy as np
from pyopbench import OwnOp
CALLS = itertools.count()
def body(x):
    if "process" in sys.argv[0] and next(CALLS) == 300:
        os._exit(3)
    return x + np.float32(1)
OP = OwnOp(numpy=body, inputs=lambda size, rng: (rng.random(size, np.float32),), sizes=(4,))
"""
OPTIONS = ("--batch", "4", "--parallel", "1,2", "--launches", "1", "--budget", "1s", "--json")


def test_a_body_that_ends_its_process_costs_the_pool_and_the_rest_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "ending.py"
    path.write_text(SOURCE, encoding="utf-8")
    command = (sys.executable, "-m", "pyopbench", "pipeline", str(path), *OPTIONS)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    measured = {one["key"] for one in found["measured"]["blocks"]}
    without_number = {one["key"] for one in (*found["measured"]["failures"], *found["measured"]["holes"])}
    assert "map" in measured
    assert POOL.key not in measured
    assert not measured & without_number
    assert measured | without_number >= {one["key"] for one in found["measured"]["arrangements"]}
    assert found["action"] == "undecided"  # of one launch
