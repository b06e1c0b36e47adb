"""Git, asked about the user's repository; and worktrees of it in the cache folder, for revisions that are measured.

A worktree is made once, looked at before anything in it is run, and taken away again. It is kept where a run is
interrupted, so that the run can be continued, and given back when the run is done. One that is in use is locked, by as
many processes as use it; whoever takes worktrees away lets these be.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyopbench.engine.environments import package_folder
from pyopbench.model import cache_folder
from pyopbench.model.checkout import Checkout, is_installed
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput

if TYPE_CHECKING:  # `doctor` works without the packages for reports
    from pyopbench.store.run_json import Revision

OLDEST = (2, 20)
"""The first version that has every option that is used."""
SECONDS = 300
"""A checkout of a large repository from a slow disk takes minutes."""
OFF = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "log.showSignature=false")
"""Settings by which a repository has git run programs, for whoever works in it: hooks, what watches files, what checks
signatures. Filters stay on, because without them a worktree has not the files that were committed."""


def ask(folder: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> str | None:
    """Return what git prints in a folder, without the line break at the end; None where it fails or is not there."""
    done = _run(folder, arguments, variables)
    return done.stdout.rstrip("\n") if done is not None and done.returncode == 0 else None


def require(folder: Path, *arguments: str, what: str, variables: Mapping[str, str] | None = None) -> str:
    """Return what git prints in a folder.

    Args:
        folder: of a repository.
        arguments: of git.
        what: could not be done, for the message.
        variables: of the environment, beside those of this process.

    Raises:
        BadInput: git fails or is not there; with what it said last.
    """
    done = _run(folder, arguments, variables)
    if done is not None and done.returncode == 0:
        return done.stdout.rstrip("\n")
    lines = done.stderr.strip().splitlines() if done is not None else ["git is not installed, or took too long"]
    raise BadInput(
        what,
        received=f"git {' '.join(arguments)}: {lines[-1] if lines else 'no message'}",
        legal=f"git {OLDEST[0]}.{OLDEST[1]} or later, and a repository that it can read",
        hint=f"try it by hand in {folder}",
    )


def _run(
    folder: Path, arguments: tuple[str, ...], variables: Mapping[str, str] | None
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
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):  # a null character is a ValueError: no program can get it
        return None


FOLDER = "revisions"
MOST_KEPT = 20
"""Worktrees of a repository that interrupted runs may leave; the ones that were used last are kept."""


@contextmanager
def checkout_of(repository: Path, revision: Revision) -> Iterator[Checkout]:
    """Give the checkout of a revision, made if it is not there, or if it was changed; nobody takes it away meanwhile.

    That of the working tree is the working tree itself.

    Raises:
        BadInput: git cannot make it.
    """
    if revision.is_worktree:
        yield Checkout(repository, repository, _package(repository))
        return
    cache_folder.make_folder(FOLDER)
    folder = folder_of(repository, revision.commit)
    with ExitStack() as stack:
        while True:
            lock = stack.enter_context(ExitStack())
            lock.enter_context(_lock_worktree(folder, fcntl.LOCK_SH))
            if is_whole(repository, revision.commit):
                break
            lock.close()  # between the two locks another process may make it, or take it away
            with _lock_worktree(folder, fcntl.LOCK_EX):
                _make(repository, revision.commit, folder)
        os.utime(folder)
        yield Checkout(repository, folder, _package(repository))


def _make(repository: Path, commit: str, folder: Path) -> None:
    if is_whole(repository, commit):
        return
    _remove(repository, folder)
    folder.parent.mkdir(exist_ok=True)
    require(repository, "worktree", "prune", what="stale worktrees cannot be cleared away")
    require(
        repository,
        *("worktree", "add", "--detach", "--force", "--quiet", str(folder), commit),
        what=f"the files of revision {commit[:10]} cannot be checked out",
    )


def _package(repository: Path) -> Path:
    """Return the folder by which workers find pyopbench: of its own repository that of the revision."""
    is_of_it = PACKAGE.is_relative_to(repository) and not is_installed(PACKAGE)
    return PACKAGE.parent if is_of_it else package_folder()


def folder_of(repository: Path, commit: str) -> Path:
    """Return where the checkout of a commit is, whether it is there or not.

    It has the name of the repository's folder, which may be that of a package.
    """
    return _home(repository) / commit / repository.name


def _home(repository: Path) -> Path:
    digest = hashlib.sha256(str(repository).encode()).hexdigest()[:12]
    return cache_folder.folder_of(FOLDER) / digest


def is_whole(repository: Path, commit: str) -> bool:
    """Whether the checkout of a commit is there, and its files are as they were committed."""
    folder = folder_of(repository, commit)
    if not (folder / ".git").is_file() or ask(folder, "rev-parse", "HEAD") != commit:
        return False
    return ask(folder, "status", "--porcelain", "--untracked-files=no") == ""


def give_back(repository: Path, revisions: Iterable[Revision]) -> None:
    """Take away checkouts that nobody uses, and of those that other runs have left all but the last ones."""
    for commit in dict.fromkeys(one.commit for one in revisions if not one.is_worktree):
        _remove_unused(repository, folder_of(repository, commit))
    left = sorted(_home(repository).glob("*/*/.git"), key=lambda path: path.parent.stat().st_mtime, reverse=True)
    for stale in left[MOST_KEPT:]:
        _remove_unused(repository, stale.parent)


def _remove_unused(repository: Path, folder: Path) -> None:
    with suppress(BlockingIOError), _lock_worktree(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
        _remove(repository, folder)


def _remove(repository: Path, folder: Path) -> None:
    if folder.exists():
        ask(repository, "worktree", "remove", "--force", "--force", str(folder))
        shutil.rmtree(folder, ignore_errors=True)  # what git does not take for a worktree of this repository
    with suppress(OSError):
        folder.parent.rmdir()


@contextmanager
def _lock_worktree(folder: Path, how: int) -> Iterator[None]:
    folder.parent.parent.mkdir(mode=0o700, exist_ok=True)
    with cache_folder.hold_lock(_lock_file(folder), how):
        yield


def _lock_file(folder: Path) -> Path:
    return folder.parent.with_name(f"{folder.parent.name}.lock")


def missing_commits(repository: Path, commits: Iterable[str]) -> list[str]:
    """Return the commits that have no checkout as they were committed, each once.

    Raises:
        BadInput: the repository does not have one of them any more.
    """
    found = [commit for commit in dict.fromkeys(commits) if not is_whole(repository, commit)]
    for commit in found:
        if ask(repository, "cat-file", "-e", f"{commit}^{{commit}}") is None:
            raise BadInput(
                "the repository no longer has a revision of the run",
                received=f"{commit} in {repository}",
                legal="the repository of the run, with its commits",
                hint="fetch the commit, or start a new run",
            )
    return found


def commit_of_package() -> dict[str, Any]:
    """Return the commit of the checkout that pyopbench runs from; None where it runs from an installed package."""
    if is_installed(PACKAGE):  # which may lie in a repository of the user's, as a .venv does
        return {"commit": None, "dirty": None}
    commit = ask(PACKAGE, "rev-parse", "HEAD")
    changes = ask(PACKAGE, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if commit is None else bool(changes)}
