"""The results of a scan as SARIF 2.1.0, for code scanning: each kind of callback is a rule, each callback a result.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. GitHub's upload action adds fingerprints
of the lines, by which a callback is recognised after it has moved.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyopbench
from pyopbench.find.call_sites import CallSite
from pyopbench.find.risks import COMMON_RISKS
from pyopbench.find.scan import Scan

RULES = {
    "py_function": "tf.py_function runs Python on eager tensors from a graph",
    "numpy_function": "tf.numpy_function runs Python on NumPy arrays from a graph",
    "py_func": "tf.compat.v1.py_func runs Python on NumPy arrays from a graph",
}


def sarif_log(found: Scan, root: Path) -> dict[str, Any]:
    """Return the results of a scan as a SARIF log; the paths of files below the folder `root` are relative to it."""
    rules = [
        {
            "id": kind,
            "shortDescription": {"text": text},
            "fullDescription": {"text": f"{text}. {'. '.join(COMMON_RISKS)}."},
            "help": {"text": "pyopbench advise -- python train.py"},
        }
        for kind, text in RULES.items()
    ]
    notes = [{"level": "warning", "message": {"text": f"{broken.file}: {broken.reason}"}} for broken in found.broken]
    run = {
        "tool": {"driver": {"name": "pyopbench", "semanticVersion": pyopbench.__version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": [_result(site, root) for site in found.sites],
    }
    schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def _result(site: CallSite, root: Path) -> dict[str, Any]:
    cell = f" (cell {site.cell}, line {site.cell_line})" if site.cell else ""
    body = f" of {site.body}" if site.body else ""
    text = [f"{site.kind}{body} in {site.function}{cell}; {site.context}, gradient: {site.gradient}."]
    text += [f"Risk: {risk.text}. Fix: {risk.fix}." for risk in site.risks]
    path, folder = (Path(os.path.abspath(one)) for one in (site.file, root))  # no links are followed
    uri = path.as_uri().removeprefix(f"{folder.as_uri()}/") if path.is_relative_to(folder) else path.as_uri()
    region = {"startLine": site.line} if site.cell else {"startLine": site.line, "startColumn": site.column}
    return {
        "ruleId": site.kind,
        "level": "warning" if site.risks else "note",
        "message": {"text": "\n".join(text)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
        "properties": {
            "context": site.context,
            "gradient": site.gradient,
            "certain": site.certain,
            "risks": [risk.name for risk in site.risks],
        },
    }
