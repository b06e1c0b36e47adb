"""Answers the request for a port as source."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import brought
from pyopbench.ops.own.explain import explain
from pyopbench.ops.own.load import load_own
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.worker.measure import Emit


def write_port(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the text of a port, of its test and of its C++, or say why there is none.

    A kernel is compiled once, so that what is wrong with it is found; under `not_built` is why that was not possible.
    Under `refused` are what cannot be written, what works in its place, and file and line; under `error` is what is
    wrong with the op.
    """
    # Thirty modules that no other request needs, and every worker would wait for.
    from pyopbench.ops.compiled import check_compiled
    from pyopbench.ports.porting.port import port

    name = str(request["op"])
    try:
        made = port(load_own(name), brought()[name], str(request["variant"]), str(request["module"]), check_compiled)
    except CannotPort as refusal:
        return {"refused": {"why": refusal.why, "fix": refusal.fix, "place": refusal.place}}
    except BadInput as error:
        details = {"message": error.message, "received": str(error.received), "legal": str(error.legal)}
        return {"error": {**details, "hint": error.hint}}
    except Exception as error:  # noqa: BLE001 - a body may raise anything while it is traced
        return {"refused": {"why": explain(error, load_own(name)), "fix": "", "place": None}}
    answer = {"port": made.port, "test": made.test, "not_run": made.not_run, "notes": made.notes}
    if made.kernel:
        answer |= {"kernel": made.kernel, "not_built": _why_not_built(made.kernel)}
    return answer | {"commands": dict(made.commands)}


def _why_not_built(kernel: str) -> str:
    """Return why a C++ source cannot be compiled here; empty if it can."""
    from pyopbench.ops.kernels.compiler import CannotCompile, library_of

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "ported.cc"
        source.write_text(kernel, encoding="utf-8")
        try:
            library_of(source)
        except CannotCompile as error:
            return error.sentence
    return ""
