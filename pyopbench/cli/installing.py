"""`pyopbench doctor`: what is installed and what is missing. Also messages about environments to be created."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine import doctor as engine
from pyopbench.engine import environments
from pyopbench.engine.messages import disk_text, installing_text
from pyopbench.model import formatting
from pyopbench.model.side import Environment


def doctor(*, as_json: bool) -> None:
    """Show what this machine has and lacks for each command, and what to do about it."""
    with err.status("starting TensorFlow, and compiling a kernel unless one is in the cache"):
        examination = engine.examine()
    if as_json:
        out.print_json(json.dumps(asdict(examination)))
    else:
        _print(examination)


def _print(examination: engine.Examination) -> None:
    machine, checks = examination.machine, examination.checks
    memory = f", {formatting.byte_count(machine.memory_bytes)}" if machine.memory_bytes else ""
    cores = formatting.count(machine.cores, "core")
    say(escape(f"{machine.cpu or 'unknown processor'}, {cores}{memory}, {machine.os}, Python {machine.python}"))
    out.print()
    rows = [(one.name, one.needed_by, _state_text(one)) for one in checks]
    print_table(f"pyopbench {machine.pyopbench} on this machine", ("what", "needed for", "found"), rows)
    lacks: dict[str, list[str]] = {}
    for one in examination.lacking:
        lacks.setdefault(one.lack, []).append(one.name)
    for lack, names in lacks.items():
        say(f"[bold]{escape(formatting.listing(names))}:[/] {escape(lack)}", mark="- ")
    if not examination.lacking:
        out.print("nothing is missing")


def _state_text(check: engine.Check) -> str:
    if check.state == "here":
        return check.found
    if check.state == "unknown":
        return "unknown"
    return f"no: {check.found}" if check.found else "missing"


def announce(wanted: Iterable[Environment]) -> None:
    """Say which environments that were asked for by name are going to be installed, and how much of the disk they take.

    Raises:
        BadInput: one cannot be had.
    """
    missing = environments.missing(wanted)
    if missing:
        say(installing_text([one.text for one in missing], environments.INSTALLED_GB), err)


def disk_size(wanted: Sequence[Environment]) -> str:
    """Return about how much of the disk some environments take."""
    return disk_text(len(wanted), environments.INSTALLED_GB)
