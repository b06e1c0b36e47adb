"""Revisions of the repository that an op is in: which one that is, and which commits a command line names."""

from __future__ import annotations

import importlib.machinery
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from pyopbench.engine import git, memory
from pyopbench.model import formatting
from pyopbench.model.discover import PACKAGE, find
from pyopbench.model.errors import BadInput
from pyopbench.model.option_text import option_text
from pyopbench.model.own_target import OwnOps, Target
from pyopbench.store.run import short_hash
from pyopbench.store.types import WORKTREE, Revision

WORKER_BYTES = 600 << 20
"""Of a worker that has prepared few cases, about: TensorFlow 2.21 takes 450 MiB when it is imported."""
FIELDS = "%H%x00%cI%x00%s"
LEGAL = f"a commit, branch or tag; A..B, both included; or {WORKTREE}"


def repository_of(ops: Sequence[str], own: OwnOps) -> Path:
    """Return the top folder of the repository that ops are in.

    Args:
        ops: their names; none are all.
        own: the own ops among them.

    Raises:
        BadInput: they are in none, or in several; pyopbench's own ops, and it is not run from a checkout.
    """
    places = {name: _place_of(name, own) for name in ops or {*find("ops"), *own}}
    outside = {name: place for name, place in places.items() if not place.is_relative_to(PACKAGE)}
    tops = {name: _top_of(place.parent) for name, place in outside.items()}
    found = {*tops.values()}
    if len(found) == 1 and None not in found:
        return next(top for top in found if top is not None)
    if outside:
        without_repository = [name for name, top in tops.items() if top is None]
        several = formatting.listing(sorted(map(str, found)))
        raise BadInput(
            "the ops are not in one git repository, so there are no revisions",
            received=f"{formatting.listing(without_repository)} in no repository" if without_repository else several,
            legal="ops whose files are in one git repository",
            hint="git init, and commit what you want to compare"
            if without_repository
            else "make one run per repository",
        )
    top = _top_of(PACKAGE)
    if top is None or git.ask(top, "ls-files", "--error-unmatch", str(PACKAGE / "__init__.py")) is None:
        raise BadInput(
            "these are built-in ops, and this pyopbench is not installed from a clone",
            received=f"pyopbench from {PACKAGE}",
            legal="your own op in a git repository, or pyopbench installed from a clone with pip install -e",
            hint="name the file of your op: pyopbench run my_op.py --rev main --rev HEAD",
        )
    return top


def find_checked_out_commits(own: OwnOps) -> dict[str, Revision]:
    """Return the commit that is checked out where the file of each own op is, without files that git does not track."""
    found: dict[str, Revision] = {}
    of_top: dict[Path, Revision | None] = {}
    for name in own:
        try:
            place = _place_of(name, own)
        except BadInput:
            continue
        top = _top_of(place.parent)
        if top is None or git.ask(top, "ls-files", "--error-unmatch", str(place)) is None:  # as in a .venv
            continue
        if top not in of_top:
            of_top[top] = _checked_out(top)
        revision = of_top[top]
        if revision is not None:
            found[name] = revision
    return found


