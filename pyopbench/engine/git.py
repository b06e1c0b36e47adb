"""Asks git about the user's repository: where an op is from, the commits that are named, and worktrees of them."""

from __future__ import annotations

import importlib.machinery
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from pyopbench.engine.environments import package_folder
from pyopbench.model import formatting
from pyopbench.model.child_process import ProgramFailed, output_of, which
from pyopbench.model.discover import PACKAGE, find
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps
from pyopbench.model.side import Checkout, is_installed
from pyopbench.store.run import short_hash
from pyopbench.store.types import WORKTREE, Revision

LOCKED = "pyopbench measures it"
"""Why a worktree is locked."""
SECONDS = 300
"""A checkout of a large repository from a slow disk takes minutes."""
OFF = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "log.showSignature=false")
"""Settings by which a repository has git run programs, for whoever works in it: hooks, what watches files, what checks
signatures. Filters stay on, because without them a worktree has not the files that were committed."""
FIELDS = "%H%x00%cI%x00%s"
LEGAL = f"a commit, branch or tag; or {WORKTREE}"


def ask(folder: Path, *arguments: str) -> str | None:
    """Return what git prints in a folder, without space around it; None if git fails or is not installed."""
    try:
        return require(folder, *arguments, what="git fails")
    except BadInput:
        return None


def require(folder: Path, *arguments: str, what: str) -> str:
    """Return what git prints in the folder of a repository; raises `BadInput` with `what` and its last words."""
    # A hook that calls pyopbench sets variables that would have git look elsewhere than in the folder.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    variables |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    settings = [word for setting in OFF for word in ("-c", setting)]
    try:
        return output_of([which("git") or "git", *settings, "-C", str(folder), *arguments], SECONDS, variables)
    except ProgramFailed as error:
        received = f"git {' '.join(arguments)}: {error}"
        raise BadInput(what, received=received, hint=f"try it by hand in {folder}") from error


# Find the repository of an op.


def repository_of(ops: Sequence[str], own: OwnOps) -> Path:
    """Return the top folder of the repository that contains the ops (every op if none is named)."""
    places = {name: _place_of(name, own) for name in ops or {*find("ops"), *own}}
    tops = {name: _top_of(place.parent) for name, place in places.items() if not place.is_relative_to(PACKAGE)}
    if not tops:
        top = _top_of(PACKAGE)
        is_clone = top is not None and _is_tracked(top, PACKAGE / "__init__.py")
        tops = {"pyopbench": top if is_clone else None}
    top, *others = {*tops.values()}
    if top is None or others:
        raise BadInput(
            "the ops are not in one git repository, so there are no revisions",
            received=formatting.listing([f"{name} in {top or 'no repository'}" for name, top in sorted(tops.items())]),
            hint="git init, and commit what you want to compare; built-in ops have revisions in a clone of pyopbench",
        )
    return top


def find_checked_out_commits(own: OwnOps) -> dict[str, Revision]:
    """Return the commit that is checked out where the file of each own op is, without files that git does not track."""
    commits: dict[str, Revision] = {}
    for name in own:
        with suppress(BadInput):  # no module, no commit yet, or an object is missing, as in a damaged clone
            place = _place_of(name, own)
            top = _top_of(place.parent)
            if top is not None and _is_tracked(top, place):  # a .venv is not
                commits[name] = replace(_describe(top, "HEAD"), dirty=_has_changes(top))
    return commits


def commit_of_package() -> dict[str, Any]:
    """Return the commit of the checkout that pyopbench runs from; None where it runs from an installed package."""
    if is_installed(PACKAGE):  # which may lie in a repository of the user's, as a .venv does
        return {"commit": None, "dirty": None}
    commit = ask(PACKAGE, "rev-parse", "HEAD")
    return {"commit": commit, "dirty": None if commit is None else _has_changes(PACKAGE)}


