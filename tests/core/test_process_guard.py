"""No process of a worker's group outlives the parent, and a guard that is closed ends nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from processes import has_ended
from pyopbench.core.process_guard import Guard

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child"),
]

PARENT = """
import os, subprocess, sys
from pyopbench.core.process_guard import Guard
watched = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], start_new_session=True, stdout=-1, stderr=-3)
inner = int(watched.stdout.readline())
guard = Guard(watched.pid)
if sys.argv[1] == "closes":
    guard.close()
print(watched.pid, inner, flush=True)
os.kill(os.getpid(), 9)
"""


def end_parent(how: str) -> list[int]:
    """Return the two processes of a group whose parent has been killed."""
    done = subprocess.run([sys.executable, "-c", PARENT, how], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [int(pid) for pid in done.stdout.split()]


def test_a_whole_group_ends_with_a_parent_that_is_killed() -> None:
    assert all(has_ended(pid) for pid in end_parent("watches"))


def test_a_guard_that_is_closed_ends_nothing() -> None:
    leader, inner = end_parent("closes")
    assert not has_ended(inner, 0.0)
    os.killpg(leader, signal.SIGKILL)
    assert has_ended(inner)


def test_a_guard_may_be_closed_twice() -> None:
    guard = Guard(os.getpid())  # no group of this id would be left to end in any other way
    guard.close()
    guard.close()