def _checked_out(repository: Path) -> Revision | None:
    commit = git.ask(repository, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return None
    changes = git.ask(repository, "status", "--porcelain", "--untracked-files=no")
    try:
        return replace(_described(repository, commit), dirty=bool(changes))
    except BadInput:  # an object is missing, as in a damaged clone
        return None


def _place_of(name: str, own: OwnOps) -> Path:
    target = own.get(name)
    if target is None:
        return find("ops")[name].resolve()
    return Path(target.place).resolve() if target.is_file else _module_file(target)


def _module_file(target: Target) -> Path:
    """Return the file of the package that a module is in, without importing it.

    Raises:
        BadInput: it is not found.
    """
    top = target.place.split(".")[0]
    # A worker looks first in the current folder, which the path of this process need not have.
    spec = importlib.machinery.PathFinder.find_spec(top, [str(Path.cwd()), *sys.path])
    places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec is not None else []
    found = next((Path(place) for place in places if place and Path(place).exists()), None)
    if found is None:
        raise BadInput(
            "cannot find the module of the op, so its repository is unknown",
            received=target.text,
            legal="a module that Python finds from the current folder",
            hint="change to the folder it is imported from, or name its file",
        )
    return found.resolve()


def _top_of(folder: Path) -> Path | None:
    top = git.ask(folder, "rev-parse", "--show-toplevel")
    return Path(top).resolve() if top else None


def named(repository: Path, asked: Sequence[str]) -> list[Revision]:
    """Return the revisions that a command line names, in order.

    Args:
        repository: its top folder.
        asked: as typed: commits, ranges, `WORKTREE`.

    Raises:
        BadInput: there is no such commit, fewer than two are named, or more than can be measured.
    """
    found = [revision for text in asked for revision in _resolved(repository, text)]
    if len(found) < 2:
        raise BadInput(
            "one revision cannot be compared with anything",
            received=option_text("rev", list(asked)),
            legal=LEGAL,
            hint=f"for example {option_text('rev', ['main', 'HEAD'])}; the same revision twice shows the noise",
        )
    most = most_at_once()
    if most is not None and len(found) > most:
        raise BadInput(
            "not enough memory for so many revisions, because each needs a worker at the same time",
            received=f"{len(found):,} revisions",
            legal=f"at most {most} with the memory that is free now",
            hint="name fewer commits, or make several runs",
        )
    return found


def _list_first_parents(repository: Path, first: str, last: str) -> list[str] | None:
    """Return the commits after one up to another along first parents, oldest first.

    None if the first is not on that line, for example on a merged branch: the commits would then not contain it.
    """
    asked = ("rev-list", "--first-parent", "--reverse", f"{first}..{last}")
    listed = git.require(repository, *asked, what="the commits of a range cannot be listed").split()
    if not listed:
        return [] if first == last else None
    return listed if git.ask(repository, "rev-parse", "--verify", "--quiet", f"{listed[0]}^1") == first else None


def most_at_once() -> int | None:
    """Return for how many revisions there is memory, beside the control; None where the system does not tell."""
    available = memory.available_bytes()
    return None if available is None else max(int(available * (1 - memory.SPARE_SHARE)) // WORKER_BYTES - 1, 2)


def _resolved(repository: Path, text: str) -> Iterator[Revision]:
    if text == WORKTREE:
        yield _working_tree(repository)
        return
    first, dots, last = text.partition("..")
    if not dots:
        yield replace(_described(repository, _commit(repository, text)), asked=text)
        return
    start, end = _commit(repository, first), _commit(repository, last or "HEAD")
    listed = _list_first_parents(repository, start, end)
    if listed is None:
        raise BadInput(
            "a range must go from a commit to one that follows it along first parents",
            received=option_text("rev", [text]),
            legal="A..B where git log --first-parent B shows A",
            hint=f"name both separately: {option_text('rev', ['A', 'B'])}",
        )
    for commit in (start, *listed):
        yield _described(repository, commit)


def _commit(repository: Path, text: str) -> str:
    """Return the hash of what names a commit.

    Raises:
        BadInput: nothing is named so.
    """
    is_option = text.startswith("-") or not text.strip()
    found = None if is_option else git.ask(repository, "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}")
    if found is None or not re.fullmatch("[0-9a-f]{40,64}", found):
        is_shallow = git.ask(repository, "rev-parse", "--is-shallow-repository") == "true"
        remedy = "fetch its history: git fetch --unshallow" if is_shallow else "git log --oneline shows what there is"
        received = option_text("rev", [text])
        raise BadInput(f"no such revision in {repository}", received=received, legal=LEGAL, hint=remedy)
    return found


def _described(repository: Path, commit: str) -> Revision:
    said = git.require(
        repository, "show", "--no-patch", f"--format={FIELDS}", commit, what="a commit cannot be read"
    ).split("\0")
    return Revision(asked=short_hash(commit), commit=commit, date=said[1], subject=said[2])


def _working_tree(repository: Path) -> Revision:
    changes = git.ask(repository, "status", "--porcelain", "--untracked-files=no")
    head = _described(repository, _commit(repository, "HEAD"))
    return replace(head, asked=WORKTREE, dirty=bool(changes))
