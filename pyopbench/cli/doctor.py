"""`pyopbench doctor`: what is installed and what is missing."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine import doctor as engine
from pyopbench.model import formatting


def doctor(*, as_json: bool) -> None:
    """Show what this machine has and lacks for each command, and what to do about it."""
    with err.status("starting TensorFlow, and compiling a kernel unless one is in the cache"):
        examination = engine.examine()
    if as_json:
        out.print_json(json.dumps(asdict(examination)))
        return
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
