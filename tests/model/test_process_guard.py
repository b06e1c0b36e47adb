"""No process of a worker's group and no temporary folder outlives the parent; a closed guard ends nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from processes import has_ended, left_in
from pyopbench.model.process_guard import Guard, TemporaryFolder

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child"),
]

PARENT = """
import os, subprocess, sys
from pyopbench.model.process_guard import Guard
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


STARTED = """
import os, sys
from pyopbench.model.process_guard import Guard
here, there = os.pipe()
print(os.getpid(), file=sys.stderr)
Guard().start(["/bin/sh", "-c", "echo $$; read line || echo no input >&2; sleep 600"], stdout=there)
print(os.read(here, 100).decode(), flush=True)
os.kill(os.getpid(), 9)
"""


def test_what_a_guard_starts_is_watched_before_it_does_anything() -> None:
    """It is killed in its first instruction; with nobody who watches over it by its id."""
    done = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert has_ended(int(done.stdout))


def test_a_guard_that_is_closed_ends_nothing() -> None:
    leader, inner = end_parent("closes")
    assert not has_ended(inner, 0.0)
    os.killpg(leader, signal.SIGKILL)
    assert has_ended(inner)


def test_a_guard_may_be_closed_twice() -> None:
    guard = Guard(os.getpid())  # no group of this id would be left to end in any other way
    guard.close()
    guard.close()


KILLED = """
import os, pathlib, sys
from pyopbench.model import process_guard
class KilledWhenItIsMade(type(pathlib.Path())):
    def mkdir(self, *words, **options):
        if sys.argv[1] == "before it is made":
            os.kill(os.getpid(), 9)
        super().mkdir(*words, **options)
process_guard.Path = KilledWhenItIsMade
with process_guard.TemporaryFolder() as folder:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").touch()
    if sys.argv[1] == "in use":
        os.kill(os.getpid(), 9)
    process_guard.shutil.rmtree = lambda *words, **options: os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("moment", ["before it is made", "in use", "when it is removed"])
def test_a_temporary_folder_goes_with_a_process_that_is_killed(tmp_path: Path, moment: str) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", KILLED, moment], env=environment, stderr=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert left_in(tmp_path) == []


def test_a_temporary_folder_is_for_nobody_else_and_is_removed_at_the_end() -> None:
    with TemporaryFolder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert not folder.exists()
