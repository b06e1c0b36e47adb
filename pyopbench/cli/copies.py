"""`pyopbench copies`: which bridges share memory between tensors and arrays, and what the others cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pyopbench.api.alone import alone_on_this_machine
from pyopbench.cli.options import AsJson, TrustFolder, out_option
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine.copies import measure_bridges, measure_with_gpu
from pyopbench.model import formatting
from pyopbench.model.case import GPU
from pyopbench.model.discover import require_known
from pyopbench.model.ownership import require_own
from pyopbench.report.wording import copy_costs as wording
from pyopbench.store import copy_costs

DEVICES = ("cpu", GPU)

Device = Annotated[str, typer.Option("--device", metavar="NAME", help="cpu, or gpu if TensorFlow sees one.")]
OutFile = Annotated[
    Path | None,
    out_option("FILE", "Save as JSON. RUN/copies.json is shown in the report of that run."),
]


def copies(
    device: Device = "cpu", as_json: AsJson = False, out_file: OutFile = None, trust_folder: TrustFolder = False
) -> None:
    """Show which tensor-array conversions share memory, and what copying costs in the others."""
    require_known("device", [device], DEVICES)
    if out_file is not None:
        require_own(out_file.parent)
    with alone_on_this_machine(), err.status("measuring"):
        document = measure_with_gpu() if device == GPU else measure_bridges()
    if out_file is not None:
        copy_costs.write(out_file, document)
    if as_json:
        out.print_json(json.dumps(document))
        return
    size = formatting.byte_count(copy_costs.largest_bytes(document))
    for direction in copy_costs.DIRECTIONS:
        title = f"{direction}, on the host (TensorFlow {document['environment']['tensorflow']})"
        print_table(title, wording.COLUMNS, wording.table(document, direction))
    say(f"MB/s: for an array of {size}, without the cost of one element. –: nothing is copied, or it is lost in noise.")
    out.print(f"This machine copies such an array at {copy_costs.copy_rate(document) / 1e6:,.0f} MB/s.")
    for sentence in (wording.hazards(document), *wording.refusals(document)):
        out.print(sentence, markup=False)
    if copy_costs.has_gpu(document):
        for title, columns, rows in wording.gpu_tables(document):
            print_table(title, columns, rows)
        out.print(wording.gpu_devices(document), markup=False)
    if out_file is not None:
        out.print(f"written: {out_file}", soft_wrap=True, markup=False)
