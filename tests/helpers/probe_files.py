"""Rows of probes.json, made up, and a whole one."""

from __future__ import annotations

from typing import Any

from pyopbench.store import probes as stored_probes


def row(probe: str, label: str, status: str = "works", told: str = "", *, op: str | None = None) -> dict[str, Any]:
    whole = {"words": "", "figures": {}, "seconds": 0.5, "op": op}
    return {"probe": probe, "label": label, "status": status, "told": told, **whole}


def document(*rows: dict[str, Any], tensorflow: str = "2.21.0") -> dict[str, Any]:
    software = {"tensorflow": tensorflow, "numpy": "2.4.6", "python": "3.11.7"}
    probes = {one["probe"]: f"what {one['probe']} is" for one in rows}
    return {"schema": stored_probes.SCHEMA, **software, "probes": probes, "rows": list(rows)}
