"""What happens when a run is killed, a result is damaged, or a folder of results is hostile.

Workers are fake ones that measure nothing (fake_worker.py). Workers that crash, hang or exit: test_command_line.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import stored
from commands import Call
from places import DATA, HELPERS
from processes import has_ended
from pyopbench.store.run import RUN_FILE, SAMPLES_FILE

CASES = [stored.case(variant, size=size) for size in (1, 2) for variant in ("py_function_numpy", "lasting")]
MEASURING = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(HELPERS)!r})
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import run, worker_process
from pyopbench.judge.judge import Judging
from pyopbench.store.run import OpenSide, open_run

append = OpenSide.append

def append_and_tell(side, line):
    append(side, line)
    print(line.__struct_config__.tag, getattr(line, "environment", {{}}).get("pid", ""), flush=True)

worker_process.COMMAND = FAKE_WORKER_COMMAND
OpenSide.append = append_and_tell
for event in run.measure(open_run(Path(sys.argv[1])), Judging("py_function_numpy", 0.03)):
    pass
"""
"""Measures what is left of a run, and prints the kind of each line that is on the disk, and the worker of a launch."""


def begin(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", MEASURING, str(folder)], stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child")
@pytest.mark.parametrize("torn", [0, 30])
def test_a_run_that_is_killed_is_resumed_and_loses_at_most_the_row_that_was_written(tmp_path: Path, torn: int) -> None:
    settings = {**stored.SETTINGS, "launches": 2, "rounds": 6, "group_seconds": 60.0}
    folder = stored.write(tmp_path / "run", stored.run(CASES, settings=settings), [])
    with begin(folder) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().split() for _ in range(8)]
        process.kill()
    workers = [int(words[1]) for words in told if words[0] == "launch"]
    assert workers
    assert all(map(has_ended, workers)), "no worker is left behind"
    whole = stored.read_lines(folder)
    path = folder / SAMPLES_FILE
    if torn:
        path.write_bytes(path.read_bytes()[:-torn])
        whole = stored.read_lines(folder)
    with begin(folder) as process:
        process.communicate()
    assert process.returncode == 0
    lines = stored.read_lines(folder)
    assert lines[: len(whole)] == whole, "what was stored is never touched again"
    assert lines[-1]["kind"] == "ended"
    groups = Counter((line["group"], line["launch"], line.get("pass", 0)) for line in lines if line["kind"] == "group")
    assert set(groups.values()) == {1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A real run that was stored."""
    return Path(shutil.copytree(DATA / "stored_run", tmp_path / "run"))


def test_a_torn_last_line_is_dropped(call: Call, folder: Path) -> None:
    with (folder / SAMPLES_FILE).open("ab") as stream:
        stream.write(b'{"kind":"gro')
    assert call("report", folder).code == 0
    assert "unfinished last line is ignored" in (folder / "report.md").read_text(encoding="utf-8")


def test_a_link_in_place_of_a_report_is_replaced_and_never_followed(call: Call, folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep me", encoding="utf-8")
    (folder / "report.html").unlink(missing_ok=True)
    (folder / "report.html").symlink_to(victim)
    assert call("report", folder).code == 0
    assert victim.read_text(encoding="utf-8") == "keep me"
    assert not (folder / "report.html").is_symlink()


def test_nothing_that_a_folder_of_results_names_is_run(call: Call, folder: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n", encoding="utf-8")
    run: dict[str, Any] = json.loads((folder / RUN_FILE).read_bytes())
    run["own"] = {"log_huber": {"words": [str(trap)], "fingerprint": "0"}}
    run["command"] = ["python", str(trap)]
    (folder / RUN_FILE).write_text(json.dumps(run), encoding="utf-8")
    assert call("report", folder).code == 0
    assert call("resume", folder).code == 2
    assert not (tmp_path / "sprung").exists()
