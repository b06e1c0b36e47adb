"""A process with the simulated device, which runs what tests send to it one after another.

The plug-in stays for the life of a process, and TensorFlow takes seconds to import, so that tests share one wherever
they leave it as it was.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

from places import ROOT

SERVE = """
import json, sys, traceback
answers, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    lines = []
    try:
        exec(json.loads(line), {"print": lines.append})
        answer = [None, lines[-1]]
    except Exception:
        answer = [traceback.format_exc(), None]
    print(json.dumps(answer), file=answers, flush=True)
"""
BEGIN = """
import json, numpy as np, tensorflow as tf
from dataclasses import asdict
from pyopbench.ops.kernels import simulated_device as device
simulated = device.simulate()
def count(call):
    result, counts = simulated.count(call)
    return result, asdict(counts)
"""


class Process:
    """Python with the simulated device, which runs pieces of code, each with names of its own."""

    def __init__(self) -> None:
        """Start it."""
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVE], cwd=ROOT, stdin=-1, stdout=-1, stderr=self._said, text=True
        )

    def run(self, code: str) -> Any:
        """Run code after `BEGIN` and return what it printed last, as JSON."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(BEGIN + code) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the process has ended: {self.said()[-2000:]}"
        error, printed = json.loads(answer)
        assert error is None, error
        return json.loads(printed)

    def said(self) -> str:
        """Return what the process has written to stderr, which is mostly TensorFlow's log."""
        self._said.seek(0)
        return self._said.read()

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=60)
        self._said.close()
