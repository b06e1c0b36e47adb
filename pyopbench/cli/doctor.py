"""What `pyopbench doctor` prints."""

from __future__ import annotations

from rich.markup import escape

from pyopbench.cli.output import out, print_table, say
from pyopbench.engine.doctor import Examination
from pyopbench.model import formatting


def print_examination(examination: Examination) -> None:
    """Print what this machine has and lacks for each command."""
    machine = examination.machine
    memory = f", {formatting.byte_count(machine['memory_bytes'])}" if machine["memory_bytes"] else ""
    cores = formatting.count(machine["cores"], "core")
    name = machine["cpu"] or "unknown processor"
    say(escape(f"{name}, {cores}{memory}, {machine['os']}, Python {machine['python']}"))
    out.print()
    rows = [(check.name, check.needed_by, "missing" if check.lack else check.found) for check in examination.checks]
    print_table(f"pyopbench {machine['pyopbench']} on this machine", ("what", "needed for", "found"), rows)
    lacks: dict[str, list[str]] = {}
    for check in examination.lacking:
        lacks.setdefault(check.lack, []).append(check.name)
    for lack, names in lacks.items():
        say(f"[bold]{escape(formatting.listing(names))}:[/] {escape(lack)}", mark="- ")
    if not lacks:
        out.print("nothing is missing")
