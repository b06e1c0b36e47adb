"""Results record a machine name that reveals nothing about the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.model import machine


def test_a_machine_is_named_by_a_hash_of_its_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    for boot in ("one", "two", "one"):
        (tmp_path / "boot_id").write_text(f"{boot}\n", encoding="ascii")
        monkeypatch.setattr(machine, "BOOT", tmp_path / "boot_id")
        names.add(machine.host_name())
    assert len(names) == 2
    assert all(len(name) == machine.HASH_DIGITS and name != "one" for name in names)
