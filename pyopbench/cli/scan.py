"""`pyopbench scan`: the callbacks in sources and stored graphs, and a first op file for one of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from time import perf_counter

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.find import call_sites, draft
from pyopbench.find.call_sites import CallSite
from pyopbench.find.scan import Scan
from pyopbench.find.scan import scan as scan_paths
from pyopbench.model import formatting
from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_new

FORMAT_VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


def scan(
    *, paths: Sequence[Path], draft: str | None, out_path: Path | None, recording: Path | None, as_json: bool
) -> None:
    """Find Python callbacks (py_function, numpy_function, py_func) in sources and SavedModels."""
    if draft is not None:
        _draft(draft, out_path, recording, paths, as_json=as_json)
        return
    if not paths or out_path is not None or recording is not None:
        given = f"--out {out_path}" if out_path is not None else f"--recording {recording}"
        raise BadInput(
            "nothing to scan" if not paths else "--out and --recording need --draft",
            received="no PATH" if not paths else given,
            legal="PATH..., or --draft FILE:LINE --out FILE",
            hint="for example `pyopbench scan .`",
        )
    start = perf_counter()
    with err.status("scanning"):
        found = scan_paths(list(paths))
    lines, files = formatting.count(found.lines, "line"), formatting.count(found.files, "file")
    err.print(f"{lines} of Python in {files}, {formatting.seconds(perf_counter() - start)}")
    if as_json:
        out.print_json(
            json.dumps(
                {"version": FORMAT_VERSION, "common_risks": call_sites.COMMON_RISKS, **dataclasses.asdict(found)}
            )
        )
    else:
        _print(found)


def _print(found: Scan) -> None:
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
            out.print(f"and {len(found.skipped) - 5:,} more hidden folders and virtual environments")
    total = len(found.sites) + len(found.nodes)
    out.print(f"{formatting.count(total, 'callback')}, {formatting.count(len(found.broken), 'file')} not scanned")
    if total:
        out.print("every callback:")
        for risk in call_sites.COMMON_RISKS:
            say(risk, mark="  ")
    if found.sites:
        place = f"{found.sites[0].file}:{found.sites[0].line}"
        out.print(f"write an op file for one: pyopbench scan --draft {escape(place)} --out my_op.py", soft_wrap=True)


def _print_site(site: CallSite) -> None:
    form = "" if site.form == "call" else f", {site.form}"
    sure = "" if site.certain else ", by its name alone"
    body = f" of {escape(formatting.shorten(site.body, 40))}" if site.body else ""
    out.print(f"  {site.line}:{site.column}  [bold]{site.kind}[/]{body} in {escape(site.function)}{form}{sure}")
    out.print(f"      {site.context}, gradient: {site.gradient.replace('_', ' ')}")
    for risk in site.risks:
        say(risk, mark="      - ")


def _draft(site: str, out_path: Path | None, recording: Path | None, paths: Sequence[Path], *, as_json: bool) -> None:
    if paths or as_json:
        raise BadInput(
            "--draft writes one op file",
            received=f"--draft with {'--json' if as_json else ' '.join(map(str, paths))}",
            legal="--draft FILE:LINE, and --out FILE",
            hint="scan and draft separately",
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
            legal="a file that does not exist yet",
            hint="choose another --out",
        ) from error
    out.print(f"written: {escape(str(out_path))}", soft_wrap=True)
    out.print("to do:")
    for one in made.todo:
        out.print(f"  {escape(one)}")
    out.print("then:")
    for step in draft.next_steps(made, out_path):
        out.print(f"  {escape(step)}", soft_wrap=True)