def _is_tracked(top: Path, file: Path) -> bool:
    return ask(top, "ls-files", "--error-unmatch", str(file)) is not None


def _has_changes(top: Path) -> bool:
    return bool(ask(top, "status", "--porcelain", "--untracked-files=no"))


def _place_of(name: str, own: OwnOps) -> Path:
    """Return the file of an op, or that of the package that its module is in, which is not imported."""
    target = own.get(name)
    if target is None:
        return find("ops")[name].resolve()
    if target.is_file:
        return Path(target.place).resolve()
    # A worker looks first in the current folder, which the path of this process need not have.
    spec = importlib.machinery.PathFinder.find_spec(target.place.split(".")[0], [str(Path.cwd()), *sys.path])
    places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec is not None else []
    for place in places:
        if place and Path(place).exists():
            return Path(place).resolve()
    raise BadInput(
        "cannot find the module of the op, so its repository is unknown",
        received=target.text,
        hint="change to the folder it is imported from, or name its file",
    )


def _top_of(folder: Path) -> Path | None:
    top = ask(folder, "rev-parse", "--show-toplevel")
    return Path(top).resolve() if top else None


# Resolve the revisions of a command line.


def resolve(repository: Path, asked: Sequence[str]) -> list[Revision]:
    """Return the revisions that a command line names, in order: commits, or `WORKTREE`."""
    if len(asked) < 2:
        raise BadInput(
            "one revision cannot be compared with anything",
            received=" ".join(f"--rev {text}" for text in asked),
            hint="for example --rev main --rev HEAD; the same revision twice shows the noise",
        )
    revisions = []
    for text in asked:
        is_worktree = text == WORKTREE
        revision = _describe(repository, _commit(repository, "HEAD" if is_worktree else text))
        revisions.append(replace(revision, asked=text, dirty=is_worktree and _has_changes(repository)))
    return revisions


def _commit(repository: Path, text: str) -> str:
    """Return the hash of the commit that a text names; raises `BadInput` if there is none."""
    is_option = text.startswith("-") or not text.strip()
    commit = None if is_option else ask(repository, "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}")
    if commit is None or not re.fullmatch("[0-9a-f]{40,64}", commit):
        raise BadInput(
            f"no such revision in {repository}",
            received=f"--rev {text}",
            legal=LEGAL,
            hint="git log --oneline shows what there is; in a shallow clone, git fetch --unshallow fetches the rest",
        )
    return commit


def _describe(repository: Path, commit: str) -> Revision:
    """Return a commit, named by the first digits of its hash."""
    arguments = ("show", "--no-patch", f"--format={FIELDS}", commit)
    fields = require(repository, *arguments, what="a commit cannot be read").split("\0")
    return Revision(asked=short_hash(fields[0]), commit=fields[0], date=fields[1], subject=fields[2])


# Worktrees.


@contextmanager
def checkout_of(repository: Path, revision: Revision) -> Iterator[Checkout]:
    """Yield a private worktree of a revision, which is removed at the end; or the working tree itself."""
    is_of_package = PACKAGE.is_relative_to(repository) and not is_installed(PACKAGE)
    package = PACKAGE.parent if is_of_package else package_folder()  # by which workers find pyopbench
    if revision.is_worktree:
        yield Checkout(repository, repository, package)
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
            yield Checkout(repository, folder, package)
        finally:
            ask(repository, "worktree", "remove", "--force", "--force", str(folder))  # twice: it is locked


def _forget_lost_worktrees(repository: Path) -> None:
    """Unlock and prune the worktrees of runs that were killed, whose folders are gone."""
    for worktree in (ask(repository, "worktree", "list", "--porcelain") or "").split("\n\n"):
        folder = worktree.partition("\n")[0].removeprefix("worktree ")
        if f"\nlocked {LOCKED}" in worktree and not Path(folder).exists():
            ask(repository, "worktree", "unlock", folder)
    ask(repository, "worktree", "prune")
