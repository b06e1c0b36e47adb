"""Opens an interrupted run, and asks before anything that its folder names is installed or run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from pyopbench.api.listeners import announce, listener_here
from pyopbench.engine import environments, sides, stored_run
from pyopbench.engine.pipeline import with_program
from pyopbench.model import formatting
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import is_target
from pyopbench.store.run import OpenRun, open_run, short_hash


def open_resumable(
    folder: Path, ops: Sequence[str], inputs: Sequence[str], seed_with: str, program: str, *, yes: bool
) -> OpenRun:
    """Return a run that can go on: its ops are named again, and what it runs or installs is agreed to."""
    _require_own(folder, ops)
    names, own = read_ops(ops, inputs, seed_with)
    run = open_run(folder)
    own = with_program(names[0] if names else "", own, program, stored_run.resume_command(run))
    run.own = own
    if run.has_revisions:
        _ask_for_revisions(run, yes=yes)
    with sides.checkouts_of(run) as checkouts:
        for side in run.measured:
            stored_run.require_resumable(side, checkouts[side.side.label].moved_ops(own) if run.has_revisions else own)
    _ask_to_install(run, yes=yes)
    return run


def _ask_for_revisions(run: OpenRun, *, yes: bool) -> None:
    """Ask before revisions are checked out and run because a file of the run names them."""
    revisions = (side.side.revision for side in run.measured if side.side.revision is not None)
    commits = formatting.listing(
        list(dict.fromkeys(short_hash(one.commit) for one in revisions if not one.is_worktree))
    )
    if commits:
        _confirm(f"the run checks out {commits} of {sides.repository_of(run)} and runs that code", yes=yes)


def _ask_to_install(run: OpenRun, *, yes: bool) -> None:
    """Ask before anything is installed, or a Python started, because a file of the run names it."""
    wanted = list(dict.fromkeys(side.side.asked for side in run.measured))
    programs = [one.python for one in wanted if one.python is not None]
    if programs:  # whether something is missing for a Python is only known once that has been run
        _confirm(f"the run starts {formatting.listing(programs)}", yes=yes)
    missing = environments.missing(wanted)
    if missing:
        _confirm(f"the run installs {environments.installing_text(missing)}", yes=yes)
    announce(missing, listener_here())


def _confirm(what: str, *, yes: bool) -> None:
    if yes or (sys.stdin.isatty() and typer.confirm(f"{what}. Go on?", err=True)):
        return
    raise BadInput(
        "this run continues only if you agree",
        received=what,
        hint="pyopbench resume --yes DIR OP_FILE, if you trust the author of the folder",
    )


def _require_own(folder: Path, own: Sequence[str]) -> None:
    others = [name for name in own if not is_target(name)]
    if others:
        raise BadInput(
            "a run is resumed as it was planned, so you cannot choose other ops",
            received=" ".join(others),
            legal="your own ops of that run: my_op.py, my_module.py:function or package.module:function",
            hint=f"pyopbench resume {folder}, or a new run for other ops",
        )
