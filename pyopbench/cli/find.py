"""`pyopbench scan` and `record`: the callbacks in sources and stored graphs, and what they cost a program that runs."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path
from time import perf_counter

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.find import draft, usage
from pyopbench.find.call_sites import CallSite
from pyopbench.find.draft import BASELINES, run_words
from pyopbench.find.record import record as run_and_record
from pyopbench.find.risks import COMMON_RISKS
from pyopbench.find.sarif import document, new_results, read_baseline
from pyopbench.find.scan import Scan
from pyopbench.find.scan import scan as scan_paths
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_atomically, write_new

FORMAT_VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""
SEPARATELY = "scan and draft separately"


def scan(
    *,
    paths: Sequence[Path],
    draft: str | None,
    out_path: Path | None,
    recording: Path | None,
    sarif: Path | None,
    baseline: Path | None,
    fail_on: str | None,
    as_json: bool,
) -> int:
    """Find Python callbacks (py_function, numpy_function, py_func) in sources, notebooks and SavedModels."""
    if draft is not None:
        compared = {"--sarif": sarif, "--baseline": baseline, "--fail-on": fail_on}
        if also := [name for name, value in compared.items() if value is not None]:
            raise BadInput("--draft writes one op file", received=f"--draft with {also[0]}", hint=SEPARATELY)
        _draft(draft, out_path, recording, paths, as_json=as_json)
        return 0
    if fail_on == "new" and baseline is None:
        raise BadInput(
            "--fail-on new needs --baseline",
            received="--fail-on new",
            hint="once: pyopbench scan PATH --sarif baseline.sarif; then add --baseline baseline.sarif",
        )
    known = None if baseline is None else read_baseline(baseline)
    if not paths or out_path is not None or recording is not None:
        given = f"--out {out_path}" if out_path is not None else f"--recording {recording}"
        raise BadInput(
            "nothing to scan" if not paths else "--out and --recording need --draft",
            received="no PATH" if not paths else given,
            hint="name a PATH, or --draft FILE:LINE --out FILE; for example `pyopbench scan .`",
        )
    start = perf_counter()
    with err.status("scanning"):
        found = scan_paths(list(paths))
    lines, files = formatting.count(found.lines, "line"), formatting.count(found.files, "file")
    err.print(f"{lines} of Python in {files}, {formatting.seconds(perf_counter() - start)}")
    if as_json:
        out.print_json(
            json.dumps({"version": FORMAT_VERSION, "common_risks": COMMON_RISKS, **dataclasses.asdict(found)})
        )
    else:
        _print_scan(found)
    if sarif is None and known is None:
        return 0
    log = document(found, Path.cwd(), known)
    if sarif is not None:
        write_atomically(sarif, f"{json.dumps(log, indent=1)}\n".encode())
        err.print(f"SARIF: {escape(str(sarif))}", soft_wrap=True)
    new = new_results(log)
    if known is not None:
        err.print(f"{formatting.count(len(new), 'callback')} not in the baseline", soft_wrap=True)
        for place in new:
            err.print(f"  {escape(place)}", soft_wrap=True)
    return 1 if new and fail_on == "new" else 0


def _print_scan(found: Scan) -> None:
    for file, sites in groupby(found.sites, key=lambda site: site.file):
        out.print(f"[bold]{escape(file)}[/]", soft_wrap=True)
        for site in sites:
            _print_site(site)
        out.print()
    if found.nodes:
        rows = [(node.node, node.op, node.function or "–", node.file) for node in found.nodes]
        print_table("In stored graphs", ("node", "op", "in function", "file"), rows)
    if found.broken:
        out.print("[italic]Not scanned[/]")
        for broken in found.broken:
            say(f"{escape(broken.file)}: {escape(broken.reason)}")
        out.print()
    if found.skipped:
        say(f"skipped: {escape(formatting.listing(found.skipped[:5]))}")
        if len(found.skipped) > 5:
            out.print(f"and {len(found.skipped) - 5:,} more hidden folders, virtual environments and results of advise")
    total = len(found.sites) + len(found.nodes)
    out.print(f"{formatting.count(total, 'callback')}, {formatting.count(len(found.broken), 'file')} not scanned")
    if total:
        out.print("every callback:")
        for risk in COMMON_RISKS:
            say(risk, mark="  ")
    if found.sites:
        place = shlex.quote(f"{found.sites[0].file}:{found.sites[0].line}")
        out.print(f"write an op file for one: pyopbench scan --draft {escape(place)} --out my_op.py", soft_wrap=True)


def _print_site(site: CallSite) -> None:
    form = "" if site.form == "call" else f", {site.form}"
    sure = "" if site.certain else ", by its name alone"
    body = f" of {escape(formatting.shorten(site.body, 40))}" if site.body else ""
    cell = f", cell {site.cell} line {site.cell_line}" if site.cell else ""
    out.print(f"  {site.line}:{site.column}  [bold]{site.kind}[/]{body} in {escape(site.function)}{form}{sure}{cell}")
    out.print(f"      {site.context}, gradient: {site.gradient.replace('_', ' ')}")
    for risk in site.risks:
        say(escape(risk.text), mark="      - ")


def _draft(site: str, out_path: Path | None, recording: Path | None, paths: Sequence[Path], *, as_json: bool) -> None:
    if paths or as_json:
        raise BadInput(
            "--draft writes one op file",
            received=f"--draft with {'--json' if as_json else ' '.join(map(str, paths))}",
            hint=SEPARATELY,
        )
    made = draft.draft(site, out_path, recording)
    if out_path is None:
        out.print(made.code, soft_wrap=True, markup=False)
        return
    try:
        write_new(out_path, made.code.encode())
    except FileExistsError as error:
        raise BadInput(
            "the file already exists",
            received=out_path,
            hint="choose another --out",
        ) from error
    out.print(f"written: {escape(str(out_path))}", soft_wrap=True)
    out.print("to do:")
    for one in made.todo:
        out.print(f"  {escape(one)}")
    out.print("then:")
    for step in draft.next_steps(made, out_path):
        out.print(f"  {escape(step)}", soft_wrap=True)


MOST_SITES = 10
"""Sites that are shown; all of them are in the file."""


def record(*, command: Sequence[str], out_path: Path | None, trace: Path | None) -> int:
    """Run your program, count its Python callbacks, and show which cost most of the run."""
    if not command:
        raise BadInput(
            "no program to run",
            received="nothing after --",
            hint="for example `pyopbench record -- python train.py --epochs 1`",
        )
    file = out_path or Path(f"recording-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}.json")
    code, used = run_and_record(list(command), file, trace)
    _print_usage(used, file)
    if trace is not None:
        err.print(f"trace: {escape(str(trace))}; open it at ui.perfetto.dev", soft_wrap=True)
    return code


def _print_usage(used: usage.Usage, file: Path) -> None:
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
