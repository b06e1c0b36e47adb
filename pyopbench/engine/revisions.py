"""Revisions of the repository that an op is in: which one that is, and which commits a command line names."""

from __future__ import annotations

import importlib.machinery
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from pyopbench.engine import git
from pyopbench.model import formatting, machine
from pyopbench.model.discover import PACKAGE, find
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps, Target
from pyopbench.store.run import short_hash
from pyopbench.store.types import WORKTREE, Revision

FIELDS = "%H%x00%cI%x00%s"
LEGAL = f"a commit, branch or tag; A..B, both included; or {WORKTREE}"


def repository_of(ops: Sequence[str], own: OwnOps) -> Path:
    """Return the top folder of the repository that ops are in, all if none are named."""
    places = {name: _place_of(name, own) for name in ops or {*find("ops"), *own}}
    tops = {name: _top_of(place.parent) for name, place in places.items() if not place.is_relative_to(PACKAGE)}
    if not tops:
        top = _top_of(PACKAGE)
        if top is not None and _is_tracked(top, PACKAGE / "__init__.py"):
            return top
        raise BadInput(
            "these are built-in ops, and this pyopbench is not installed from a clone",
            received=f"pyopbench from {PACKAGE}",
            hint="name the file of your op: pyopbench run my_op.py --rev main --rev HEAD",
        )
    top, *others = {*tops.values()}
    if top is None or others:
        raise BadInput(
            "the ops are not in one git repository, so there are no revisions",
            received=formatting.listing([f"{name} in {top or 'no repository'}" for name, top in sorted(tops.items())]),
            hint="git init, and commit what you want to compare; make one run per repository",
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
                head = _describe(top, _commit(top, "HEAD"))
                commits[name] = replace(head, dirty=_has_changes(top))
    return commits


def _is_tracked(top: Path, file: Path) -> bool:
    return git.ask(top, "ls-files", "--error-unmatch", str(file)) is not None


def _has_changes(top: Path) -> bool:
    return bool(git.ask(top, "status", "--porcelain", "--untracked-files=no"))


def _place_of(name: str, own: OwnOps) -> Path:
    target = own.get(name)
    if target is None:
        return find("ops")[name].resolve()
    return Path(target.place).resolve() if target.is_file else _module_file(target)


def _module_file(target: Target) -> Path:
    """Return the file of the package that a module is in, without importing it."""
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
    top = git.ask(folder, "rev-parse", "--show-toplevel")
    return Path(top).resolve() if top else None


def resolve(repository: Path, asked: Sequence[str]) -> list[Revision]:
    """Return the revisions that a command line names, in order: commits, ranges, `WORKTREE`."""
    revisions = [revision for text in asked for revision in _resolve_one(repository, text)]
    if len(revisions) < 2:
        raise BadInput(
            "one revision cannot be compared with anything",
            received=" ".join(f"--rev {one}" for one in asked),
            hint="for example --rev main --rev HEAD; the same revision twice shows the noise",
        )
    most = max(machine.room_for_workers(machine.SMALL_WORKER_BYTES) - 1, 2)  # one more is the control's
    if len(revisions) > most:
        raise BadInput(
            "not enough memory for so many revisions, because each needs a worker at the same time",
            received=f"{len(revisions):,} revisions",
            hint=f"name at most {most:.0f} with the memory that is free now, or make several runs",
        )
    return revisions


def _resolve_one(repository: Path, text: str) -> Iterator[Revision]:
    if text == WORKTREE:
        head = _describe(repository, _commit(repository, "HEAD"))
        yield replace(head, asked=WORKTREE, dirty=_has_changes(repository))
        return
    first, dots, last = text.partition("..")
    if not dots:
        yield replace(_describe(repository, _commit(repository, text)), asked=text)
        return
    start, end = _commit(repository, first), _commit(repository, last or "HEAD")
    arguments = ("rev-list", "--first-parent", "--reverse", f"{start}..{end}")
    commits = git.require(repository, *arguments, what="the commits of a range cannot be listed").split()
    before = git.ask(repository, "rev-parse", "--verify", "--quiet", f"{commits[0]}^1") if commits else end
    if before != start:  # on a merged branch, for example: the commits would not contain it
        raise BadInput(
            "a range must go from a commit to one that follows it along first parents",
            received=f"--rev {text}",
            hint="name both separately: --rev A --rev B",
        )
    for commit in (start, *commits):
        yield _describe(repository, commit)


def _commit(repository: Path, text: str) -> str:
    """Return the hash of what names a commit; raises `BadInput` if nothing is named so."""
    is_option = text.startswith("-") or not text.strip()
    commit = None if is_option else git.ask(repository, "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}")
    if commit is None or not re.fullmatch("[0-9a-f]{40,64}", commit):
        raise BadInput(
            f"no such revision in {repository}",
            received=f"--rev {text}",
            legal=LEGAL,
            hint="git log --oneline shows what there is; in a shallow clone, git fetch --unshallow fetches the rest",
        )
    return commit


def _describe(repository: Path, commit: str) -> Revision:
    fields = git.require(
        repository, "show", "--no-patch", f"--format={FIELDS}", commit, what="a commit cannot be read"
    ).split("\0")
    return Revision(asked=short_hash(commit), commit=commit, date=fields[1], subject=fields[2])
