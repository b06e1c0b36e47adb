"""Every probe that docs/claims.md names is there, every requirement it tells of, and every probe has its claim."""

from __future__ import annotations

import re

from places import ROOT
from pyopbench.judge import requirements
from pyopbench.model.discover import find_probes

CLAIMS = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")


def named() -> set[str]:
    rows = [line.split("|") for line in CLAIMS.splitlines() if line.startswith("| ")]
    return {name for row in rows[1:] for name in re.findall(r"`(\w+)`", row[2])}


def test_each_claim_is_settled_by_probes_that_exist() -> None:
    assert named() <= set(find_probes())


def test_each_probe_settles_a_claim() -> None:
    assert set(find_probes()) <= named()


def test_each_requirement_is_told_of_with_its_probe() -> None:
    assert all(f"`{name}`" in CLAIMS for name in (*requirements.NAMES, *requirements.PROBES.values()))
