"""The results of a scan as SARIF 2.1.0, for code scanning, and the ones that an earlier scan did not have.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Each callback is one result with its risks
and how to fix them; each kind of callback is a rule. A result is recognised in another scan by its fingerprint: file,
function around it, kind and body, and its number among results for which all of these are the same, but not its line.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct, field

import pyopbench
from pyopbench.find.call_sites import CallSite
from pyopbench.find.risks import COMMON_RISKS
from pyopbench.find.scan import Scan
from pyopbench.model.errors import BadInput
from pyopbench.store.json_file import UNDECODABLE, problem

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
FINGERPRINT = "pyopbenchCallback/v1"
"""The key of a fingerprint; the number changes when fingerprints are computed differently."""

DIGITS = 32

RULES = {
    "py_function": "tf.py_function runs Python on eager tensors from a graph",
    "numpy_function": "tf.numpy_function runs Python on NumPy arrays from a graph",
    "py_func": "tf.compat.v1.py_func runs Python on NumPy arrays from a graph",
}


def document(found: Scan, root: Path, known: Counter[str] | None = None) -> dict[str, Any]:
    """Return the results of a scan as a SARIF log.

    Args:
        found: what a scan found.
        root: the folder that the paths of files below it are relative to.
        known: how often each fingerprint was in an earlier scan; None for no comparison.
    """
    results = list(_results(found, root))
    if known is not None:
        left = Counter(known)
        for result in results:
            mark = result["partialFingerprints"][FINGERPRINT]
            result["baselineState"] = "unchanged" if left[mark] else "new"
            left[mark] -= 1
    rules = [
        {
            "id": kind,
            "name": "".join(word.capitalize() for word in f"python_{kind}".split("_")),
            "shortDescription": {"text": text},
            "fullDescription": {"text": f"{text}. {'. '.join(COMMON_RISKS)}."},
            "help": {"text": "pyopbench advise -- python train.py"},
            "defaultConfiguration": {"level": "note"},
        }
        for kind, text in RULES.items()
    ]
    driver = {"name": "pyopbench", "semanticVersion": pyopbench.__version__, "rules": rules}
    notes = [{"level": "warning", "message": {"text": f"{broken.file}: {broken.reason}"}} for broken in found.broken]
    invocation = {"executionSuccessful": True, "toolExecutionNotifications": notes}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"uri": f"{root.resolve().as_uri()}/"}},
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def new_results(log: Mapping[str, Any]) -> list[str]:
    """Return the places of the results that are new, as `FILE:LINE`."""
    results = [one for run in log["runs"] for one in run["results"] if one.get("baselineState") == "new"]
    places = [one["locations"][0]["physicalLocation"] for one in results]
    files = [unquote(one["artifactLocation"]["uri"].removeprefix("file://")) for one in places]
    lines = [one.get("region", {}).get("startLine", 0) for one in places]
    return [f"{file}:{line}" for file, line in zip(files, lines, strict=True)]


class _Result(Struct):
    partialFingerprints: dict[str, str] = field(default_factory=dict)  # noqa: N815 - SARIF's name


class _Run(Struct):
    results: list[_Result]


class _Log(Struct):
    runs: list[_Run]


def read_baseline(file: Path) -> Counter[str]:
    """Return how often each fingerprint is in a SARIF file that an earlier scan wrote.

    Raises:
        BadInput: there is no such file, or it is not a SARIF file of pyopbench.
    """
    hint = "pyopbench scan PATH --sarif baseline.sarif writes one"
    try:
        content = msgspec.json.decode(file.read_bytes())
        wrong = problem(content, _Log)
    except FileNotFoundError as error:
        raise BadInput("no such file", received=f"--baseline {file}", hint=hint) from error
    except (OSError, *UNDECODABLE) as error:
        wrong = str(error)
    if wrong is not None:
        raise BadInput("not a SARIF file", received=f"--baseline {file}: {wrong}", hint=hint)
    results = [one for run in content["runs"] for one in run["results"]]
    marks = [one.get("partialFingerprints", {}).get(FINGERPRINT) for one in results]
    if None in marks:
        raise BadInput(
            "results without pyopbench's fingerprints",
            received=f"--baseline {file}",
            legal=f"partialFingerprints with the key {FINGERPRINT}",
            hint=hint,
        )
    return Counter(str(mark) for mark in marks)


def _results(found: Scan, root: Path) -> Iterator[dict[str, Any]]:
    seen = Counter[tuple[str, ...]]()
    for site in found.sites:
        uri = _uri(site.file, root)
        key = (uri, site.function, site.kind, site.body)
        seen[key] += 1
        level = "warning" if site.risks else "note"
        region = {"startLine": site.line} if site.cell else {"startLine": site.line, "startColumn": site.column}
        yield _result(level, _site_text(site), region, (*key, str(seen[key]))) | {
            "properties": {
                "context": site.context,
                "gradient": site.gradient,
                "certain": site.certain,
                "risks": [risk.name for risk in site.risks],
            }
        }


def _result(level: str, text: str, region: dict[str, int], key: tuple[str, ...]) -> dict[str, Any]:
    uri, _, kind, *_ = key
    mark = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:DIGITS]
    location = {"artifactLocation": {"uri": uri, **_base(uri)}, "region": region}
    return {
        "ruleId": kind,
        "ruleIndex": list(RULES).index(kind),
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {FINGERPRINT: mark},
    }


def _site_text(site: CallSite) -> str:
    cell = f" (cell {site.cell}, line {site.cell_line})" if site.cell else ""
    body = f" of {site.body}" if site.body else ""
    lines = [f"{site.kind}{body} in {site.function}{cell}; {site.context}, gradient: {site.gradient}."]
    lines += [f"Risk: {risk.text}. Fix: {risk.fix}." for risk in site.risks]
    return "\n".join(lines)


def _uri(file: str, root: Path) -> str:
    """Return a file relative to the root, if it is below it, or else as an absolute URI."""
    path, base = Path(os.path.abspath(file)), Path(os.path.abspath(root))
    if not path.is_relative_to(base):
        return path.as_uri()
    return path.as_uri().removeprefix(f"{base.as_uri()}/")


def _base(uri: str) -> dict[str, str]:
    return {} if uri.startswith("file:") else {"uriBaseId": "ROOT"}
