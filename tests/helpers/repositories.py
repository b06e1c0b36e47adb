"""Git repositories that tests make, of a few files and commits each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

NAMES = {
    **{f"GIT_{who}_NAME": "a tester" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "tester@localhost" for who in ("AUTHOR", "COMMITTER")},
}
APART = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
"""What a developer has set for git is not for tests."""


def git(folder: Path, *words: str, day: int = 1) -> str:
    """Return what git prints; a commit is of some day of January 2026."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"2026-01-{day:02}T12:00:00+00:00")
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        env={**kept, **NAMES, **APART, **dates},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    """Make an empty repository with the branch main."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    return folder.resolve()


def commit(folder: Path, files: Mapping[str, str | None], subject: str = "a change", day: int = 1) -> str:
    """Commit files with their content, None for one that is taken away; return the hash."""
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", subject, day=day)
    return git(folder, "rev-parse", "HEAD")
