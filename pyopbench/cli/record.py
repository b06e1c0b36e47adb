"""`pyopbench record`: what the callbacks of a program cost it, counted while it runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from rich.markup import escape

from pyopbench.cli.output import err, print_table, say
from pyopbench.find import usage
from pyopbench.find.draft import BASELINES, run_words
from pyopbench.find.record import record as run_and_record
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput

MOST_SITES = 10
"""Sites that are shown; all of them are in the file."""


def record(*, command: Sequence[str], out_path: Path | None) -> int:
    """Run your program, count its Python callbacks, and show which cost most of the run."""
    if not command:
        raise BadInput(
            "no program to run",
            received="nothing after --",
            legal="a command with its arguments",
            hint="for example `pyopbench record -- python train.py --epochs 1`",
        )
    file = out_path or Path(f"recording-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}.json")
    code, used = run_and_record(list(command), file)
    _print(used, file)
    return code


def _print(used: usage.Usage, file: Path) -> None:
    err.print()
    for trouble in used.troubles:
        say(f"[yellow]warning:[/] not everything could be recorded: {escape(trouble)}", err)
    if not used.sites:
        err.print("no callback was called, or Python ran with -I, -E or -S and did not read PYTHONPATH")
        err.print(f"recording: {escape(str(file))}", soft_wrap=True)
        return
    rows = [_row(number, site, used) for number, site in enumerate(used.sites[:MOST_SITES], start=1)]
    columns = ("#", "callback", "calls", "gradients", "body", "around", "of the run")
    processes = formatting.count(used.processes, "process", "processes")
    print_table(f"Callbacks in {formatting.seconds(used.seconds)} of {processes}", columns, rows, console=err)
    more = len(used.sites) - MOST_SITES
    if more > 0:
        err.print(f"and {formatting.count(more, 'site')} more")
    say(
        "body: time per forward call. around: Python code around the body. In brackets: share of the time between the "
        "first and the last callback. Shares are lower bounds: TensorFlow's C++ and waiting for the GIL cannot be seen "
        "from Python, and a port can save more.",
        err,
    )
    if used.input_share is not None:
        say(_input_text(used.input_share), err)
    mixes = usage.write_mixes(used, file)
    for number, path in list(mixes.items())[:MOST_SITES]:
        sizes = list(used.sites[number - 1].calls_by_size)
        err.print(f"mix of #{number}: {escape(str(path))}, {_range(sizes)}", soft_wrap=True)
    err.print(f"recording: {escape(str(file))}", soft_wrap=True)
    worth = [number for number in mixes if used.may_pay(used.sites[number - 1])]
    if worth:
        _print_next(worth[0], used, mixes[worth[0]], file)
    elif not any(used.may_pay(site) for site in used.sites):
        say(_not_worth_text(), err)


def _row(number: int, site: usage.SiteUsage, used: usage.Usage) -> tuple[object, ...]:
    forward, around = site.forward, site.forward.around
    place = f"{Path(site.file).name}:{site.line} {site.body} ({site.kind}, {site.mode})"
    return (
        number,
        place,
        forward.calls,
        site.gradient.calls,
        formatting.seconds(forward.seconds / forward.calls if forward.calls else None),
        formatting.seconds(None if around is None else max(0.0, around) / forward.calls),
        _share(site, used),
    )


def _share(site: usage.SiteUsage, used: usage.Usage) -> str:
    whole = f"≥ {formatting.percent(site.seconds / used.seconds)}"
    return f"{whole} ({formatting.percent(site.seconds / used.called_seconds)})" if used.called_seconds else whole


def _input_text(found: usage.InputShare) -> str:
    waited = f"The program waited for its input {formatting.percent(found.waited)} of that time"
    if found.is_hidden:
        return f"{waited}: its input pipelines keep up, so a port of their callbacks would save little."
    return (
        f"{waited}; callbacks in input pipelines take at least {formatting.percent(found.callbacks)}, all threads "
        "together. `pyopbench pipeline` measures what a change saves."
    )


def _not_worth_text() -> str:
    least, allowed = formatting.percent(MINIMUM_EFFECT), formatting.seconds(usage.DISPATCH_SECONDS)
    return (
        f"not worth a port: every callback takes less than {least} of that time (with {allowed} a call for what cannot "
        "be seen from Python), or the program does not wait for it."
    )


def _range(sizes: list[int]) -> str:
    return (
        f"{formatting.count(len(sizes), 'size')} (elements of the largest input): "
        f"{formatting.size_range(sizes[0], sizes[-1])}"
    )


def _print_next(number: int, used: usage.Usage, mix: Path, file: Path) -> None:
    site = used.sites[number - 1]
    place = shlex.quote(f"{os.path.relpath(site.file)}:{site.line}")
    say(f"is #{number} worth a port? Draft an op with the recorded shapes and measure it:", err)
    scan = f"pyopbench scan --draft {place} --recording {shlex.quote(str(file))} --out my_op.py"
    err.print(f"  {escape(scan)}", soft_wrap=True)
    run = shlex.join(run_words("my_op.py", BASELINES.get(site.kind), mix, used.step_of(site)))
    err.print(f"  {escape(run)}", soft_wrap=True)
