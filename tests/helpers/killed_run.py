"""Measures a planned run with fake workers, each time in a process that may be killed.

For every line of its input, which is a folder, it forks a process that goes on with the run in it. It writes the id of
that process, what it has stored as soon as that is on the disk (of a launch its worker), and `exit` with how it ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from places import FAKE_WORKER_COMMAND
from pyopbench.engine import measure, worker_process
from pyopbench.engine.stored_run import settings_of
from pyopbench.store import run_folder
from pyopbench.store.line_types import AnyLine, LaunchLine
from pyopbench.store.run_folder import OpenSide

append = OpenSide.append


def append_and_tell(side: OpenSide, line: AnyLine) -> None:
    append(side, line)
    what = line.environment["pid"] if isinstance(line, LaunchLine) else getattr(line, "group", "")
    os.write(1, f"{line.__struct_config__.tag} {line.launch} {what}\n".encode())


def never(launches: int, most: int) -> frozenset[str]:
    raise AssertionError(launches)


def go_on(folder: Path) -> None:
    side = run_folder.open_side(folder)
    measure.measure_run(side, settings_of(side), lambda step: None, never)


def main() -> None:
    worker_process.COMMAND = FAKE_WORKER_COMMAND
    OpenSide.append = append_and_tell  # type: ignore[method-assign]
    for line in iter(sys.stdin.readline, ""):
        process = os.fork()
        if process == 0:
            go_on(Path(line.strip()))
            os._exit(0)
        os.write(1, f"process {process}\n".encode())
        _, status = os.waitpid(process, 0)
        os.write(1, f"exit {os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
