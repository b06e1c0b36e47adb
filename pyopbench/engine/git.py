"""Questions to git about the user's repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pyopbench.model.errors import BadInput

SECONDS = 300
"""A checkout of a large repository from a slow disk takes minutes."""
OFF = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "log.showSignature=false")
"""Settings by which a repository has git run programs, for whoever works in it: hooks, what watches files, what checks
signatures. Filters stay on, because without them a worktree has not the files that were committed."""


def ask(folder: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> str | None:
    """Return what git prints in a folder, without the line break at the end; None where it fails or is not there."""
    done = _run(folder, arguments, variables)
    return done.stdout.rstrip("\n") if done is not None and done.returncode == 0 else None


def require(
    folder: Path, *arguments: str, what: str, variables: Mapping[str, str] | None = None, umask: int = -1
) -> str:
    """Return what git prints in a folder.

    Args:
        folder: of a repository.
        arguments: of git.
        what: could not be done, for the message.
        variables: of the environment, beside those of this process.
        umask: of what it makes; that of this process if negative.

    Raises:
        BadInput: git fails or is not there; with what it said last.
    """
    done = _run(folder, arguments, variables, umask)
    if done is not None and done.returncode == 0:
        return done.stdout.rstrip("\n")
    lines = done.stderr.strip().splitlines() if done is not None else ["git is not installed, or took too long"]
    raise BadInput(
        what,
        received=f"git {' '.join(arguments)}: {lines[-1] if lines else 'no message'}",
        legal="git 2.20 or later, and a repository that it can read",
        hint=f"try it by hand in {folder}",
    )


def _run(
    folder: Path, arguments: tuple[str, ...], variables: Mapping[str, str] | None, umask: int = -1
) -> subprocess.CompletedProcess[str] | None:
    # A hook that calls pyopbench sets variables that would have git look elsewhere than in the folder.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment = {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(variables or {})}
    try:
        return subprocess.run(
            ["git", *(word for one in OFF for word in ("-c", one)), "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            env=environment,
            umask=umask,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):  # a null character is a ValueError: no program can get it
        return None
