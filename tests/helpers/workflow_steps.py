"""Runs the shell of workflows and scripts as those do that run them for real, with what the tests put on the PATH."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
"""How GitHub runs a step with `shell: bash`. Source: GitHub's documentation of `jobs.<job_id>.steps[*].shell`."""


def install(folder: Path, program: str, script: str) -> None:
    """Put a program of some name into a folder."""
    (folder / program).write_text(script, encoding="utf-8")
    (folder / program).chmod(stat.S_IRWXU)


def run_shell(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], programs: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; programs of that folder, or of another, are found before all others."""
    path = {"PATH": f"{programs or folder}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        command,
        env={**os.environ, **path, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
