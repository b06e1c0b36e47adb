"""`pyopbench certify`: measures pyopbench itself, prints how reliable it is here, and fails if that is not enough."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.api.listeners import alone_on_this_machine
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine import plan
from pyopbench.model import formatting
from pyopbench.model.errors import EXIT_INTERRUPTED, EXIT_WRONG, detail_label
from pyopbench.store.certificate import FILE, Certificate

if TYPE_CHECKING:
    from pyopbench.engine.certify import Stage


def certify(*, quick: bool, out_path: Path | None, as_json: bool) -> int:
    """Measure how reliable pyopbench's verdicts and decisions are on this machine."""
    # pandas and SciPy cost a second, which other commands need not pay.
    from pyopbench.engine.certify import FULL, QUICK
    from pyopbench.engine.certify import certify as measure

    created = datetime.now(timezone.utc)
    folder = out_path or plan.RESULTS_FOLDER / f"certify-{created:%Y%m%d-%H%M%S}"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with alone_on_this_machine(), _progress() as tell:
            command = ("pyopbench", *sys.argv[1:])
            certificate = measure(folder, QUICK if quick else FULL, quick=quick, command=command, tell=tell)
    except KeyboardInterrupt:
        name = escape(str(folder))
        err.print(f"interrupted; nothing was certified. What was measured is in {name}", soft_wrap=True)
        say("a certificate cannot be resumed, because its runs must follow one another: start again", err, mark="  ")
        return EXIT_INTERRUPTED
    if as_json:
        out.print_json((folder / FILE).read_bytes().decode())
    else:
        _print(certificate, folder)
    from pyopbench.report.certificate_text import AFTER_MISSES
    from pyopbench.store.promises import misses_of

    misses = misses_of(certificate)
    for miss in misses:
        say(f"[bold red]missed:[/] {escape(miss.text())}", err)
    if misses:
        say(AFTER_MISSES, err, mark=detail_label("next"))
    return EXIT_WRONG if misses else 0


@contextmanager
def _progress() -> Iterator[Callable[[Stage], None]]:
    # Two redraws a second: the parent shares the cores with what is measured.
    with err.status("starting", refresh_per_second=2) as status:
        said: set[str] = set()

        def tell(stage: Stage) -> None:
            told = f"{stage.what}, at most {formatting.duration(stage.seconds_left)} left"
            if err.is_terminal:
                status.update(escape(told))
            elif stage.what not in said:
                err.print(escape(told))
            said.add(stage.what)

        yield tell


def _print(certificate: Certificate, folder: Path) -> None:
    from pyopbench.report.certificate_text import made_text, renaming_text
    from pyopbench.report.sections.certificate import COLUMNS, rows_of

    out.print(escape(made_text(certificate)))
    print_table("How reliable pyopbench is on this machine", COLUMNS, rows_of(certificate))
    for renamed in certificate.decisions.renamed if certificate.decisions else ():
        say(escape(renaming_text(renamed)))
    out.print(f"certificate: {escape(str(folder / FILE))}", soft_wrap=True)
