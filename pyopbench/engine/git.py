"""Git, asked about the user's repository; and worktrees of it, for revisions that are measured."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pyopbench.engine.environments import package_folder
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.side import Checkout, is_installed

if TYPE_CHECKING:  # `doctor` works without the packages for reports
    from pyopbench.store.types import Revision

OLDEST = (2, 20)
"""The first version that has every option that is used."""
SECONDS = 300
"""A checkout of a large repository from a slow disk takes minutes."""
LOCKED = "pyopbench measures it"
"""Why a worktree is locked."""
OFF = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "log.showSignature=false")
"""Settings by which a repository has git run programs, for whoever works in it: hooks, what watches files, what checks
signatures. Filters stay on, because without them a worktree has not the files that were committed."""


def ask(folder: Path, *arguments: str) -> str | None:
    """Return what git prints in a folder, without the line break at the end; None where it fails or is not there."""
    done = _run(folder, arguments)
    return done.stdout.rstrip("\n") if done is not None and done.returncode == 0 else None


def require(folder: Path, *arguments: str, what: str) -> str:
    """Return what git prints in the folder of a repository."""
    done = _run(folder, arguments)
    if done is not None and done.returncode == 0:
        return done.stdout.rstrip("\n")
    lines = done.stderr.strip().splitlines() if done is not None else ["git is not installed, or took too long"]
    received = f"git {' '.join(arguments)}: {lines[-1] if lines else 'no message'}"
    raise BadInput(what, received=received, hint=f"try it by hand in {folder}")


def _run(folder: Path, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str] | None:
    # A hook that calls pyopbench sets variables that would have git look elsewhere than in the folder.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.run(
            ["git", *(word for setting in OFF for word in ("-c", setting)), "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            env={**variables, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):  # a null character is a ValueError: no program can get it
        return None


@contextmanager
def checkout_of(repository: Path, revision: Revision) -> Iterator[Checkout]:
    """Yield a private worktree of a revision, which is removed at the end; or the working tree itself."""
    if revision.is_worktree:
        yield Checkout(repository, repository, _package(repository))
        return
    with TemporaryDirectory(prefix="pyopbench-", ignore_cleanup_errors=True) as scratch:
        # It has the name of the repository's folder, which may be that of a package.
        folder = Path(scratch).resolve() / repository.name
        _forget_lost_worktrees(repository)
        try:
            require(
                repository,
                *("worktree", "add", "--detach", "--quiet", str(folder), revision.commit),
                what=f"the files of revision {revision.commit[:10]} cannot be checked out",
            )
            # Or else `git worktree prune`, which `git gc` runs, forgets it where /tmp is not mounted.
            ask(repository, "worktree", "lock", "--reason", LOCKED, str(folder))
            yield Checkout(repository, folder, _package(repository))
        finally:
            ask(repository, "worktree", "remove", "--force", "--force", str(folder))  # twice: it is locked


def _forget_lost_worktrees(repository: Path) -> None:
    """Unlock and prune the worktrees of runs that were killed, whose folders are gone."""
    for worktree in (ask(repository, "worktree", "list", "--porcelain") or "").split("\n\n"):
        folder = worktree.partition("\n")[0].removeprefix("worktree ")
        if f"\nlocked {LOCKED}" in worktree and not Path(folder).exists():
            ask(repository, "worktree", "unlock", folder)
    ask(repository, "worktree", "prune")


def _package(repository: Path) -> Path:
    """Return the folder by which workers find pyopbench: of its own repository that of the revision."""
    is_of_repository = PACKAGE.is_relative_to(repository) and not is_installed(PACKAGE)
    return PACKAGE.parent if is_of_repository else package_folder()


def commit_of_package() -> dict[str, Any]:
    """Return the commit of the checkout that pyopbench runs from; None where it runs from an installed package."""
    if is_installed(PACKAGE):  # which may lie in a repository of the user's, as a .venv does
        return {"commit": None, "dirty": None}
    commit = ask(PACKAGE, "rev-parse", "HEAD")
    changes = ask(PACKAGE, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if commit is None else bool(changes)}
