"""`pyopbench copies`: which bridges share memory between tensors and arrays, and what the others cost."""

from __future__ import annotations

import json
from pathlib import Path

from pyopbench.api.alone import alone_on_this_machine
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine import copies as engine
from pyopbench.model import formatting
from pyopbench.model.case import GPU
from pyopbench.model.discover import require_known
from pyopbench.model.ownership import require_own
from pyopbench.report.wording import copy_costs as wording
from pyopbench.store import copy_costs

DEVICES = ("cpu", GPU)


def copies(*, device: str, as_json: bool, out_path: Path | None) -> None:
    """Show which tensor-array conversions share memory, and what copying costs in the others."""
    require_known("device", [device], DEVICES)
    if out_path is not None:
        require_own(out_path.parent)
    with alone_on_this_machine(), err.status("measuring"):
        document = engine.measure_with_gpu() if device == GPU else engine.measure_bridges()
    if out_path is not None:
        copy_costs.write(out_path, document)
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
    if out_path is not None:
        out.print(f"written: {out_path}", soft_wrap=True, markup=False)
