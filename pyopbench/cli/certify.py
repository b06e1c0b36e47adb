"""`pyopbench certify`: measures pyopbench itself, prints how reliable it is here, and fails if that is not enough."""

from __future__ import annotations

import signal
import sys
from datetime import datetime, timezone
from pathlib import Path

from rich.markup import escape

from pyopbench.api.listeners import alone_on_this_machine
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine import plan
from pyopbench.model import formatting
from pyopbench.model.errors import EXIT_INTERRUPTED, EXIT_WRONG


def certify(*, quick: bool, out_path: Path | None, as_json: bool) -> int:
    """Measure how reliable pyopbench's verdicts are on this machine."""
    # pandas and SciPy cost a second, which other commands need not pay.
    from pyopbench.engine.certify import FILE, FULL, QUICK
    from pyopbench.engine.certify import certify as measure

    folder = out_path or plan.RESULTS_FOLDER / f"certify-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # Two redraws a second: the parent shares the cores with what is measured.
        with alone_on_this_machine(), err.status("starting", refresh_per_second=2) as status:
            made = measure(
                folder,
                QUICK if quick else FULL,
                command=("pyopbench", *sys.argv[1:]),
                tell=lambda what: status.update(escape(what)),
            )
    except KeyboardInterrupt:
        err.print(f"interrupted; what was measured is in {escape(str(folder))}; start again", soft_wrap=True)
        return EXIT_INTERRUPTED
    if as_json:
        out.print_json((folder / FILE).read_bytes().decode())
    else:
        rows = [(one.what, one.found, one.promised or formatting.MISSING) for one in made.figures]
        print_table("How reliable pyopbench is on this machine", ("what", "found", "promised"), rows)
        out.print(f"certificate: {escape(str(folder / FILE))}", soft_wrap=True)
    missed = [one for one in made.figures if not one.is_kept]
    for one in missed:
        say(f"[bold red]missed:[/] {escape(f'{one.what}: {one.found}, promised: {one.promised}')}", err)
    return EXIT_WRONG if missed else 0
