"""What `pyopbench verify --batch` prints: which forms of an op that take a batch agree with a loop over examples."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine.verify import BatchedFinding, verify_batched
from pyopbench.judge.writable_ports import WritablePort
from pyopbench.model import formatting
from pyopbench.model.case import Axes
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import brought
from pyopbench.model.portable import BATCHED, port_words
from pyopbench.report.wording.port import how_to_write_one

EXIT_WRONG = 1


def refuse_unbatched(gradients: Sequence[str], modes: Sequence[str]) -> None:
    """Look that nothing is asked for that batched forms have no choice of.

    Raises:
        BadInput: a mechanism of gradients or a mode is.
    """
    given = [f"--{name} {','.join(values)}" for name, values in (("gradient", gradients), ("mode", modes)) if values]
    if given:
        raise BadInput(
            "batched forms have one gradient each and run in a graph",
            received=" and ".join(given) + " with --batch",
            legal="--variant, --axis size=... and --axis dtype=... with --batch",
            hint=f"leave out {' and '.join(given)}, or --batch",
        )


def check_batched(axes: Axes, batch: int, timeout_seconds: float, tf: str | None, *, as_json: bool) -> int:
    """Check the batched forms of ops, print what came of each, and return the exit code."""
    with err.status("checking batched forms") as status:
        findings = verify_batched(
            axes,
            batch,
            timeout_seconds,
            lambda done, total: status.update(f"checking batched form {done} of {total}"),
            tf,
        )
    if as_json:
        out.print_json(json.dumps([finding.as_dict() for finding in findings]))
    else:
        _print(findings)
    return EXIT_WRONG if any(finding.is_broken for finding in findings) else 0


def _print(findings: Sequence[BatchedFinding]) -> None:
    for (op, dtype, size, batch), group in itertools.groupby(
        findings, lambda one: (one.op, one.dtype, one.size, one.batch)
    ):
        title = f"{op} in batches of {batch:,}, each example of size {size:,} in {dtype}"
        print_table(title, ("form", "agrees", "largest error", "why not"), [_row(finding) for finding in group])
    right = [finding for finding in findings if finding.outcome == "right"]
    out.print(f"{len(right):,} of {formatting.count(len(findings), 'batched form')} right")
    for ports in _writable(right).values():
        say(escape(how_to_write_one(ports)), mark="- ")


def _writable(right: Sequence[BatchedFinding]) -> dict[str, list[WritablePort]]:
    """Return the forms of own ops that can be written as source, by op."""
    found: dict[str, list[WritablePort]] = {}
    for one in right:
        if one.op in brought() and one.form in BATCHED:
            words = port_words(brought()[one.op].words, one.form, f"{one.op}_{one.form}.py")
            found.setdefault(one.op, []).append(WritablePort(one.op, one.form, tuple(words)))
    return found


def _row(finding: BatchedFinding) -> tuple[str, str, str, str]:
    checked = finding.checked or {}
    errors = [one for name, one in checked.items() if one is not None and name != "difference_uncertainty"]
    largest = f"{max(errors):.1g}" if errors else formatting.MISSING
    return finding.form, finding.outcome, largest, finding.reason or formatting.MISSING
